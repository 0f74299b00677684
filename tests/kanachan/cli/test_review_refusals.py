"""What kanachan-review refuses, leaves out and does not overwrite."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kanachan.cli.review import main
from kanachan.review.page import embedded
from tests.support.review_runs import Reviewed
from tests.support.reviewed import events_of, write_record
from tests.support.rounds import V3
from tests.support.tiny_weights import written


def test_rounds_that_do_not_replay_are_named(
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
    assert embedded(left_out) in out.read_text()


def test_weights_for_another_number_of_players_are_refused_with_those_that_fit(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_three = write_record(tmp_path / "three.jsonl", events_of(5, vocabulary=V3))
    weights = str(written(tmp_path / "weights", vocabulary=V3))
    four = f"{reviewed.record}: a game of 4 players, but {weights} is for games of 3: give weights for 4 players"
    three = f"{of_three}: a game of 3 players, but reference is for games of 4: give weights for 3 players"
    for record, given, why in (
        (reviewed.record, [weights], f"{four} (vocabulary kanachan-4p), such as reference"),
        (of_three, ["reference"], f"{three} (vocabulary kanachan-3p), "),
        (of_three, [weights, "reference"], three),
    ):
        assert main([str(record), *given, "--seat", "0", "-o", str(tmp_path / "out.html")]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"kanachan-review: error: {why}")


def _damaged(events: list[Any], rounds: set[int] | None = None) -> list[Any]:
    """With one discard of each of `rounds` (all if None) of a tile that its player does not have."""
    number, is_damaged, damaged = -1, True, []
    for event in events:
        if event["type"] == "start_kyoku":
            number, is_damaged = number + 1, rounds is not None and number + 1 not in rounds
        if event["type"] == "dahai" and not is_damaged:
            event, is_damaged = {**event, "pai": "P" if event["pai"] != "P" else "F", "tsumogiri": False}, True
        damaged.append(event)
    return damaged


def test_what_cannot_be_reviewed_is_named(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = reviewed.weights["imitation"]
    out = tmp_path / "out.html"
    events = events_of(5)
    two = write_record(tmp_path / "two.jsonl", events, events_of(6))
    damaged = write_record(tmp_path / "damaged.jsonl", _damaged(events))
    text = tmp_path / "text.txt"
    text.write_text("no record\n")
    for arguments, why in (
        ([str(text), weights], f"{text}: not a game record"),
        ([str(tmp_path / "none.xml"), weights], "none.xml"),
        ([str(two), weights], f"{two} holds 2 games: choose one with --game 1 ... 2"),
        ([str(two), weights, "--game", "3"], f"{two}: --game 3 is not in 1 ... 2"),
        ([str(tmp_path), weights], "one record is reviewed at a time"),
        ([str(damaged), weights], f"{damaged}: no round of the game could be replayed"),
        ([str(reviewed.record), str(tmp_path / "weights")], str(tmp_path / "weights")),
    ):
        assert main([*arguments, "--seat", "0", "-o", str(out)]) == 1
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith("kanachan-review: error: ") and why in error
        assert not out.exists()


def test_a_page_overwrites_neither_its_record_nor_its_data(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, page = str(reviewed.record), str(tmp_path / "out.html")
    before = reviewed.record.read_bytes()
    for outputs, why in (
        (["-o", record], f"{record}: is read, and would be overwritten"),
        (["-o", page, "--json", page], f"--json {page}: the page is written there"),
        (["-o", "-"], "cannot be written to standard output"),
    ):
        assert main([record, reviewed.weights["imitation"], "--seat", "0", *outputs]) == 1
        assert why in capsys.readouterr().err
    assert reviewed.record.read_bytes() == before and os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    (
        ["--seat", "0", "--threshold", "20"],
        ["--seat", "0", "--game", "0"],
        ["--seat", "0", "--batch", "0"],
    ),
)
def test_wrong_options_are_refused_before_anything_is_read(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["none.xml", "none", "-o", "none.html", *arguments])
    assert exit_.value.code == 2


def test_a_review_replaces_no_file_without_force(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "out.html", tmp_path / "out.json"
    command = [str(reviewed.record), reviewed.weights["imitation"], "--seat", "0", "-o", str(out), "--json", str(data)]
    for existing in (out, data):
        existing.write_text("mine")
        assert main(command) == 1
        assert f"{existing}: exists: name another file, or replace it with --force" in capsys.readouterr().err
        assert existing.read_text() == "mine"
        existing.unlink()
    out.write_text("mine")
    assert main([*command, "--force"]) == 0 and out.read_text() != "mine"
