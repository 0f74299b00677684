"""Builds a review as data of plain JSON values, which the page shows and --json writes."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from annotate.annotation import Annotation
from annotate.game.record import Game
from annotate.replay.replay import ReplayResult
from annotate.words import ROOMS, STYLES
from kanachan.data.columns import game_key
from kanachan.inference.danger import CHANCES_KEY, predicts_danger
from kanachan.models.learned_games import LearnedGames
from kanachan.review.danger import dangers
from kanachan.review.models import Reviewer, answers_of, model_of
from kanachan.review.predictions import FLOOR, kinds_offered, policy_index, reviewed_predictions
from kanachan.review.rounds import ReviewedRound, chosen_rounds, reviewed_rounds, value_of

FORMAT_VERSION = 2
"""format 2 adds players, events, hands, endings, and reviews of several seats"""

Data = dict[str, Any]


def review_of(
    record: str,
    game: Game,
    report: ReplayResult,
    seats: Sequence[int],
    reviewers: Sequence[Reviewer],
    threshold: float,
    names: str | None = None,
) -> Data:
    """Returns the review of the decisions of one seat, or of several seats; seats without decisions are left out.
    `threshold`: the share of a network's scale from which on a decision differs; `names`: names of rounds
    (`chosen_rounds`); None: all. Raises ValueError if there is no such round, or no decision of the seats in them."""
    rounds = reviewed_rounds(game, report)
    if names is not None:
        rounds = chosen_rounds(rounds, names)
    acting = [seat for seat in seats if any(reviewed.own(seat) for reviewed in rounds)]
    if not acting:
        raise ValueError(f"{record}: seat {seats[0]} has no decision to review: choose another seat or other rounds")
    parts = [_review_of_seat(seat, game, rounds, reviewers, threshold) for seat in acting]
    policies = [reviewer.policy for reviewer in reviewers]
    return {
        "format": "kanachan-review",
        "format_version": FORMAT_VERSION,
        "record": os.path.basename(record),  # pages are shared, and folders have names of users
        **_header(game, report.annotations[0]),
        "left_out": list(report.left_out),
        "notes": [*report.notes, *_learned(report.annotations[0].game, reviewers)],
        "floor": FLOOR,
        "chances": next((policy.card.get(CHANCES_KEY) for policy in policies if predicts_danger(policy)), None),
        "policy_model": policy_index(policies),
        "default_model": policy_index(policies) or 0,
        "threshold": threshold,
        **(parts[0] if len(seats) == 1 else {"reviews": parts}),
    }


def _learned(game: str, reviewers: Sequence[Reviewer]) -> list[str]:
    key_1 = np.array([game_key(game)], np.uint64)
    return [
        f"{each.name} has learned from this game, so it agrees too often"
        for each in reviewers
        if LearnedGames.of_card(each.policy.card, each.name).has(key_1)[0]
    ]


def _header(game: Game, annotation: Annotation) -> Data:
    origin = game.origin
    return {
        "game": game.id,
        "room": ROOMS[value_of(annotation, game.vocabulary, "room")],
        "style": STYLES[game.style],
        "players": [_player(game, seat) for seat in range(game.vocabulary.num_seats)],
        "source": {
            "platform": origin.platform,
            "log": origin.log,
            "date": origin.date,
            "rules": origin.rules,
            "link": origin.link(),
        },
    }


def _player(game: Game, seat: int) -> Data:
    origin = game.origin
    if not origin.players:
        return {"seat": seat, "name": None, "grade": None, "rate": None}
    player, name = origin.players[seat], origin.grade_name(seat)
    grade = None if name is None else {"system": origin.platform, "number": player.grade, "text": name}
    return {"seat": seat, "name": player.name, "grade": grade, "rate": player.rate}


def _review_of_seat(
    seat: int, game: Game, rounds: Sequence[ReviewedRound], reviewers: Sequence[Reviewer], threshold: float
) -> Data:
    of_rounds = [reviewed.own(seat) for reviewed in rounds]
    situations = [annotation for of_round in of_rounds for annotation in of_round]
    policies = [reviewer.policy for reviewer in reviewers]
    predictions, plausible, choices = reviewed_predictions(policies, situations)
    annotations = [of.annotation for of in choices]
    kinds = kinds_offered(annotations, game.vocabulary)
    danger = dangers(policies, situations)
    answers = [answers_of(reviewer, rows, threshold) for reviewer, rows in zip(reviewers, predictions, strict=True)]
    described: list[Data] = []
    decisions: list[Data] = []
    for number, reviewed in enumerate(rounds):
        first = len(decisions)
        described.append(reviewed.described(seat, first))
        rows = slice(first, first + len(of_rounds[number]))
        for i, known in enumerate(reviewed.decisions(seat, choices[rows], danger[rows]), start=first):
            judged = {"chosen": annotations[i].chosen, "plausible": plausible[i], "answers": [of[i] for of in answers]}
            decisions.append({"round": number, "kinds": kinds[i], **known, **judged})
    return {
        "seat": seat,
        "final": _final(game, annotations[0]),
        "models": [
            model_of(reviewer, kinds, rows, of_game)
            for reviewer, rows, of_game in zip(reviewers, predictions, answers, strict=True)
        ],
        "rounds": described,
        "decisions": decisions,
    }


def _final(game: Game, annotation: Annotation) -> Data:
    named = game.vocabulary.named_results(annotation.results)
    return {
        "is_recorded": game.final_scores is not None,
        "ranks": [named[f"rank_{seat}"] for seat in range(game.vocabulary.num_seats)],
        "rank": named["rank"],
        "score": named["score"],
        "grading_delta": named["grading_delta"] if None not in (game.grading_deltas, game.final_scores) else None,
    }
