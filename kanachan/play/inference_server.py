"""Processes that compute networks for the workers of a machine, one per GPU.

Workers send rows in one of a few shapes (`kanachan.play.batch_shapes`). The server merges the rows of all workers for
the same network and shape into one forward pass, as soon as they fill it or the first row has waited a millisecond. A
pass always has the number of rows of its shape, some of which may be padding. Therefore outputs do not depend on the
merging: they are bitwise identical to the outputs of a worker's own network on the same device.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError, Pipe
from multiprocessing.connection import Connection, Listener
from queue import Empty, SimpleQueue
from secrets import token_bytes
from threading import Thread
from typing import Any, NamedTuple

import torch
from torch import Tensor

from annotate.runtime.process_pool import end_processes, portable, start_process
from kanachan.inference.policy import Policy
from kanachan.models.device import chosen_device
from kanachan.models.kv_cache import CachedNetwork, IncrementalBatch, free_bytes
from kanachan.play.batch_shapes import Shape, filled
from kanachan.play.remote_network import Opening, Part, ServerAddress, batch_of_arrays

_MERGE_SECONDS = 0.001
"""how long rows wait for rows of other workers"""


def devices_of_servers(name: str, num_workers: int) -> list[str]:
    """Returns the device of each server; for a value of --device without a GPU's number, all GPUs of this machine."""
    num_gpus = torch.cuda.device_count() if name in ("auto", "cuda") else 0
    return [f"cuda:{number}" for number in range(min(num_gpus, num_workers))] or [name]


@contextmanager
def inference_servers(devices: Sequence[str]) -> Iterator[list[ServerAddress]]:
    """Starts a server on each device, yields the addresses as soon as workers can connect, and ends the servers.
    Raises ValueError if a device does not exist, and OSError if a server cannot be started."""
    with ExitStack() as held:
        folder, key = held.enter_context(tempfile.TemporaryDirectory(prefix="kanachan-")), token_bytes(32)
        starting = []
        for number, device in enumerate(devices):
            ready, theirs = Pipe()
            path = f"{folder}/networks-{number}"
            held.callback(end_processes, [start_process(_serve, theirs, path, key, device)])
            theirs.close()
            starting.append((path, ready))
        yield [_address(path, key, ready) for path, ready in starting]


def _address(path: str, key: bytes, ready: Connection) -> ServerAddress:
    try:
        found: tuple[str, float] | ValueError = ready.recv()
    except EOFError:
        raise OSError("the process that computes the networks has ended at startup") from None
    if isinstance(found, ValueError):
        raise found
    return ServerAddress(path, key, *found)


def _serve(ready: Connection, path: str, key: bytes, device: str) -> None:
    """Runs a server in this process until the process is ended."""
    try:
        networks = SharedNetworks(chosen_device(device, is_exact=True))
    except ValueError as error:
        ready.send(error)
        return
    with Listener(path, family="AF_UNIX", authkey=key) as listener:
        Thread(target=accept_workers, args=(listener, networks), daemon=True).start()
        ready.send((networks.device.type, free_bytes(networks.device)))
        ready.close()
        networks.compute()


def accept_workers(listener: Listener, networks: "SharedNetworks") -> None:
    """Receives the messages of all workers that connect, with one thread per worker."""
    while True:
        with suppress(AuthenticationError, EOFError, ConnectionError):  # from a worker that has been killed
            Thread(target=networks.receive, args=(listener.accept(),), daemon=True).start()


@dataclass(eq=False)
class _Loaded:
    """A network, and the slots of its cache that belong to no worker."""

    network: CachedNetwork
    num_slots: int = 1
    """includes slot 0, which is for padding"""
    free: list[int] = field(default_factory=list)

    def take_slots(self, num: int) -> list[int]:
        """Returns free slots; enlarges the cache if there are too few."""
        missing = num - len(self.free)
        if missing > 0:
            self.network.reserve(self.num_slots + missing)
            self.free += range(self.num_slots, self.num_slots + missing)
            self.num_slots += missing
        taken, self.free = self.free[:num], self.free[num:]
        return taken


@dataclass(eq=False)
class _Worker:
    """A connection to a worker, which has one network."""

    connection: Connection
    loaded: _Loaded | None = None
    slots: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.int64))
    """slots of the shared cache, indexed by the worker's own slots"""

    def send(self, answer: Any) -> None:
        with suppress(OSError):  # the worker has ended; its thread notices this
            self.connection.send(answer)


@dataclass(eq=False)
class _Request:
    """Parts that a worker has sent together; it receives their outputs together too."""

    worker: _Worker
    outputs: list[Any]
    """outputs of the parts; None: not computed yet"""


