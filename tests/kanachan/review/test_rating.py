"""The scale of ratings by the networks of the package."""

from pathlib import Path

import pytest

from kanachan.models.reference import resolved
from kanachan.review.rating import PERCENTILES, place_in, scale_of


@pytest.mark.parametrize("name", ["reference", "reference/3p"])
def test_the_networks_that_review_by_default_have_a_scale(name: str) -> None:
    scale = scale_of(resolved(name))
    assert scale is not None, "other weights than those of the scale: run launch/reports/ratings.py"
    values = scale["percentiles"]
    assert len(values) == len(PERCENTILES) and values == sorted(values)
    assert values[5] < scale["mean"] < values[-5]


def test_a_rating_has_its_percentile_among_other_ratings() -> None:
    scale = {"games": 9, "mean": 70.0, "standard_deviation": 6.0}
    scale |= {"percentiles": [60.0 + step for step in range(len(PERCENTILES))]}
    placed = [place_in(scale, rating) for rating in (10, 60, 60.5, 70, 80, 99)]
    assert [place["percentile"] for place in placed if place] == [0, 0, 2, 50, 100, 100]


def test_a_network_from_outside_the_package_has_no_scale(tmp_path: Path) -> None:
    own = tmp_path / "weights.safetensors"
    own.write_bytes(b"own")
    assert scale_of(own) is None
