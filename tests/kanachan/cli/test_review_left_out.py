"""Rounds that kanachan-review leaves out."""

import json
from pathlib import Path
from typing import Any

import pytest

from kanachan.cli.review import main
from kanachan.review.page import embedded
from tests.support.review_runs import Reviewed
from tests.support.reviewed import events_of, write_record


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
