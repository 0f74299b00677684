"""Batches of fixed shapes against the same observations as an ordinary batch."""

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import columns_of_observations
from kanachan.inference.policy import NetworkPolicy, Policy
from kanachan.play.batch_shapes import CachedRow, Shape, batches_of_shape, filled, shapes_of
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

SHAPE = Shape(112, 112, 19, 64, 4)
OBSERVATIONS = [annotation.observation for annotation in random_annotations(6, seed=4, games=2)]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> NetworkPolicy:
    return Policy.load(written(tmp_path_factory.mktemp("weights")))


def test_rows_are_those_of_an_ordinary_batch_wherever_there_is_no_padding(policy: NetworkPolicy) -> None:
    plain = policy.batch(columns_of_observations(OBSERVATIONS, FOUR_PLAYERS))
    rows = [CachedRow(observation, slot, 0) for slot, observation in enumerate(OBSERVATIONS, start=1)]
    whole, rest = batches_of_shape(rows, SHAPE, policy)
    assert (len(whole), len(rest)) == (4, 2)
    found = [whole, filled([rest], SHAPE.rows)]
    for name in ("table_BS", "standing_BP2", "tile_BT", "numeric_BN", "candidate_BA", "seen_B", "seat_B"):
        column, expected = torch.cat([getattr(batch, name) for batch in found])[:6], getattr(plain, name)
        assert torch.equal(column[tuple(slice(size) for size in expected.shape)], expected), name
        assert column.sum() == expected.sum(), name
    assert torch.cat([batch.slot_B for batch in found]).tolist() == [1, 2, 3, 4, 5, 6, 0, 0]


def test_only_events_that_are_not_cached_are_new(policy: NetworkPolicy) -> None:
    start = len(OBSERVATIONS[0].progression) - 1
    (batch,) = batches_of_shape([CachedRow(OBSERVATIONS[0], 5, start)], SHAPE, policy)
    batch = filled([batch], SHAPE.rows)
    whole = next(batches_of_shape([CachedRow(OBSERVATIONS[0], 5, 0)], SHAPE, policy))
    assert batch.event_GE[0, 0] == whole.event_GE[0, start] and not batch.event_GE[0, 1:].any()
    assert batch.seen_B.tolist() == [start + 1, 1, 1, 1]
    assert batch.start_B.tolist() == [start, 0, 0, 0]


@pytest.mark.parametrize("has_middle", [False, True])
def test_every_row_fits_into_the_last_shape(has_middle: bool) -> None:
    assert shapes_of(112, 16, has_middle=has_middle)[-1].fits(112, 112, 19, 64)
