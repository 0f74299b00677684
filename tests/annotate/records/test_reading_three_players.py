"""Games of three players in the formats that have them: the same game gives the same annotation lines."""

import json
from functools import cache
from pathlib import Path

import pytest

from annotate.annotation import Annotation, format_line, parse_line
from annotate.game.record import Game
from annotate.records.reading import Record, read_record
from annotate.replay.replay import annotate_game
from tests.support.rare_rounds import ROUNDS_OF_THREE
from tests.support.real_records import real_records
from tests.support.rounds import V3
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import MadeGame, made_round, simulated

FORMATS = ("mjlog", "mjai", "tenhou.net/6")
OF_MJSOUL = ("Mahjong Soul, version 0", "Mahjong Soul", "Mahjong Soul as JSON")


def read(content: bytes, name: str) -> Game:
    (game,) = read_record(Record(f"archive!{name}", 0, content))
    return game


@cache
def made(name: str) -> MadeGame:
    script, hands, wall = ROUNDS_OF_THREE[name]
    return of_tenhou(made_round(script, hands, rules="tenhou", vocabulary=V3, **wall))


@cache
def whole(seed: int) -> MadeGame:
    return of_tenhou(simulated(seed, style=1, rules="tenhou", vocabulary=V3))


def lines_of(game: Game) -> list[str]:
    report = annotate_game(game)
    assert report.left_out == [] and report.num_rounds == len(game.rounds)
    return [format_line(annotation) for annotation in report.annotations]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ROUNDS_OF_THREE)
def test_a_round_of_three_is_annotated_as_it_was_played(name: str, format_: str) -> None:
    game = read(WRITERS[format_](made(name)), f"{made(name).id}.mjlog")
    known = [decision for decision in made(name).decisions if not decision.is_preempted]
    report = annotate_game(game)
    assert report.left_out == []
    # but for room and grades, which are those of Tenhou
    assert [(a.observation[1:], a.chosen) for a in report.annotations] == [(d.observation[1:], d.chosen) for d in known]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_whole_game_of_three_gives_the_lines_of_its_events(seed: int, format_: str) -> None:
    game = read(WRITERS[format_](whole(seed)), f"{whole(seed).id}.mjlog")
    assert game.vocabulary is V3
    assert lines_of(game) == lines_of(whole(seed).game)


@pytest.mark.parametrize("format_", OF_MJSOUL)
@pytest.mark.parametrize("seed", [1, 3])
def test_a_game_of_mahjong_soul_gives_the_lines_of_its_events(seed: int, format_: str) -> None:
    made_game = simulated(seed, style=seed % 2, vocabulary=V3)
    game = read(WRITERS[format_](made_game), "game.bin")
    assert (game.vocabulary, game.room, game.style, game.grades) == (V3, 3, seed % 2, (9, 10, 11))
    assert lines_of(game) == lines_of(made_game.game)


@pytest.mark.parametrize("name", ROUNDS_OF_THREE)
def test_a_round_of_mahjong_soul_is_annotated_as_it_was_played(name: str) -> None:
    script, hands, wall = ROUNDS_OF_THREE[name]
    made_game = made_round(script, hands, vocabulary=V3, **wall)
    game = read(WRITERS["Mahjong Soul"](made_game), "game.bin")
    assert lines_of(game) == lines_of(made_game.game)


def as_others_write(made_game: MadeGame, hidden: str) -> bytes:
    """A game in the dialect of other programs: with a fourth seat, and another word for a North set aside."""
    events = [json.loads(line) for line in WRITERS["mjai"](made_game).splitlines()]
    for event in events:
        for name in ("scores", "deltas"):
            if name in event:
                event[name].append(0)
        if event["type"] == "start_kyoku":
            event["tehais"].append([hidden] * 13 if hidden else [])
            del event["kanachan"]
        if event["type"] == "kita":
            event["type"] = "nukidora"
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


@pytest.mark.parametrize("hidden", ["", "?"])
def test_mjai_with_an_empty_fourth_seat_is_the_same_game(hidden: str) -> None:
    game = read(as_others_write(whole(1), hidden), "game.jsonl")
    assert lines_of(game) == lines_of(whole(1).game)


def test_tenhou_json_without_words_shows_three_players_by_the_empty_seat_or_by_none() -> None:
    document = json.loads(WRITERS["tenhou.net/6"](whole(1)))
    document["rule"]["disp"] = ""
    assert read(json.dumps(document).encode(), "game.json").vocabulary is V3  # by the empty hand of the fourth seat
    shorter = {**document, "log": [[*columns[:13], columns[-1]] for columns in document["log"]]}
    assert lines_of(read(json.dumps(shorter).encode(), "game.json")) == lines_of(
        read(json.dumps(document).encode(), "game.json")
    )


def test_a_chi_among_three_players_is_refused_with_its_line() -> None:
    events = WRITERS["mjai"](whole(1)).decode().splitlines()
    chi = {"type": "chi", "actor": 1, "target": 0, "pai": "1p", "consumed": ["2p", "3p"]}
    game = read("\n".join([*events[:3], json.dumps(chi), *events[3:]]).encode(), "game.jsonl")
    assert [str(lost) for lost in game.lost] == ["East 1-0: line 4: chi: not possible with 3 players"]


@pytest.mark.records
def test_a_sample_of_real_games_of_three_replays_whole() -> None:
    require_whole([path for path in real_records("tenhou/houou-3p-2020")[::50]], 30)


@pytest.mark.records
@pytest.mark.slow
def test_all_real_games_of_three_replay_whole() -> None:
    require_whole(real_records("tenhou/houou-3p-2020"), 2_292)


def require_whole(paths: list[Path], num_rounds: int) -> None:
    replayed = 0
    for path in paths:
        (game,) = read_record(Record(str(path), 0))
        assert all(recorded.wall is not None for recorded in game.rounds)  # by the seed
        report = annotate_game(game)
        assert report.left_out == [] and report.notes == [], path
        annotations: list[Annotation] = report.annotations
        assert all(parse_line(format_line(each), V3) == each for each in annotations[::50])
        replayed += report.num_rounds
    assert replayed >= num_rounds
