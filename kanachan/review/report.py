"""Builds a review as data, which the page shows and --json writes; it consists of plain JSON values."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from annotate.annotation import Annotation
from annotate.game.record import Game, Round
from annotate.game.tiles import WINDS
from annotate.replay.replay import ReplayResult, round_part
from annotate.runtime.json_output import rounded
from annotate.vocabulary import Vocabulary
from annotate.words import ROOMS, ROUND_RESULTS, STYLES, WIND_NAMES
from kanachan.evaluation.decision_metrics import KINDS
from kanachan.inference.policy import Policy
from kanachan.review.board import candidate_of, table_of
from kanachan.review.predictions import ReviewedPrediction, kinds_offered, reviewed_predictions

FORMAT_VERSION = 1
ALL = "all"
"""the row of the summary over all kinds of decision"""
NUM_WORST = 12
"""length of the list of the largest losses"""
_ABORTED = ROUND_RESULTS[-1]  # for all seats alike

Data = dict[str, Any]
_RoundKey = tuple[int, int, int]  # wind, dealer, honba: no two rounds of a game have the same


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A policy under its name in the review."""

    name: str
    policy: Policy


def review_of(
    record: str, game: Game, report: ReplayResult, seat: int, reviewers: Sequence[Reviewer], chunk: int
) -> Data:
    """Returns the review of one seat's decisions.

    Args:
        record: name of the record.
        report: the replayed game.
        chunk: decisions that pass a network at once.

    Raises:
        ValueError: the seat has no decision that could be replayed, or weights have another vocabulary than the game;
            names the record and the reason.
    """
    vocabulary = game.vocabulary
    for reviewer in reviewers:
        if reviewer.policy.vocabulary is not vocabulary:
            theirs = reviewer.policy.vocabulary.name
            raise ValueError(f"{record}: a game of {vocabulary.name}, but the weights {reviewer.name} are for {theirs}")
    annotations = [annotation for annotation in report.annotations if _seat(annotation, vocabulary) == seat]
    if not annotations:
        why = f": {report.left_out[0]}" if report.left_out else ""
        raise ValueError(f"{record}: no decision of seat {seat} is left to review{why}")
    predictions = reviewed_predictions([reviewer.policy for reviewer in reviewers], annotations, chunk)
    kinds = kinds_offered(annotations, vocabulary)
    rounds, round_of = _rounds(report.annotations, seat, game, vocabulary)
    return {
        "format": "kanachan-review",
        "format_version": FORMAT_VERSION,
        "record": record,
        **_header(game, annotations[0], vocabulary),
        "seat": seat,
        "left_out": list(report.left_out),
        "notes": list(report.notes),
        "models": [
            {**_model(reviewer), "summary": _summary(kinds, annotations, rows), "worst": _worst(rows)}
            for reviewer, rows in zip(reviewers, predictions, strict=True)
        ],
        "rounds": rounds,
        "decisions": [
            {
                "round": round_of[i],
                "kinds": kinds[i],
                "table": asdict(table_of(annotation, vocabulary, _pons(game, _round_key(annotation, vocabulary)))),
                "candidates": [asdict(candidate_of(token, vocabulary)) for token in annotation.actions],
                "chosen": annotation.chosen,
                "answers": [_prediction(rows[i]) for rows in predictions],
            }
            for i, annotation in enumerate(annotations)
        ],
    }


def _header(game: Game, annotation: Annotation, vocabulary: Vocabulary) -> Data:
    named = dict(zip(vocabulary.results, annotation.results, strict=True))
    return {
        "game": game.id,
        "room": ROOMS[_value(annotation, vocabulary, "room")],
        "style": STYLES[game.style],
        "final": {
            "is_recorded": game.final_scores is not None,
            "ranks": [named[f"rank_{seat}"] for seat in range(vocabulary.num_seats)],
            "rank": named["rank"],
            "score": named["score"],
            "grading_delta": named["grading_delta"] if game.grading_deltas is not None else None,
        },
    }


