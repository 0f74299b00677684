"""One process that computes networks for all workers of a machine, as where they share a GPU.

A worker has everything but the networks: it decides which requests form a batch, and which events of a seat are cached.
It sends batches, each of which is computed by itself, and has a cache of its own here. So its outputs are the same, to
the last bit, as those of a network of its own on the same device.
"""

import signal
import tempfile
import traceback
from contextlib import suppress
from dataclasses import fields
from multiprocessing import AuthenticationError, get_context
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from secrets import token_bytes
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from annotate.runtime.workers import end_with_parent
from kanachan.data.batch import Batch
from kanachan.inference.policy import Policy, chosen_device
from kanachan.models.kv_cache import CachedNetwork, IncrementalBatch
from kanachan.models.transformer import Network, Output
from kanachan.play.process_pool import leave, start_process

_END_SECONDS = 10.0


class ServerAddress(NamedTuple):
    """Where a worker finds the server."""

    path: str
    """of its socket"""
    key: bytes
    """that both sides prove to know"""
    device: str
    """the kind of device that computes"""


class InferenceServer:
    """The process with the networks; close it in the end.

    Raises:
        ValueError: the device does not exist.
        OSError: it cannot be started.
    """

    def __init__(self, device: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kanachan-")
        path, key = str(Path(self._folder.name) / "networks"), token_bytes(32)
        ours, theirs = get_context("spawn").Pipe()
        self._process = start_process(_serve, theirs, path, key, device)
        theirs.close()
        try:
            kind: str | ValueError = ours.recv()
        except EOFError:
            self.close()
            raise OSError("the process that computes the networks has ended at its start") from None
        if isinstance(kind, ValueError):
            self.close()
            raise kind
        self.address = ServerAddress(path, key, kind)

    def close(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._folder.cleanup()


class RemoteNetwork(Network):
    """A network that the server computes: outputs only.

    Args:
        weights: file or name, as the server finds it.

    Raises:
        OSError: the server has ended.
    """

    def __init__(self, server: ServerAddress, weights: str) -> None:
        nn.Module.__init__(self)
        self.device_type = server.device
        self._weights = weights
        try:
            self._server = Client(server.path, authkey=server.key)
        except OSError:
            raise OSError(_ENDED) from None

    def with_cache(self, num_events: int, num_rows: int, *, use_bf16: bool) -> "RemoteNetwork":
        """Loads the network, with a cache as of `CachedNetwork`, and returns this one.

        Raises:
            ValueError: the weights cannot be read.
        """
        self._answer_to(_Opening(self._weights, num_events, num_rows, use_bf16))
        return self

    def reserve(self, num_slots: int) -> None:
        """Allocates the cache of `num_slots` slots; cached values are preserved."""
        self._answer_to(num_slots)

    def forward(self, batch: Batch) -> Output:
        assert isinstance(batch, IncrementalBatch)
        candidate_BAK, summary_BK = map(torch.from_numpy, self._answer_to(_sent(batch)))
        return Output(candidate_BAK, summary_BK, batch.candidate_BA != 0)

    def _answer_to(self, message: Any) -> Any:
        try:
            self._server.send(message)
            answer = self._server.recv()
        except (EOFError, OSError):
            raise OSError(_ENDED) from None
        if isinstance(answer, Exception):
            raise answer
        return answer


_ENDED = "the process that computes the networks has ended (killed, out of memory?)"


class _Opening(NamedTuple):
    """The first message of a worker: the network that it needs."""

    weights: str
    num_events: int
    num_rows: int
    use_bf16: bool


def _sent(batch: IncrementalBatch) -> dict[str, Any]:
    """Returns the fields of a batch, tensors as arrays: torch would send them by files that both sides open."""
    values = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()}


def _received(values: dict[str, Any]) -> IncrementalBatch:
    tensors = {name: torch.from_numpy(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    return IncrementalBatch(**{**values, **tensors})


def _serve(ready: Connection, path: str, key: bytes, device: str) -> None:
    """Runs the server, in its process, until that is ended."""
    signal.signal(signal.SIGTERM, leave)
    end_with_parent()
    try:
        networks = _Networks(chosen_device(device))
    except ValueError as error:
        ready.send(error)
        return
    with Listener(path, family="AF_UNIX", authkey=key) as listener:
        ready.send(networks.device.type)
        ready.close()
        while True:
            with suppress(AuthenticationError, EOFError, ConnectionError):  # of a worker that was killed meanwhile
                Thread(target=networks.serve, args=(listener.accept(),), daemon=True).start()


class _Networks:
    """The networks, each of which is there once, and the workers' threads, of which one computes at a time."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._loaded: dict[_Opening, CachedNetwork] = {}
        self._lock = Lock()

    @torch.inference_mode()
    def serve(self, worker: Connection) -> None:
        """Computes for a worker until it ends."""
        torch.set_num_threads(1)  # of this thread; rounding can depend on it
        with worker, suppress(EOFError, ConnectionError):
            try:
                network = self._opened(worker.recv())
                worker.send(None)
                while True:
                    worker.send(self._answer(network, worker.recv()))
            except (EOFError, ConnectionError):
                raise
            except (ValueError, OSError) as error:
                worker.send(ValueError(str(error)))
            except Exception as error:
                worker.send(RuntimeError("".join(traceback.format_exception(error))))

    def _opened(self, opening: _Opening) -> CachedNetwork:
        with self._lock:
            if opening not in self._loaded:
                network = Policy.load(opening.weights, self.device).network
                sizes = opening.num_events, opening.num_rows
                self._loaded[opening] = CachedNetwork(network, *sizes, use_bf16=opening.use_bf16).eval()
            return self._loaded[opening].with_own_cache()

    def _answer(self, network: CachedNetwork, message: int | dict[str, Any]) -> Any:
        with self._lock:
            if isinstance(message, int):
                return network.reserve(message)
            output = network(_received(message).to(self.device))
            return output.candidate_BAK.cpu().numpy(), output.summary_BK.cpu().numpy()
