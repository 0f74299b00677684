"""kanachan-arena: duplicate games, their results and their records."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from annotate.game.record import Rules
from annotate.game.record_writer import rounds_of
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from annotate.runtime.files import reading_text
from annotate.runtime.signals import StopRequest
from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli.player_options import usual_precision
from kanachan.play.agent import GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import Format, GameResult, Match, num_seatings, players_by_seat
from kanachan.play.playing import Execution, GameStream
from kanachan.play.rollout import BatchedGames
from tests.support.matches import Watched, arena, journal, mjai, result_of
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def run_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of three players, with its records."""
    folder = tmp_path_factory.mktemp("run-of-three")
    options = ["--records", str(folder / "records"), "--together", "1", "--players", "3"]
    assert arena(folder, *options, games=5) == 0
    return folder


@pytest.mark.parametrize(("folder", "num_seatings"), [("arena_run", 4), ("run_of_three", 3)])
def test_a_wall_is_the_same_in_all_its_seatings_and_walls_differ(
    folder: str, num_seatings: int, request: pytest.FixtureRequest
) -> None:
    run: Path = request.getfixturevalue(folder)
    walls: dict[int, list[list[Any]]] = {}
    for path in sorted((run / "records").iterdir()):
        with reading_text(str(path)) as lines:
            events = [json.loads(line) for line in lines]
        wall = int(path.name.split("-")[2])
        walls.setdefault(wall, []).append([(r[0]["tehais"], r[0]["kanachan"]) for r in rounds_of(events)])
    assert [len(games) for games in walls.values()] == [num_seatings] * 2
    for games in walls.values():
        for rounds in zip(*games, strict=False):  # games differ in their number of rounds
            deals = [sorted(map(sorted, tehais)) for tehais, _ in rounds]
            assert all(deal == deals[0] for deal in deals)
            assert all(rest == rounds[0][1] for _, rest in rounds)
    first, second = (games[0][0] for games in walls.values())
    assert first != second


def test_pairs_sit_everywhere_equally_often() -> None:
    pairs = ["".join(players_by_seat("2v2", GameKey(w, s))) for w, s in product(range(3), range(num_seatings("2v2")))]
    assert sorted(pairs) == ["AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"]
    assert all({"A": "B", "B": "A"}[a] == b for w in range(3) for a, b in zip(*pairs[2 * w : 2 * w + 2], strict=True))


@pytest.mark.parametrize(
    ("format_", "seats"),
    [
        ("1v3", ["ABBB", "BABB", "BBAB", "BBBA"]),
        ("1v2", ["ABB", "BAB", "BBA"]),
        ("2v1", ["BAA", "ABA", "AAB"]),
    ],
)
def test_the_single_player_takes_each_seat_in_turn(format_: Format, seats: list[str]) -> None:
    found = [players_by_seat(format_, GameKey(7, seating)) for seating in range(num_seatings(format_))]
    assert ["".join(each) for each in found] == seats


@pytest.mark.parametrize("options", [["--together", "5"], ["--processes", "2", "--together", "2"]])
def test_results_do_not_depend_on_how_games_are_played(options: list[str], arena_run: Path, tmp_path: Path) -> None:
    assert arena(tmp_path, *options, games=7) == 0
    assert journal(tmp_path) == journal(arena_run)
    assert result_of(tmp_path) == result_of(arena_run)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_results_of_networks_do_not_depend_on_processes_and_batches(precision: str, tmp_path: Path) -> None:
    weights = str(written(tmp_path))
    players = (f"{weights}@0.5", weights)
    for name, options in (("one", ["--together", "3"]), ("two", ["--processes", "2", "--together", "32"])):
        assert arena(tmp_path / name, *options, "--precision", precision, players=players, games=8) == 0
    assert journal(tmp_path / "one") == journal(tmp_path / "two")


def test_an_illegal_action_ends_the_run_and_names_the_situation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert arena(tmp_path, players=("rule", mjai("wins"))) == 1
    message = capsys.readouterr().err
    assert "illegal action in wall 0, seating " in message and "East 1 honba 0, tiles left 6" in message
    assert '"hora"' in message and "possible: discard" in message


def test_an_external_program_plays_whole_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arena(tmp_path, players=("rule", mjai())) == 0
    assert "illegal actions: 0" in capsys.readouterr().out
    assert result_of(tmp_path)["players"]["B"]["call_rate"]["value"] == 0


@pytest.mark.parametrize(
    "format_, rules, style, grades",
    [
        ("2v2", "mjsoul", 0, (7, 9, 7, 9)),
        ("2v2", "tenhou", 1, (7, 9, 7, 9)),
        ("2v1", "mjsoul", 1, (9, 7, 9)),
        ("1v2", "tenhou", 1, (7, 9, 7)),
    ],
)
def test_a_record_gives_the_tokens_that_the_players_saw(
    format_: Format, rules: Rules, style: int, grades: tuple[int, ...], tmp_path: Path
) -> None:
    match = Match(players=("rule:bold", "rule:flush"), format=format_, rules=rules, style=style, room=2, grades=(9, 7))
    agents = {
        letter: Watched(make_agent(parse_agent(name), SeededSampler(0, letter), match.vocabulary))
        for letter, name in match.letters.items()
    }
    stream = GameStream(series=match, finish=GameResult.of, execution=Execution(records=tmp_path))
    running = BatchedGames(match.begin, agents, stream._finished)
    assert list(running.play(iter([GameKey(3, 1)]), 1, StopRequest()))
    (path,) = tmp_path.iterdir()
    (game,) = read_games(str(path))
    assert game.id == f"arena-{match.key}-000003-1" and game.grades == grades
    report = annotate_game(game)
    assert not report.left_out and not report.notes
    seen = {
        (*request.observation, request.observation.actions.index(player.chosen[key]))
        for player in agents.values()
        for key, request in player.requests.items()
    }
    annotated = [(*a.observation, a.chosen) for a in report.annotations]
    assert len(annotated) == len(seen) - report.num_unknown > 120
    assert set(annotated) <= seen


def test_the_weights_determine_how_many_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(written(tmp_path / "weights", vocabulary=THREE_PLAYERS))
    options = ["--records", str(tmp_path / "records")]
    assert arena(tmp_path, *options, players=(f"{weights}@1", "rule"), games=1) == 0
    table = capsys.readouterr().out
    assert "1v2, tenhou" in table and "3rd %" in table and "4th %" not in table
    assert result_of(tmp_path)["points"] == [90, 0, -90]
    games = [game for path in (tmp_path / "records").iterdir() for game in read_games(str(path))]
    assert [game.vocabulary for game in games] == [THREE_PLAYERS] * 3
    assert all(annotate_game(game).left_out == [] for game in games)


def test_a_gpu_without_units_for_bf16_plays_in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_units, precision in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=has_units: has)
        assert usual_precision("cuda") == precision


def test_the_use_of_int8_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    weights = str(written(tmp_path, layers=1))
    assert arena(tmp_path, players=(f"{weights}:int8", "random")) == 0
    captured = capsys.readouterr()
    assert f"{weights}:int8: on " in captured.err and "seed 0, int8\n" in captured.out
