"""The rating of a game by a network with probabilities, and the scale of ratings.

The rating is 100 times the mean over the decisions of P(played) / P(most probable action): 100 if every choice is the
network's first choice. The scale has the package's networks' ratings of players at Tenhou's Houou table, one game each.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kanachan.models.card import weights_hash
from kanachan.review.predictions import ReviewedPrediction

Data = dict[str, Any]

SCALES = Path(__file__).with_name("ratings.json")
"""scales by the name of the weights; written by launch/reports/ratings.py"""
PERCENTILES = tuple(range(0, 101, 5))


def rating_of(rows: Sequence[ReviewedPrediction]) -> float:
    """Returns 100 times the mean of P(played) / P(most probable action)."""
    return 100 * float(np.mean([row.shown[row.chosen] / row.shown.max() for row in rows]))


def scale_of(weights: str | Path) -> Data | None:
    """Returns mean, standard deviation, number of games and percentiles of a network's ratings, or None if it has no
    scale."""
    scales = json.loads(SCALES.read_text(encoding="utf-8")).values()
    own = weights_hash(weights)
    return next((scale for scale in scales if scale["weights"] == own), None)


def place_in(scale: Data | None, rating: float) -> Data | None:
    """Returns the scale without its percentiles, and the percentage of its games that have a lower rating."""
    if scale is None:
        return None
    known = {key: scale[key] for key in ("games", "mean", "standard_deviation")}
    return known | {"percentile": round(float(np.interp(rating, scale["percentiles"], PERCENTILES)))}
