"""kanachan-review: the record, the game and the seats that are reviewed, and their tables."""

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from annotate.game.decisions import annotation_of
from annotate.game.hands import Meld
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from annotate.vocabulary import Vocabulary
from kanachan.cli.main import main as kanachan
from kanachan.cli.review import main
from kanachan.review.board import table_of
from kanachan.review.course import Course
from kanachan.review.rounds import reviewed_rounds
from tests.support.rare_rounds import ROUNDS
from tests.support.review_page import data_of
from tests.support.review_runs import SEAT, Reviewed, review_with
from tests.support.reviewed import events_of, num_public, rounds_of, seen_in, shown_of, with_empty_rounds, write_record
from tests.support.rounds import V3, V, options, play_round
from tests.support.writers.all_formats import tenhou_xml
from tests.support.writers.majsoul_made import simulated

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("vocabulary", [V, V3], ids=lambda vocabulary: vocabulary.name)
def test_hands_rivers_and_melds_agree_with_the_record(vocabulary: Vocabulary, tmp_path: Path) -> None:
    num_melds = 0
    for seed in range(3):
        events = events_of(seed, vocabulary=vocabulary)
        (game,) = read_games(str(write_record(tmp_path / "game.jsonl", events)))
        seen = {
            (recorded[0]["bakaze"], recorded[0]["oya"], recorded[0]["honba"], seat): seen_in(recorded, seat)
            for recorded in rounds_of(events)
            for seat in range(vocabulary.num_seats)
        }
        for found in reviewed_rounds(game, annotate_game(game)):
            for annotation in found.annotations:
                moment = found.course.moment(found.course.place_of(annotation))
                table = table_of(annotation, moment, vocabulary)
                shown = asdict(table)
                key = ("ESW"[table.wind], table.dealer, table.honba, table.seat)
                assert shown_of(shown) in seen[key][num_public(shown)]
                num_melds += sum(map(len, table.melds))
    assert num_melds > 100


@pytest.mark.parametrize(
    "name, seat, kind, meld",
    [
        ("a robbed kan", 3, "kakan", Meld("kakan", ["3p", "3p"], "3p", 0, "3p")),
        ("the second of two kans robbed", 3, "kakan", Meld("kakan", ["7p", "7p"], "7p", 0, "7p")),
        ("a closed kan of a wind and thirteen orphans", 2, "ankan", Meld("ankan", ["1z"] * 4)),
        ("three who may win", 3, "discard", None),
    ],
)
def test_the_table_has_the_action_that_a_decision_reacts_to(name: str, seat: int, kind: str, meld: Meld | None) -> None:
    script, hands, wall = ROUNDS[name]
    played = play_round(script, hands, **wall)
    decision = [d for d in played.of(seat) if "ron" in options(d)][-1]
    annotation, course = annotation_of("g", decision, [(0,) * 5] * 4, [(0,) * 7] * 4), Course(played.round, V)
    table = table_of(annotation, course.moment(course.place_of(annotation)), V)
    assert table.last_kind == kind and table.last_seat is not None
    assert (None if table.last_meld is None else table.melds[table.last_seat][table.last_meld]) == meld


def test_rounds_in_which_the_seat_decides_nothing_are_shown(reviewed: Reviewed, tmp_path: Path) -> None:
    record, data = write_record(tmp_path / "short.jsonl", with_empty_rounds()), tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", "2", "-o", str(tmp_path / "out.html")]
    assert main([*command, "--json", str(data)]) == 0
    review = json.loads(data.read_text())
    assert [(found["name"], found["first"], found["decisions"], found["result"]) for found in review["rounds"]] == [
        ("East 1-0", 0, 0, "round aborted"),
        ("East 1-1", 0, 17, "exhaustive draw, not tenpai"),
        ("East 2-2", 17, 0, "ron of the right seat on the left seat"),
        ("East 3-0", 17, 18, "exhaustive draw, not tenpai"),
        ("East 4-1", 35, 0, "ron of the seat across on the right seat"),
    ]
    assert [found["deltas"] for found in review["rounds"][::2]] == [[0] * 4, [0, -2600, 0, 2600], [2300, 0, 0, -2300]]
    assert [decision["round"] for decision in review["decisions"]] == [1] * 17 + [3] * 18


