"""Runs of kanachan-review on a simulated game with networks of all stages."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from annotate.annotation import Annotation
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from kanachan.cli.review import main
from kanachan.objectives.stages import STAGES
from kanachan.review.rounds import value_of
from tests.support.review_page import data_of, reviewed
from tests.support.reviewed import events_of, write_record
from tests.support.rounds import V
from tests.support.tiny_weights import written

SEAT = 2


class Reviewed(NamedTuple):
    record: Path
    weights: dict[str, str]
    """by stage, in the order in which they were given"""
    annotations: list[Annotation]
    """of the seat under review, by annotating the record"""
    review: dict[str, Any]
    page: str


def review_of_all_stages(folder: Path) -> Reviewed:
    record = write_record(folder / "game.jsonl", events_of(5))
    weights = {stage: str(written(folder / stage, stage)) for stage in STAGES}
    out, data = reviewed(record, [*weights.values()], folder, SEAT)
    (game,) = read_games(str(record))
    annotations = [a for a in annotate_game(game).annotations if value_of(a, V, "seat") == SEAT]
    return Reviewed(record, weights, annotations, data, out.read_text())


def review_with(reviewed: Reviewed, folder: Path, *arguments: str, record: Path | None = None) -> dict[str, Any]:
    """Reviews the same game again, or another record, with only the imitation network; returns the data."""
    out, data = folder / "out.html", folder / "out.json"
    command = [str(record or reviewed.record), reviewed.weights["imitation"], "-o", str(out), "--force"]
    assert main([*command, "--json", str(data), *arguments]) == 0
    found: dict[str, Any] = json.loads(data.read_text())
    assert data_of(out.read_text()) == found
    return found
