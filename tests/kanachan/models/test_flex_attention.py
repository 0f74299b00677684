"""FlexAttention computes the same as the mask, in the tiles in which a query sees a key."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import flex_attention

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import batch_of_annotations
from kanachan.models.flex_attention import TILE, FlexAttention, attend_in_tiles
from tests.support.on_device import packed
from tests.support.random_annotations import random_annotations


@pytest.fixture(scope="module")
def backend() -> FlexAttention:
    batch = packed(batch_of_annotations(random_annotations(60, seed=1, games=6), FOUR_PLAYERS, actor_first=True))
    assert batch.varlen is not None
    return FlexAttention(batch.varlen, batch.candidate_BA, batch.group_B, batch.seen_B)


@pytest.mark.parametrize("name", ["situations", "among", "to_situations"])
def test_the_tiles_are_the_ones_in_which_a_query_sees_a_key(backend: FlexAttention, name: str) -> None:
    ranges = getattr(backend, name)
    mask_QK = ranges.mask_QK
    num_queries, num_keys = mask_QK.shape
    is_seen_MJ = ranges.tiles.to_dense()[0, 0].bool()
    grid = (
        F.pad(mask_QK, (0, -num_keys % TILE, 0, -num_queries % TILE)).unflatten(0, (-1, TILE)).unflatten(2, (-1, TILE))
    )
    assert torch.equal(is_seen_MJ, grid.any(dim=3).any(dim=1))
    assert is_seen_MJ.float().mean() < 0.7 and min(is_seen_MJ.shape) > 2
    assert bool(mask_QK.any(dim=1).all()), "a query that sees nothing has no gradient"


def test_flex_attention_computes_the_same_as_the_mask(backend: FlexAttention, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the forward pass: torch has no gradients of FlexAttention on CPUs. tests/gpu compares the gradients."""
    uncompiled = torch.compile(flex_attention, dynamic=True, backend="eager")
    monkeypatch.setattr("kanachan.models.flex_attention._compiled", lambda: uncompiled)
    torch.manual_seed(0)
    num_rows = backend.situations.num_keys
    query_1HQW, key_1HKW, value_1HKW = (torch.randn(1, 2, num_rows, 8) for _ in range(3))
    found = attend_in_tiles(query_1HQW, key_1HKW, value_1HKW, backend.situations)
    expected = F.scaled_dot_product_attention(query_1HQW, key_1HKW, value_1HKW, backend.situations.mask_QK)
    torch.testing.assert_close(found, expected)
