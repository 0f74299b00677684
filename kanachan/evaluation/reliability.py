"""Compares predictions with outcomes, in groups of similar predictions.

Shapes: B decisions, R ranks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns
from kanachan.evaluation.bootstrap import REPLICATES, Floats
from kanachan.evaluation.calibration import Bin, reliability
from kanachan.objectives.targets import Results, final_rank

Mask = NDArray[np.bool_]


def of_ranks(
    columns: Columns,
    probability_BR: Floats,
    vocabulary: Vocabulary,
    groups: Mapping[str, Mask],
    replicates: int = REPLICATES,
) -> dict[str, list[Bin]]:
    """Groups the probabilities of all ranks in each group of decisions, against how often the actor reached them."""
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


def is_last_round(wind_B: NDArray[Any], dealer_B: NDArray[Any], style_B: NDArray[Any], num_seats: int) -> Mask:
    """Returns [B] whether the round is the last regular one of the game or a later one."""
    # style 0 ends with East, 1 with South
    return wind_B.astype(np.int64) * num_seats + dealer_B >= (style_B.astype(np.int64) + 1) * num_seats - 1


def is_round_start(columns: Columns) -> Mask:
    """Returns [B] whether nothing has happened yet in the round: the dealer's first decision."""
    return columns.progression.lengths == 1
