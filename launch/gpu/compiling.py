"""Part compiling: training steps with torch.compile and without."""

import time
from collections.abc import Iterator
from itertools import islice

from bench import Bench, Row, Trainee, largest_difference

from kanachan.training.compilation import compile_network

_SIZES = {False: {"small": 2048, "base": 512}, True: {"tiny": 16}}
"""decisions of a batch, by the size of the network"""
_BATCHES = 8


def measure(bench: Bench) -> Iterator[Row]:
    for size, batch in _SIZES[bench.is_tiny].items():
        losses: list[float] = []
        for is_compiled in (False, True):
            what = f"{size}, {batch} decisions, {'compiled' if is_compiled else 'not compiled'}"
            yield bench.measured(what, lambda s=size, b=batch, c=is_compiled, o=losses: _steps(bench, s, b, c, o))


def _steps(bench: Bench, size: str, batch: int, is_compiled: bool, others: list[float]) -> Row:
    """Measures steps in the precision and the arrangement of a run; compares their losses with those of `others`, which
    it fills if it is empty."""
    is_packed = bench.is_gpu
    trainee = Trainee(bench.device, size, use_bf16=True)
    if is_compiled:
        compile_network(trainee.network, is_dynamic=not is_packed)
        if bench.is_tiny:  # only that it can be traced: a compiler takes a minute
            trainee.network.compile(dynamic=not is_packed, backend="eager")
    batches = [each.to(bench.device) for each in islice(bench.batches(batch, is_packed=is_packed), _BATCHES)]
    start = time.perf_counter()
    losses = [float(trainee.step(each)) for each in batches]
    first_pass = time.perf_counter() - start
    others[:] = others or losses

    def train() -> None:
        for each in batches:
            trainee.step(each)

    seconds = bench.median_seconds(train)
    return {
        "decisions/s": _BATCHES * batch / seconds,
        f"first {_BATCHES} steps, s": first_pass,
        "memory, GB": bench.memory_gb,
        "difference of the losses": largest_difference(losses, others),
    }
