import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from annotate.game.decisions import KINDS, kind_of
from annotate.game.record_writer import rounds_of
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import Options, SimulatedGame, run, simulate_game
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from kanachan.cli.simulate import main as simulate

V = FOUR_PLAYERS
V3 = THREE_PLAYERS


@pytest.fixture(scope="module")
def east_games() -> list[SimulatedGame]:
    return [simulate_game(V, 0, index, style=0) for index in range(13)]


def assert_same_lines(game: SimulatedGame, folder: Path) -> int:
    """Compares the lines of the game's record, in their order, with the game's own lines, except for the choices that
    the record hides; returns the number of hidden choices."""
    path = folder / f"{game.id}.jsonl"
    path.write_text("".join(f"{json.dumps(event)}\n" for event in game.events))
    (recorded,) = read_games(str(path))
    report = annotate_game(recorded)
    assert report.left_out == [] and report.notes == []
    own = iter(game.annotations)
    assert all(annotation in own for annotation in report.annotations)
    assert len(game.annotations) == len(report.annotations) + report.num_unknown
    return report.num_unknown


def test_a_record_gives_the_lines_that_were_written_while_playing(
    east_games: list[SimulatedGame], tmp_path: Path
) -> None:
    assert any([assert_same_lines(game, tmp_path) for game in east_games])


@pytest.mark.parametrize("rules", ["mjsoul", "tenhou"])
@pytest.mark.parametrize(("vocabulary", "num_games"), [(V, 1), (V3, 4)])
def test_longer_games_give_the_same_lines_under_either_rules(vocabulary, num_games, rules, tmp_path: Path) -> None:
    for index in range(num_games):
        game = simulate_game(vocabulary, 3, index, style=1, rules=rules)
        assert_same_lines(game, tmp_path)


def test_a_few_games_show_every_kind_of_choice(east_games: list[SimulatedGame]) -> None:
    chosen, passed = Counter[str](), Counter[str]()
    for game in east_games:
        for annotation in game.annotations:
            kind = kind_of(annotation.actions[annotation.chosen], V)
            chosen[kind] += 1
            passed.update({kind_of(token, V) for token in annotation.actions} - {kind})
    assert set(chosen) == set(KINDS) - {"kita"}
    assert {"riichi", "ankan", "chi", "pon", "daiminkan", "ron"} <= set(passed)


def test_games_differ_by_seed_and_index() -> None:
    games = [simulate_game(V, seed, index, style=0, annotated=False) for seed, index in ((0, 0), (0, 1), (1, 0))]
    assert len({game.id for game in games}) == 3
    assert len({json.dumps(events[0]["tehais"]) for game in games for events in rounds_of(game.events)}) == sum(
        len(rounds_of(game.events)) for game in games
    )


def test_three_players_play_only_in_rooms_with_known_points(tmp_path: Path) -> None:
    headers = [simulate_game(V3, 0, index, style=0, annotated=False).events[0]["kanachan"] for index in range(6)]
    assert {header["room"] for header in headers} <= {2, 3, 4}
    assert all(any(header["grading_deltas"]) for header in headers)
    with pytest.raises(ValueError, match=r"room 1: .*3 players.* choose a room of 2, 3, 4"):
        replace(options(tmp_path), vocabulary=V3, room=1)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def options(folder: Path, **settings) -> Options:
    return Options(folder=str(folder), **{"vocabulary": V, "num_games": 3, "seed": 1, "style": 0, **settings})


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> Path:
    """A folder of three games, which tests only read."""
    folder = tmp_path_factory.mktemp("simulated")
    run(options(folder))
    return folder


def test_files_do_not_depend_on_the_number_of_processes(simulated: Path, tmp_path: Path) -> None:
    run(options(tmp_path, num_processes=2))
    assert contents(tmp_path) == contents(simulated)
    assert list(contents(tmp_path)) == [f"sim-east-1-00000{index}.jsonl.gz" for index in range(3)]


def test_a_second_run_makes_only_what_is_missing(simulated: Path, tmp_path: Path) -> None:
    first = simulated / "sim-east-1-000000.jsonl.gz"
    kept = tmp_path / first.name
    kept.write_bytes(first.read_bytes())
    os.utime(kept, (1, 1))
    report = run(options(tmp_path))
    assert (report["games"], report["kept"]) == (3, 1)
    assert kept.stat().st_mtime == 1
    assert contents(tmp_path) == contents(simulated)


def test_games_of_other_settings_have_other_ids(tmp_path: Path) -> None:
    others = [{}, {"style": 1}, {"rules": "mjsoul"}, {"room": 2}, {"vocabulary": V3}]
    for other in others:
        assert run(options(tmp_path, num_games=1, **other))["kept"] == 0
    assert len(contents(tmp_path)) == len(others)


@pytest.mark.parametrize("damaged", [lambda content: content[: len(content) // 2], lambda _: b"", lambda _: b"{"])
def test_a_damaged_file_is_named(damaged: Callable[[bytes], bytes], simulated: Path, tmp_path: Path) -> None:
    content = (simulated / "sim-east-1-000001.jsonl.gz").read_bytes()
    (tmp_path / "sim-east-1-000001.jsonl.gz").write_bytes(damaged(content))
    with pytest.raises(ValueError, match="sim-east-1-000001.jsonl.gz: damaged: delete it"):
        run(options(tmp_path))


def test_the_command_simulates_three_players_beside_four(tmp_path: Path) -> None:
    command = ["-n", "1", "-o", str(tmp_path), "--style", "east", "-j", "1"]
    assert simulate([*command, "--players", "3"]) == 0
    assert simulate(command) == 0
    games = [game for path in sorted(tmp_path.iterdir()) for game in read_games(str(path))]
    assert [game.vocabulary for game in games] == [V3, V]
    assert len({game.id for game in games}) == 2