def _rounds(
    annotations: Sequence[Annotation], seat: int, game: Game, vocabulary: Vocabulary
) -> tuple[list[Data], list[int]]:
    """Returns the rounds that could be replayed, and for each decision of the seat the index of its round.

    Args:
        annotations: of all seats.
    """
    of_round: dict[_RoundKey, list[Annotation]] = {}
    for annotation in annotations:
        of_round.setdefault(_round_key(annotation, vocabulary), []).append(annotation)
    rounds: list[Data] = []
    round_of: list[int] = []
    for recorded in game.rounds:
        key = _key_of_record(recorded)
        if key not in of_round:
            continue
        wind, dealer, honba = key
        own = [annotation for annotation in of_round[key] if _seat(annotation, vocabulary) == seat]
        named = dict(zip(vocabulary.results, (own or of_round[key])[0].results, strict=True))
        result = ROUND_RESULTS[named["round_result"]]
        if not own and result != _ABORTED:  # it is described from another seat's view
            result = ROUND_RESULTS[round_part(recorded.events)[seat][0]]
        rounds.append(
            {
                "name": f"{WIND_NAMES[wind]} {dealer + 1}-{honba}",
                "first": len(round_of),
                "decisions": len(own),
                "result": result,
                "deltas": [named[f"round_delta_{other}"] for other in range(vocabulary.num_seats)],
            }
        )
        round_of += [len(rounds) - 1] * len(own)
    return rounds, round_of


def _pons(game: Game, key: _RoundKey) -> list[list[str]]:
    """Returns the two tiles from the hand of each pon of a round."""
    for recorded in game.rounds:
        if _key_of_record(recorded) == key:
            return [event["consumed"] for event in recorded.events if event["type"] == "pon"]
    return []


def _key_of_record(recorded: Round) -> _RoundKey:
    start = recorded.events[0]
    return WINDS[start["bakaze"]], start["oya"], start["honba"]


def _round_key(annotation: Annotation, vocabulary: Vocabulary) -> _RoundKey:
    honba = annotation.numeric[vocabulary.numeric.index("honba")]
    return _value(annotation, vocabulary, "wind"), _value(annotation, vocabulary, "round"), honba


def _seat(annotation: Annotation, vocabulary: Vocabulary) -> int:
    return _value(annotation, vocabulary, "seat")


def _value(annotation: Annotation, vocabulary: Vocabulary, name: str) -> int:
    """Returns the value of a sparse block that has exactly one token in every situation."""
    block = vocabulary.sparse[name]
    return next(token for token in annotation.sparse if block.first <= token < block.first + block.size) - block.first


def _model(reviewer: Reviewer) -> Data:
    policy = reviewer.policy
    return {
        "name": reviewer.name,
        "stage": policy.stage,
        "meaning": policy.meaning,
        "quantity": policy.objective.quantity,
        "unit": "points" if policy.objective.has_value else "probability",
        "steps": policy.card.get("steps"),
        "temperature": policy.temperature,
    }


def _prediction(prediction: ReviewedPrediction) -> Data:
    return {
        "shown": _rounded(prediction.shown),
        "best": prediction.best,
        "loss": _rounded(prediction.loss),
        "rank_probability": _rounded(prediction.rank_probability),
        "expected": _rounded(prediction.expected),
        "expected_ranks": _rounded(prediction.expected_ranks),
    }


def _rounded(value: Any) -> Any:
    if value is None:
        return None
    return [_rounded(v) for v in value] if np.ndim(value) else rounded(float(value))


def _worst(rows: Sequence[ReviewedPrediction]) -> list[int]:
    """Returns the decisions with the largest losses, the largest first."""
    losing = [i for i, prediction in enumerate(rows) if prediction.loss > 0]
    return sorted(losing, key=lambda i: -rows[i].loss)[:NUM_WORST]


def _summary(
    kinds: Sequence[Sequence[str]], annotations: Sequence[Annotation], rows: Sequence[ReviewedPrediction]
) -> list[Data]:
    """Returns by kind of decision: the number, how often the action taken is the network's best, its mean probability
    (None for values) and the mean loss."""
    table = []
    for kind in (ALL, *KINDS):
        of_kind = [i for i, offered in enumerate(kinds) if kind == ALL or kind in offered]
        if not of_kind:
            continue
        chosen = [annotations[i].chosen for i in of_kind]
        mine = [rows[i] for i in of_kind]
        has_probability = mine[0].expected is None
        shown = [float(prediction.shown[index]) for prediction, index in zip(mine, chosen, strict=True)]
        agreed = sum(prediction.best == index for prediction, index in zip(mine, chosen, strict=True))
        table.append(
            {
                "kind": kind,
                "decisions": len(of_kind),
                "agreed": agreed,
                "mean_probability": _rounded(np.mean(shown)) if has_probability else None,
                "mean_loss": _rounded(np.mean([prediction.loss for prediction in mine])),
            }
        )
    return table
