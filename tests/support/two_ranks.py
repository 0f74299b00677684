"""The part of a trainer's interface that sums over processes need, without processes."""

import threading
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

_CPU = torch.device("cpu")


class Ranks:
    """Two ranks as threads, with the sum over both that a strategy of Lightning makes."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(2)
        self.given: dict[int, Tensor] = {}
        self.results: dict[int, Any] = {}

    def run(self, work: Any) -> list[Any]:
        threads = [threading.Thread(target=self._work, args=(rank, work)) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [self.results[rank] for rank in range(2)]

    def _work(self, rank: int, work: Any) -> None:
        def reduce(tensor: Tensor, reduce_op: str) -> Tensor:
            assert reduce_op == "sum"
            self.given[rank] = tensor.clone()
            self.barrier.wait()
            total = self.given[0] + self.given[1]
            self.barrier.wait()
            return total

        trainer = SimpleNamespace(
            strategy=SimpleNamespace(reduce=reduce, root_device=_CPU), global_rank=rank, world_size=2
        )
        self.results[rank] = work(rank, trainer)


ALONE: Any = SimpleNamespace(
    strategy=SimpleNamespace(reduce=lambda tensor, reduce_op: tensor, root_device=_CPU), global_rank=0, world_size=1
)
"""the trainer of a single process"""
