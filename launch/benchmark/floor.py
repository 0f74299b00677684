"""Benchmark of where a training step on the CPU spends its time, next to the least that its operations could take:
their multiplications at the speed of large matrix products, or their tensors at the speed of a copy inside the caches.

One thread. The least is that of the operations as they are called, padding included. Attention, as one fused operation,
has the multiplications of its products. Tensors count as a whole, also where only some rows are gathered; random
numbers, as those of dropout, count as writing them.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from estimates import Estimate
from loading import batches_of
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig, OptimConfig
from kanachan.objectives.networks import build_network
from kanachan.training.batch_sizes import DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
from kanachan.training.optimizers import make_optimizer
from kanachan.training.throughput import matrix_flops_per_second

_STEPS = 2
_KINDS: Mapping[str, tuple[str, ...]] = {
    "attention": ("scaled_dot_product",),
    "products": ("mm", "linear"),
    "gather and its gradient": ("index", "gather", "scatter", "embedding", "masked_select"),
    "norms": ("layer_norm",),
    "GELU": ("gelu",),
    "dropout": ("bernoulli", "dropout"),
    "copies and conversions": ("copy", "clone", "cat", "stack", "pad"),
}
"""by words in the names of operations, the first kind that fits; else sums and others"""
_WITHOUT_WORK = ("empty", "empty_like", "new_empty", "empty_strided", "_unsafe_view")
_OTHERS, _OPTIMIZER = "sums and others", "optimizer"
_LEAST_BYTES, _MOST_BYTES = 2**16, 2**27


@dataclass(frozen=True)
class _Speeds:
    """What one thread of this machine does in a second at best."""

    flops: Mapping[torch.dtype, float]
    """of products of large matrices"""
    copied_bytes: float
    """read and written"""


@dataclass
class _Work:
    """What the operations of a kind took, and the least that they could take, in seconds of CPU time."""

    seconds: Counter[str] = field(default_factory=Counter)
    least: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)


class _Meter(TorchDispatchMode):
    """Measures each operation while it is on.

    Args:
        kind: of all operations; None: by their names.
    """

    def __init__(self, work: _Work, speeds: _Speeds, kind: str | None = None) -> None:
        super().__init__()
        self.work, self.speeds, self.kind = work, speeds, kind

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func._overloadpacket.__name__
        start = time.thread_time()  # batches are read in another thread
        out = func(*args, **kwargs)
        seconds = time.thread_time() - start
        kind = self.kind or _kind_of(name)
        self.work.seconds[kind] += seconds
        self.work.calls[kind] += 1
        if not func.is_view and name not in _WITHOUT_WORK:
            self.work.least[kind] += self._least(func, args, kwargs, out)
        return out

    def _least(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> float:
        """Returns the seconds that an operation takes at least."""
        read = {id(leaf): leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        written = {id(leaf): leaf for leaf in tree_leaves(out) if isinstance(leaf, Tensor)}
        moved = sum(leaf.numel() * leaf.itemsize for leaf in (*read.values(), *written.values()))
        return max(moved / self.speeds.copied_bytes, self._multiplying(func, args, kwargs, out))

    def _multiplying(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> float:
        name = func._overloadpacket.__name__
        if "scaled_dot_product" in name:
            # scores and weighted values; backward, the scores again and four gradients
            query, key = args[1:3] if "backward" in name else args[:2]
            products = 5 if "backward" in name else 2
            flops = products * 2 * query.numel() * key.shape[-2]
            if _argument(func, "is_causal", args, kwargs):
                flops //= 2
        else:
            count = flop_registry.get(func._overloadpacket)
            if count is None:
                return 0.0
            query, flops = args[-1], count(*args, **kwargs, out_val=out)
        return float(flops) / self.speeds.flops[query.dtype]


def measure_floor(shards: Path, model: ModelConfig, repeats: int, *, use_bf16: bool) -> list[Estimate]:
    """Measures microseconds of CPU time a decision, by kind of operation and of a whole step, against the least."""
    torch.set_num_threads(1)
    batch, micro_batch = DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    network.train()
    optimizer = make_optimizer(network, OptimConfig())
    batches = batches_of(shards, batch, micro_batch, actor_first=True)
    dtypes = (torch.float32, torch.bfloat16) if use_bf16 else (torch.float32,)
    speeds = _Speeds({dtype: matrix_flops_per_second(torch.device("cpu"), dtype) for dtype in dtypes}, _copied_bytes())

    def learn() -> None:
        for micro in islice(batches, batch // micro_batch):
            with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
                loss = objective.loss(network(micro), micro)["loss"] * micro_batch / batch
            loss.backward()

    def update() -> None:
        nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
        optimizer.step()
        optimizer.zero_grad()

    def step() -> None:
        learn()
        update()

    step()
    works, plain = [], []
    for _ in range(repeats):
        plain.append(_seconds(step, _STEPS))
        work = _Work()
        for _ in range(_STEPS):
            with _Meter(work, speeds):
                learn()
            with _Meter(work, speeds, _OPTIMIZER):
                update()
        works.append(work)
    return _estimates(works, plain, speeds, "bf16" if use_bf16 else "fp32", _STEPS * batch)


def _estimates(
    works: Sequence[_Work], plain: Sequence[float], speeds: _Speeds, precision: str, decisions: int
) -> list[Estimate]:
    """Returns the estimate of each kind and of the step, medians over the repeats."""
    scale = 1e6 / decisions
    kinds = sorted(works[0].seconds, key=lambda kind: -works[0].seconds[kind])

    def estimate(what: str, seconds: Sequence[float], least: Sequence[float], **more: float) -> Estimate:
        return Estimate(
            part="floor",
            what=f"{precision}: {what}",
            unit="µs a decision",
            ours=statistics.median(seconds) * scale,
            plain="the least: products at the speed of large ones, the rest at the speed of a copy",
            plainly=statistics.median(least) * scale,
            more=more,
        )

    found = [
        estimate(
            kind, [w.seconds[kind] for w in works], [w.least[kind] for w in works], calls=works[0].calls[kind] / _STEPS
        )
        for kind in kinds
    ]
    whole = estimate(
        "a whole step, without the clock in every operation",
        plain,
        [sum(w.least.values()) for w in works],
        **{f"products, GFLOP/s in {dtype}".replace("torch.", ""): peak / 1e9 for dtype, peak in speeds.flops.items()},
        **{"copying, GB/s": speeds.copied_bytes / 1e9},
    )
    return [*found, whole]


def _argument(func: Any, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Returns the argument of an operation; None if it is not given."""
    place = [argument.name for argument in func._schema.arguments].index(name)
    return args[place] if place < len(args) else kwargs.get(name)


def _kind_of(name: str) -> str:
    return next((kind for kind, words in _KINDS.items() if any(word in name for word in words)), _OTHERS)


def _seconds(body: Callable[[], object], times: int) -> float:
    start = time.thread_time()
    for _ in range(times):
        body()
    return time.thread_time() - start


def _copied_bytes() -> float:
    """Measures bytes that a copy reads and writes in a second: the best of several sizes, some of which fit into
    caches."""
    size, best = _LEAST_BYTES, 0.0
    while size <= _MOST_BYTES:
        source = torch.ones(size // 4)
        target = torch.empty_like(source)
        for _ in range(3):
            start = time.perf_counter()
            for _ in range(max(1, 2**22 // size)):
                target.copy_(source)
            best = max(best, 2 * size * max(1, 2**22 // size) / (time.perf_counter() - start))
        size *= 4
    return best