def test_a_seat_that_decides_nothing_in_the_chosen_rounds_is_refused(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = write_record(tmp_path / "short.jsonl", with_empty_rounds())
    command = [str(record), reviewed.weights["imitation"], "--seat", "2", "-o", str(tmp_path / "out.html")]
    assert main([*command, "--rounds", "E1.0"]) == 1
    assert f"{record}: seat 2 has no decision to review: choose another seat or other rounds" in capsys.readouterr().err


def test_a_game_among_several_can_be_chosen(reviewed: Reviewed, tmp_path: Path) -> None:
    record = write_record(tmp_path / "two.jsonl", events_of(6), events_of(5))
    data = tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", str(SEAT), "-o", str(tmp_path / "out.html")]
    assert main([*command, "--game", "2", "--json", str(data)]) == 0
    assert json.loads(data.read_text())["game"] == reviewed.review["game"]


def test_a_review_of_all_seats_agrees_with_a_review_of_one(reviewed: Reviewed, tmp_path: Path) -> None:
    everyone = review_with(reviewed, tmp_path, "--seat", "all")
    assert [part["seat"] for part in everyone["reviews"]] == [0, 1, 2, 3]
    alone = review_with(reviewed, tmp_path, "--seat", "1")
    shared = {key: value for key, value in everyone.items() if key != "reviews"}
    joined = {**shared, **everyone["reviews"][1]}
    assert joined["decisions"][0]["table"] == alone["decisions"][0]["table"]
    assert joined.keys() == alone.keys()
    assert joined["models"][0]["rating"] == pytest.approx(alone["models"][0]["rating"])


LOG = "2021070100gm-00a9-0000-0123abcd"
ADDRESS = f"https://tenhou.net/0/?log={LOG}&tw=1"


def test_an_address_gives_the_seat_and_its_file_is_named_or_found(
    reviewed: Reviewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = simulated(5, rules="tenhou")
    (tmp_path / "mine.xml").write_bytes(tenhou_xml(made))
    (tmp_path / f"{LOG}.xml").write_bytes(tenhou_xml(made))
    monkeypatch.chdir(tmp_path)
    for named in (["mine.xml"], []):
        command = [ADDRESS, *named, reviewed.weights["imitation"], "-o", "out.html", "--json", "out.json", "--force"]
        assert main(command) == 0
        review = json.loads(Path("out.json").read_text())
        assert (review["seat"], review["source"]["log"], review["game"]) == (1, LOG, LOG)
        assert review["players"][1]["name"] == "\u8ab01"
        assert review["rounds"][2]["link"] == f"https://tenhou.net/0/?log={LOG}&tw=1&ts=2"


@pytest.mark.parametrize(("vocabulary", "name"), [(V, "reference"), (V3, "reference/3p")], ids=["four", "three"])
def test_by_default_all_seats_are_reviewed_with_the_weights_of_the_package(
    vocabulary: Vocabulary, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_record(tmp_path / "my.game.jsonl", events_of(5, vocabulary=vocabulary)[:120])
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^\.venv/bin/kanachan (review GAME)$", README.read_text(), re.MULTILINE)
    assert kanachan([*command.replace("GAME", "my.game.jsonl").split(), "--json", "out.json"]) == 0
    review = json.loads(Path("out.json").read_text())
    assert [part["seat"] for part in review["reviews"]] == list(range(vocabulary.num_seats))
    assert {model["name"] for part in review["reviews"] for model in part["models"]} == {name}
    # the scale is of whole games
    assert all(model["rating_scale"] is None for part in review["reviews"] for model in part["models"])
    assert Path("my.game.html").read_text().startswith("<!DOCTYPE html>")


def test_an_address_without_its_file_gives_the_command_to_run_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--seat", "2", ADDRESS, "--anonymous"]) == 1
    assert f"then run: kanachan-review --seat 2 '{ADDRESS}' {LOG}.xml --anonymous\n" in capsys.readouterr().err
    assert main([ADDRESS, "typo.xml"]) == 1
    assert "error: typo.xml: no such file or folder\n" in capsys.readouterr().err


def test_a_file_whose_name_is_no_text_is_reviewed(reviewed: Reviewed, tmp_path: Path) -> None:
    record = Path(os.fsdecode(os.fsencode(tmp_path / "a") + b"\xff.jsonl"))
    write_record(record, events_of(5)[:120])
    assert review_with(reviewed, tmp_path, record=record)["record"].endswith("a\ufffd.jsonl")


def test_a_file_of_another_game_than_the_address_is_refused(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / f"{LOG[:-1]}e.xml"
    other.write_bytes(tenhou_xml(simulated(5, rules="tenhou")))
    assert main([ADDRESS, str(other), reviewed.weights["imitation"], "-o", str(tmp_path / "out.html")]) == 1
    assert f"the game {LOG[:-1]}e, but the address is of {LOG}" in capsys.readouterr().err


def test_a_player_is_chosen_by_name_and_can_stay_anonymous(reviewed: Reviewed, tmp_path: Path) -> None:
    start, *events = events_of(5)
    record = write_record(tmp_path / "named.jsonl", [{**start, "names": ["Alice", "Bob", "Carol", "Dave"]}, *events])
    assert review_with(reviewed, tmp_path, "--seat", "Carol", record=record)["seat"] == 2
    data = review_with(reviewed, tmp_path, "--seat", "Carol", "--anonymous", record=record)
    written = json.dumps(data) + (tmp_path / "out.html").read_text()
    assert not any(name in written for name in ("Alice", "Carol", "named.jsonl", "sim-5"))


def test_rounds_that_cannot_be_replayed_are_named(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = write_record(tmp_path / "damaged.jsonl", _damaged(events_of(5), rounds={1}))
    out, data = tmp_path / "out.html", tmp_path / "out.json"
    command = [str(record), reviewed.weights["imitation"], "--seat", "0", "-o", str(out), "--json", str(data)]
    assert main(command) == 0
    review = json.loads(data.read_text())
    (left_out,) = review["left_out"]
    assert f"kanachan-review: left out: {record}: {left_out}" in capsys.readouterr().err
    assert left_out.split(":")[0] not in [found["name"] for found in review["rounds"]]
    assert data_of(out.read_text())["left_out"] == [left_out]


def test_a_game_without_its_end_has_no_result(reviewed: Reviewed, tmp_path: Path) -> None:
    events = events_of(5)
    second = [i for i, event in enumerate(events) if event["type"] == "start_kyoku"][1]
    assert events[0]["kanachan"]["grading_deltas"] is not None
    record = write_record(tmp_path / "cut.jsonl", events[:second])
    review = review_with(reviewed, tmp_path, "--seat", "0", record=record)
    assert (review["final"]["is_recorded"], review["final"]["grading_delta"]) == (False, None)


def _damaged(events: list[Any], rounds: set[int] | None = None) -> list[Any]:
    """Returns events with one discard in each of `rounds` (all if None) that its player does not hold."""
    number, is_damaged, damaged = -1, True, []
    for event in events:
        if event["type"] == "start_kyoku":
            number, is_damaged = number + 1, rounds is not None and number + 1 not in rounds
        if event["type"] == "dahai" and not is_damaged:
            event, is_damaged = {**event, "pai": "P" if event["pai"] != "P" else "F", "tsumogiri": False}, True
        damaged.append(event)
    return damaged
