"""Estimates the grading points of each final rank from data, to convert rank probabilities to grading points.

Grading points depend on room, style, own grade and rank (and, on Mahjong Soul, slightly on the score). So their means
over a split are the part of the platform's table that occurs there, whichever platform it is.

Shapes: B decisions, R ranks.
"""

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import NUM_GRADES, Vocabulary
from kanachan.data.columns import Columns, token_value
from kanachan.data.round_state import own_grade
from kanachan.objectives.targets import Results, final_rank, grading_delta


class PointTable:
    """Mean grading points by room, style, own grade and rank."""

    def __init__(self, columns: Columns, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        results = Results.of_columns(columns, vocabulary)
        rank_B, delta_B = final_rank(results).numpy(), grading_delta(results).numpy()
        sparse = vocabulary.sparse
        shape = (sparse["room"].size * sparse["style"].size * NUM_GRADES, vocabulary.num_seats)
        cell_B = self._case(columns) * vocabulary.num_seats + rank_B
        count = np.bincount(cell_B, minlength=shape[0] * shape[1]).reshape(shape)
        total = np.bincount(cell_B, delta_B, shape[0] * shape[1]).reshape(shape)
        # A case without any game that ended with that rank has the mean over all cases.
        overall_R = total.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
        self._points = np.where(count, total / np.maximum(count, 1), overall_R)

    def points(self, columns: Columns) -> NDArray[np.float64]:
        """Returns the points that the actor would get for each rank [B, R]. Seats must not be canonicalised."""
        return self._points[self._case(columns)]

    def _case(self, columns: Columns) -> NDArray[np.int64]:
        room_B, style_B = (token_value(columns.sparse, self.vocabulary, block) for block in ("room", "style"))
        case_B = room_B * self.vocabulary.sparse["style"].size + style_B
        return case_B * NUM_GRADES + own_grade(columns, self.vocabulary)
