"""Part packing: attention over rows packed end to end against padded grids, forward and backward."""

from collections.abc import Iterator
from itertools import islice

from bench import Bench, Row, Trainee, relative_difference

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import TokenLayout, with_varlen_layout

_SIZES = {False: {"small": (512, 2048), "base": (128, 512, 2048)}, True: {"tiny": (16,)}}
"""decisions of a batch, by the size of the network"""
_BATCHES = 4


def measure(bench: Bench) -> Iterator[Row]:
    """Measures in bf16, for which GPUs have a packed kernel."""
    for size, batches in _SIZES[bench.is_tiny].items():
        for batch in batches:
            for is_packed in (False, True):
                what = f"{size}, {batch} decisions, {'packed' if is_packed else 'padded'}"
                yield bench.measured(what, lambda s=size, b=batch, p=is_packed: _speed(bench, s, b, p))
            yield bench.measured(f"{size}, {batch} decisions, gradients", lambda s=size, b=batch: _gap(bench, s, b))


def _speed(bench: Bench, size: str, batch: int, is_packed: bool) -> Row:
    trainee = Trainee(bench.device, size, use_bf16=True)
    batches = [each.to(bench.device) for each in islice(bench.batches(batch, is_packed=is_packed), _BATCHES)]

    def train() -> None:
        for each in batches:
            trainee.step(each)

    seconds = bench.median_seconds(train)
    return {"decisions/s": _BATCHES * batch / seconds, "memory, GB": bench.memory_gb}


def _gap(bench: Bench, size: str, batch: int) -> Row:
    """Compares the gradients of the same decisions."""
    padded = next(bench.batches(batch))
    packed = with_varlen_layout(padded, TokenLayout(FOUR_PLAYERS))
    trainee = Trainee(bench.device, size, use_bf16=True)
    gradients = [trainee.gradient(each.to(bench.device)) for each in (packed, padded)]
    return {"relative difference": relative_difference(*gradients)}
