"""The scale of the rating: how the networks of the package rate players of Tenhou's Houou table, one game each."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

SCALES = Path(__file__).with_name("ratings.json")
"""written by launch/reports/ratings.py, by the name of the weights"""
PERCENTILES = tuple(range(0, 101, 5))

Data = dict[str, Any]


def fingerprint(weights: Path) -> str:
    """Returns a hash of a weights file: a scale is that of one network only."""
    return sha256(weights.read_bytes()).hexdigest()[:16]


def scale_of(weights: Path) -> Data | None:
    """Returns mean, standard deviation, number of games and percentiles of the ratings by a network, None if it has no
    scale."""
    scales = json.loads(SCALES.read_text(encoding="utf-8")).values()
    own = fingerprint(weights)
    return next((scale for scale in scales if scale["weights"] == own), None)


def percentile(rating: float, scale: Data) -> int:
    """Returns how many of 100 games of these players have a lower rating."""
    return round(float(np.interp(rating, scale["percentiles"], PERCENTILES)))