class _WaitingPart(NamedTuple):
    """A part of a request, and its place in the request."""

    request: _Request
    place: int
    batch: IncrementalBatch
    since: float


class SharedNetworks:
    """The networks on a device, and the workers' messages, which one thread handles (`compute`)."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._inbox: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._loaded: dict[Opening, _Loaded] = {}
        self._waiting: dict[tuple[_Loaded, Shape], list[_WaitingPart]] = {}
        """waiting parts by network and shape, oldest first; no list is empty"""

    def receive(self, connection: Connection) -> None:
        """Receives the messages of a worker until the worker ends."""
        worker = _Worker(connection)
        with connection, suppress(EOFError, OSError):
            while True:
                self._inbox.put((worker, connection.recv()))
        self._inbox.put((worker, None))

    @torch.inference_mode()
    def compute(self) -> None:
        """Answers the messages of all workers; never returns."""
        torch.set_num_threads(1)  # rounding can depend on it
        while True:
            try:
                worker, message = self._inbox.get(timeout=self._seconds_until_pass())
            except Empty:
                self._pass()
                continue
            try:
                self._handle(worker, message)
            except Exception as error:
                worker.send(portable(error))

    def _handle(self, worker: _Worker, message: Opening | int | list[Part] | None) -> None:
        if isinstance(message, Opening):
            worker.loaded = self._network(message)
            worker.send(None)
            return
        loaded = worker.loaded
        if message is None:
            self._forget(worker)
        elif isinstance(message, int):
            assert loaded is not None
            new = loaded.take_slots(message - len(worker.slots))
            worker.slots = torch.cat((worker.slots, torch.tensor(new, dtype=torch.int64)))
            worker.send(None)
        else:
            assert loaded is not None
            request, now = _Request(worker, [None] * len(message)), time.monotonic()
            for place, (shape, arrays) in enumerate(message):
                batch = batch_of_arrays(arrays)
                batch.slot_B = worker.slots[batch.slot_B]
                waiting = self._waiting.setdefault((loaded, shape), [])
                waiting.append(_WaitingPart(request, place, batch, now))

    def _forget(self, worker: _Worker) -> None:
        """Removes the waiting parts of a worker that has ended, and then frees its slots."""
        for key, parts in list(self._waiting.items()):
            parts[:] = [part for part in parts if part.request.worker is not worker]
            if not parts:
                del self._waiting[key]
        if worker.loaded is not None:
            worker.loaded.free += worker.slots[1:].tolist()

    def _network(self, opening: Opening) -> _Loaded:
        if opening not in self._loaded:
            network = Policy.load(opening.weights, self.device).network
            cached = CachedNetwork(network, opening.num_events, opening.num_rows, use_bf16=opening.use_bf16)
            self._loaded[opening] = _Loaded(cached.eval())
        return self._loaded[opening]

    def _seconds_until_pass(self) -> float | None:
        """Returns how long to wait for more messages before the next pass; None: until a message arrives."""
        if not self._waiting:
            return None
        if any(_num_rows(parts) >= shape.rows for (_, shape), parts in self._waiting.items()):
            return 0.0
        first = min(parts[0].since for parts in self._waiting.values())
        return max(0.0, first + _MERGE_SECONDS - time.monotonic())

    def _pass(self) -> None:
        """Computes a pass for one network and shape: parts that fill it, otherwise the longest waiting parts."""

        def key(entry: tuple[tuple[_Loaded, Shape], list[_WaitingPart]]) -> tuple[bool, float]:
            (_, shape), parts = entry
            return _num_rows(parts) < shape.rows, parts[0].since

        (loaded, shape), parts = min(self._waiting.items(), key=key)
        num_merged, num_rows = 0, 0
        while num_merged < len(parts) and num_rows + len(parts[num_merged].batch) <= shape.rows:
            num_rows += len(parts[num_merged].batch)
            num_merged += 1
        merged = parts[:num_merged]
        del parts[:num_merged]
        if not parts:
            del self._waiting[loaded, shape]
        try:
            output = loaded.network(filled([part.batch for part in merged], shape.rows).to(self.device))
            arrays = output.candidate_BAK.cpu().numpy(), output.summary_BK.cpu().numpy()
        except Exception as error:
            for part in merged:
                part.request.worker.send(portable(error))
            return
        first = 0
        for part in merged:
            request, last = part.request, first + len(part.batch)
            request.outputs[part.place] = tuple(array[first:last] for array in arrays)
            if all(output is not None for output in request.outputs):
                request.worker.send(request.outputs)
            first = last


def _num_rows(parts: Sequence[_WaitingPart]) -> int:
    return sum(len(part.batch) for part in parts)
