"""Compares predictions with outcomes, in groups of similar predictions and by round.

Shapes: B decisions, R ranks.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns, token_value
from kanachan.evaluation.bootstrap import REPLICATES, Floats
from kanachan.evaluation.calibration import Bin, reliability
from kanachan.evaluation.decision_metrics import DecisionRows
from kanachan.objectives.targets import Results, final_rank

Mask = NDArray[np.bool_]
WINDS = ("East", "South", "West")


def of_actions(rows: DecisionRows, replicates: int = REPLICATES) -> dict[str, list[Bin]]:
    """Returns `best action`: the probability of the most probable action against how often it was taken."""
    confidence_B = rows.confidence_B.astype(np.float64)
    return {
        "best action": reliability(rows.game_B, confidence_B, rows.is_top_B.astype(np.float64), replicates=replicates)
    }


def of_ranks(
    columns: Columns, probability_BR: Floats, vocabulary: Vocabulary, replicates: int = REPLICATES
) -> dict[str, list[Bin]]:
    """Groups the probabilities of all ranks, against how often the actor reached them: `rank` in all rounds,
    `rank, WIND` in those of each wind, and `rank, last round`."""
    winds = {f"rank, {name}": where_B for name, where_B in rounds_by_wind(columns, vocabulary).items()}
    everywhere_B = np.ones(len(columns), bool)
    groups = {"rank": everywhere_B, **winds, "rank, last round": is_last_round(columns, vocabulary)}
    return _of_ranks(columns, probability_BR, vocabulary, groups, replicates)


def of_ranks_at_starts(
    columns: Columns, probability_BR: Floats, predictor: str, vocabulary: Vocabulary, replicates: int = REPLICATES
) -> dict[str, list[Bin]]:
    """Groups the same at the first decision of each round, and of each last round:
    `rank at starts of rounds, PREDICTOR` and `rank at starts of last rounds, PREDICTOR`."""
    start_B = is_round_start(columns)
    groups = {
        f"rank at starts of rounds, {predictor}": start_B,
        f"rank at starts of last rounds, {predictor}": start_B & is_last_round(columns, vocabulary),
    }
    return _of_ranks(columns, probability_BR, vocabulary, groups, replicates)


def _of_ranks(
    columns: Columns, probability_BR: Floats, vocabulary: Vocabulary, groups: Mapping[str, Mask], replicates: int
) -> dict[str, list[Bin]]:
    rank_B = final_rank(Results.of_columns(columns, vocabulary)).numpy()
    is_reached_BR = rank_B[:, None] == np.arange(probability_BR.shape[1])
    game_B = columns.game.view(np.int64)
    return {
        name: reliability(
            np.repeat(game_B[where_B], probability_BR.shape[1]),
            probability_BR[where_B].ravel(),
            is_reached_BR[where_B].ravel().astype(np.float64),
            replicates=replicates,
        )
        for name, where_B in groups.items()
        if where_B.any()
    }


def rounds_by_wind(columns: Columns, vocabulary: Vocabulary) -> Mapping[str, Mask]:
    """Returns the decisions in rounds of each wind that occurs [B]."""
    wind_B = token_value(columns.sparse, vocabulary, "wind")
    return {name: wind_B == number for number, name in enumerate(WINDS) if (wind_B == number).any()}


def rounds_of_the_game(columns: Columns, vocabulary: Vocabulary) -> Mapping[str, Mask]:
    """Returns the decisions in each round that occurs [B], `East 1` … `South 4`, and in all further ones, `West`."""
    dealer_B = token_value(columns.sparse, vocabulary, "round")
    found: dict[str, Mask] = {}
    for wind, where_B in rounds_by_wind(columns, vocabulary).items():
        rounds = {f"{wind} {number + 1}": where_B & (dealer_B == number) for number in range(vocabulary.num_seats)}
        found |= {wind: where_B} if wind == "West" else {name: of_B for name, of_B in rounds.items() if of_B.any()}
    return found


def is_last_round(columns: Columns, vocabulary: Vocabulary) -> Mask:
    """Returns [B] whether the round is the last regular one of the game or a later one."""
    wind_B, dealer_B, style_B = (token_value(columns.sparse, vocabulary, name) for name in ("wind", "round", "style"))
    # style 0 ends with East, 1 with South
    return wind_B * vocabulary.num_seats + dealer_B >= (style_B + 1) * vocabulary.num_seats - 1


def is_round_start(columns: Columns) -> Mask:
    """Returns [B] whether nothing has happened yet in the round: the dealer's first decision."""
    return columns.progression.lengths == 1
