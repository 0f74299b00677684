"""The blocks of a deep network with which a shallower one starts."""

import pytest

from kanachan.models.fewer_blocks import kept_blocks


@pytest.mark.parametrize(
    ("layers", "fewer", "kept"),
    [(4, 4, [0, 1, 2, 3]), (4, 3, [0, 2, 3]), (4, 2, [0, 3]), (4, 1, [0]), (5, 3, [0, 2, 4])],
)
def test_the_first_and_last_blocks_and_evenly_spaced_ones_between_are_kept(
    layers: int, fewer: int, kept: list[int]
) -> None:
    assert kept_blocks(layers, fewer) == kept
