"""A worker's network that another process computes (`kanachan.play.inference_server`)."""

import math
from collections.abc import Sequence
from dataclasses import fields
from multiprocessing.connection import Client
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from kanachan.data.batch import Batch
from kanachan.models.kv_cache import IncrementalBatch
from kanachan.models.transformer import Network, Output
from kanachan.play.batch_shapes import Shape

_ENDED = "the process that computes the networks has ended (killed, out of memory?)"


class ServerAddress(NamedTuple):
    """The address at which a worker connects to a server."""

    path: str
    """path of the server's socket"""
    key: bytes
    """secret that authenticates both sides"""
    device: str
    """kind of the server's device"""
    free: float = math.inf
    """bytes of the device's memory that are free for caches and weights"""


class Opening(NamedTuple):
    """The first message of a worker, which describes the network that it needs."""

    weights: str
    num_events: int
    num_rows: int
    use_bf16: bool


Part = tuple[Shape, dict[str, Any]]
"""the shape of rows that a worker sends, and the fields of their `IncrementalBatch`"""


class RemoteNetwork(Network):
    """A network that a server computes; only its outputs are available. `weights`: file or name, as seen by the server.
    Raises OSError if the server has ended."""

    def __init__(self, server: ServerAddress, weights: str) -> None:
        nn.Module.__init__(self)
        self.device_type = server.device
        self._weights = weights
        self._outputs: list[Any] = []
        try:
            self._server = Client(server.path, authkey=server.key)
        except OSError:
            raise OSError(_ENDED) from None

    def with_cache(self, num_events: int, num_rows: int, *, use_bf16: bool) -> "RemoteNetwork":
        """Loads the network on the server, with a cache as in `CachedNetwork`, and returns `self`. Raises ValueError if
        the weights cannot be read."""
        self._send(Opening(self._weights, num_events, num_rows, use_bf16))
        self._receive()
        return self

    def reserve(self, num_slots: int) -> None:
        """Allocates a cache of `num_slots` slots; cached values are preserved. Raises ValueError if the device has too
        little memory."""
        self._send(num_slots)
        self._receive()

    def request(self, batches: Sequence[tuple[Shape, IncrementalBatch]]) -> None:
        """Sends batches; then `forward` must be called for each, padded or not, in the same order."""
        self._send([(shape, _arrays(batch)) for shape, batch in batches])

    def forward(self, batch: Batch, *, with_auxiliary: bool = False) -> Output:
        assert not with_auxiliary
        if not self._outputs:
            self._outputs = self._receive()
        candidate_BAK, summary_BK = map(torch.from_numpy, self._outputs.pop(0))
        padding = len(batch) - len(candidate_BAK)
        candidate_BAK = F.pad(candidate_BAK, (0, 0, 0, 0, 0, padding))
        return Output(candidate_BAK, F.pad(summary_BK, (0, 0, 0, padding)), batch.candidate_BA != 0)

    def _send(self, message: Any) -> None:
        try:
            self._server.send(message)
        except OSError:
            raise OSError(_ENDED) from None

    def _receive(self) -> Any:
        try:
            answer = self._server.recv()
        except (EOFError, OSError):
            raise OSError(_ENDED) from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def _arrays(batch: IncrementalBatch) -> dict[str, Any]:
    """Returns the fields of a batch, with tensors as arrays, since torch would send tensors through shared files."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()}


def batch_of_arrays(values: dict[str, Any]) -> IncrementalBatch:
    """Returns the batch whose fields were sent as arrays."""
    tensors = {name: torch.from_numpy(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    return IncrementalBatch(**{**values, **tensors})
