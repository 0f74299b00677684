"""The cost of training: floating-point operations by formula, and the speed of a run relative to its device.

Shapes as in kanachan.data.batch; L rows of any kind.
"""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kanachan.config import ModelConfig
from kanachan.data.batch import Batch

_SMALLEST_MATRIX = 256
_LARGEST_MATRIX_BYTES = 2**27
_SECONDS_OF_A_PRODUCT = 0.01
_PRODUCTS = 4


@dataclass(frozen=True)
class FlopCount:
    """The work of some batches, padding excluded."""

    decisions: int
    tokens: int
    """tokens that pass through the encoder: own tokens of each decision, events of each group"""
    flops: float
    """floating-point operations to train on them, by the formula of `count_flops`"""

    def __add__(self, other: "FlopCount") -> "FlopCount":
        return FlopCount(self.decisions + other.decisions, self.tokens + other.tokens, self.flops + other.flops)


def count_flops(model: ModelConfig, batch: Batch, *, trains_encoder: bool = True) -> FlopCount:
    """Counts the work of a batch, which must be on the CPU; `trains_encoder`: whether the backward pass goes through
    the encoder.

    Operations are a multiplication and an addition for each weight and token, and twice that again for the backward
    pass. With width D, feed-forward width M, a situation of O own tokens that sees V in all and has A candidates, a
    group of E events: an encoder block costs (4 D² + 2 D M) (O + E) weights and 2 D (O V + E²) of attention; a decoder
    block (6 D² + 2 D M) A, 2 D² (O + E) for keys and values, and 2 D A (A + V) of attention; for relative suits, D more
    weights for each head of attention and query. Embeddings, heads (also the large one of hidden hands), norms and the
    optimiser are excluded, and so are operations that are repeated to save memory.
    """
    own_B = 1 + batch.standing_BP2.shape[1] + _lengths(batch.tile_BT)
    visible_B = own_B + batch.seen_B.numpy()
    events_G = _lengths(batch.event_GE)
    candidates_B = _lengths(batch.candidate_BA)
    tokens = int(own_B.sum() + events_G.sum())
    width, feedforward = model.width, model.feedforward
    encoder = (4 * width**2 + 2 * width * feedforward) * tokens
    encoder += 2 * width * int(own_B @ visible_B + events_G @ events_G)
    factors = width * model.heads
    encoder += factors * tokens
    keys_and_values = 2 * width**2 * tokens
    decoder = (6 * width**2 + 2 * width * feedforward + 2 * factors) * int(candidates_B.sum())
    decoder += 2 * width * int(candidates_B @ (candidates_B + visible_B))
    flops = 6 * (model.layers * encoder + model.decoder_layers * (decoder + keys_and_values))
    if not trains_encoder:
        flops -= 4 * model.layers * encoder + 2 * model.decoder_layers * keys_and_values
    return FlopCount(len(batch), tokens, float(flops))


def _lengths(token_LX: Tensor) -> NDArray[np.int64]:
    """Counts the tokens of each row that are not padding [L]."""
    return np.count_nonzero(token_LX.numpy(), axis=1)


class Meter:
    """Measures the work of this process since the last row of the log, and the time it took. Counts with `work_of` on
    the CPU, before a batch is sent to the device, and never waits for the device."""

    def __init__(self, work_of: Callable[[Any], FlopCount]) -> None:
        self.work_of = work_of
        self.peak: float | None = None
        """floating-point operations per second of the device, if they were measured"""
        self.start()

    def start(self) -> None:
        """Starts a row; the first batch is about to be fetched."""
        self.work = FlopCount(0, 0, 0.0)
        self.waited = 0.0
        """seconds of waiting for batches, during which a GPU may still have been busy with the previous one"""
        self._started = self._waiting_since = time.perf_counter()

    def count(self, batch: Any) -> None:
        """Ends the wait for a batch, and counts its work."""
        self.waited += time.perf_counter() - self._waiting_since
        self.work += self.work_of(batch)

    def start_waiting(self) -> None:
        """Starts the wait for the next batch, once the last one is processed."""
        self._waiting_since = time.perf_counter()

    def exclude(self, seconds: float) -> None:
        """Excludes time that was not spent on training."""
        self._started += seconds

    @property
    def seconds(self) -> float:
        return max(time.perf_counter() - self._started, 1e-9)


def matrix_flops_per_second(device: torch.device, dtype: torch.dtype) -> float:
    """Measures the speed of matrix products on the device: the best of several square sizes, each twice the last.

    Takes a few tenths of a second, and does not change the state of torch's random numbers.
    """
    size, best, is_last = _SMALLEST_MATRIX, 0.0, False
    while not is_last:
        seconds = _seconds_of_product(size, device, dtype)
        best = max(best, 2 * size**3 / seconds)
        size *= 2
        is_last = seconds > _SECONDS_OF_A_PRODUCT or size**2 * dtype.itemsize > _LARGEST_MATRIX_BYTES
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)  # the matrices take more memory than small networks
    return best


def _seconds_of_product(size: int, device: torch.device, dtype: torch.dtype) -> float:
    """Returns the fastest time of a product of random numbers; some devices are faster with constants."""
    generator = torch.Generator(device).manual_seed(0)
    left, right = (torch.randn(size, size, generator=generator, device=device).to(dtype) for _ in range(2))
    seconds = []
    for _ in range(1 + _PRODUCTS):
        _wait_for(device)
        start = time.perf_counter()
        torch.mm(left, right)
        _wait_for(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Returns the peak memory so far, in bytes: of tensors on a GPU, else of this process in main memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
