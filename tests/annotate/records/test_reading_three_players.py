"""Games of three players: how other programs write them, and real ones."""

import json
from functools import cache
from pathlib import Path

import pytest

from annotate.annotation import Annotation, format_line, parse_line
from annotate.game.record import Game
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from tests.support.real_records import real_records
from tests.support.rounds import V3
from tests.support.writers.all_formats import WRITERS, of_tenhou, read
from tests.support.writers.majsoul_made import MadeGame, simulated


@cache
def whole() -> MadeGame:
    return of_tenhou(simulated(1, style=1, rules="tenhou", vocabulary=V3))


def lines_of(game: Game) -> list[str]:
    report = annotate_game(game)
    assert report.left_out == [] and report.num_rounds == len(game.rounds)
    return [format_line(annotation) for annotation in report.annotations]


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
    game = read(as_others_write(whole(), hidden), "game.jsonl")
    assert lines_of(game) == lines_of(whole().game)


def test_tenhou_json_without_a_rule_text_shows_three_players_by_an_empty_or_missing_seat() -> None:
    document = json.loads(WRITERS["tenhou.net/6"](whole()))
    document["rule"]["disp"] = ""
    assert read(json.dumps(document).encode(), "game.json").vocabulary is V3  # by the empty hand of the fourth seat
    shorter = {**document, "log": [[*columns[:13], columns[-1]] for columns in document["log"]]}
    assert lines_of(read(json.dumps(shorter).encode(), "game.json")) == lines_of(
        read(json.dumps(document).encode(), "game.json")
    )


def test_a_chi_among_three_players_is_refused_with_its_line() -> None:
    events = WRITERS["mjai"](whole()).decode().splitlines()
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
        (game,) = read_games(str(path))
        assert all(recorded.wall is not None for recorded in game.rounds)  # by the seed
        report = annotate_game(game)
        assert report.left_out == [] and report.notes == [], path
        annotations: list[Annotation] = report.annotations
        assert all(parse_line(format_line(each), V3) == each for each in annotations[::50])
        replayed += report.num_rounds
    assert replayed >= num_rounds
