"""Sums over the batches of several processes."""

from typing import Any

import pytest
import torch

from kanachan.training.distributed_sums import DistributedSums, means_of
from tests.support.two_ranks import ALONE, Ranks


def test_sums_of_any_shape_are_over_the_batches_of_all_ranks() -> None:
    batches = [{"scalar": torch.tensor(float(n)), "table": torch.full((2, 3), n), "number": 0.5 * n} for n in range(4)]

    def work(rank: int, trainer: Any) -> dict[str, Any]:
        sums = DistributedSums()
        for batch in batches[2 * rank :][:2]:
            sums.add(batch)
        return sums.totals(trainer)

    for totals in Ranks().run(work):
        assert totals["scalar"] == 6 and totals["number"] == 3 and totals["table"].tolist() == [[6] * 3] * 2
        assert totals["table"].dtype == float


def test_means_are_weighted_by_the_rows_of_each_rank() -> None:
    def work(rank: int, trainer: Any) -> tuple[dict[str, float], float]:
        sums = DistributedSums()
        sums.add_means({"loss": torch.tensor(float(rank), requires_grad=True)}, weight=(30, 20)[rank])
        return means_of(sums.totals(trainer))

    assert Ranks().run(work) == [({"loss": 20 / 50}, 50)] * 2


def test_small_parts_are_not_lost_in_a_large_sum() -> None:
    sums = DistributedSums()
    for _ in range(100):
        sums.add({"x": torch.tensor(1e8)})
        sums.add({"x": torch.tensor(1.0)})
    assert sums.totals(ALONE)["x"] == 100 * (1e8 + 1)


def test_a_saved_sum_is_split_over_ranks_and_continued() -> None:
    first = DistributedSums()
    first.add_means({"loss": torch.tensor(3.0)}, weight=4)
    state = first.state_dict(ALONE)
    assert state == ({"loss": 12}, 4)

    def work(rank: int, trainer: Any) -> tuple[dict[str, float], float]:
        sums = DistributedSums()
        sums.load_state_dict(state, share=1 / 2)
        sums.add_means({"loss": torch.tensor(0.0)}, weight=4)
        return means_of(sums.totals(trainer))

    for means, weight in Ranks().run(work):
        assert means["loss"] == pytest.approx(1) and weight == 12
