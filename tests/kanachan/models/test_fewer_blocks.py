"""The blocks of a deep network with which a shallower one starts."""

import pytest
import torch

from kanachan.models.fewer_blocks import kept_blocks, with_fewer_blocks


@pytest.mark.parametrize(
    ("layers", "fewer", "kept"),
    [(4, 4, [0, 1, 2, 3]), (4, 3, [0, 2, 3]), (4, 2, [0, 3]), (4, 1, [0]), (5, 3, [0, 2, 4])],
)
def test_the_first_and_last_blocks_and_evenly_spaced_ones_between_are_kept(
    layers: int, fewer: int, kept: list[int]
) -> None:
    assert kept_blocks(layers, fewer) == kept


def test_kept_blocks_are_numbered_anew_and_the_rest_of_the_encoder_stays() -> None:
    names = ["token_embedding.weight", *(f"blocks.{block}.attention.norm.weight" for block in range(12)), "norm.bias"]
    tensors = {name: torch.full((1,), float(place)) for place, name in enumerate(names)}
    fewer = with_fewer_blocks(tensors, [0, 11])
    assert {name: float(tensor) for name, tensor in fewer.items()} == {
        "token_embedding.weight": 0,
        "blocks.0.attention.norm.weight": 1,
        "blocks.1.attention.norm.weight": 12,
        "norm.bias": 13,
    }
