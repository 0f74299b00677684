"""Back ends that do units of work: in this process, in several processes, or by Ray on one or many machines.

Results do not depend on the back end nor on the number of workers; only their order does.
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, Literal, Protocol, TypeVar, get_args

from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from kanachan.play.process_pool import ProcessPool
from kanachan.play.units import Report, Result, Setup, Unit, Worker, print_line

Result_co = TypeVar("Result_co", covariant=True)
BackendName = Literal["inline", "processes", "ray"]


class Backend(Protocol[Unit, Result_co]):
    """Workers that do units of work."""

    def results(self, units: Iterable[Unit], stop: StopRequest | None = None) -> Generator[tuple[Unit, Result_co]]:
        """Yields units and results as they come, until all units are done or a stop is requested.

        Units are read as they are needed, a few for each worker ahead of its results. Those of a lost worker are done
        again by another. Close the generator, or the back end, if it is not read to its end.

        Raises:
            UnitError: a unit has failed, or a worker that had it was lost, again and again.
            ValueError, OSError: raised by the setup of a worker.
        """
        ...

    def close(self) -> None:
        """Ends all workers."""
        ...


def make_backend(
    name: BackendName,
    setup: Setup[Unit, Result],
    workers: int | None = None,
    address: str | None = None,
    report: Report = print_line,
) -> Backend[Unit, Result]:
    """Returns a back end; close it in the end (`contextlib.closing`).

    Args:
        setup: runs once in each worker, and returns the function that does a unit; picklable, as are units and results.
        workers: None: one for each core, with an address one for each core of the cluster.
        address: of the Ray cluster to use (`HOST:PORT`, or `auto` on one of its machines); None: Ray is started on this
            machine.
        report: receives a line for each lost worker.

    Raises:
        ValueError: Ray is not installed, or cannot be reached or started.
    """
    if name not in get_args(BackendName):
        raise ValueError(f"back end {name}: one of {', '.join(get_args(BackendName))} is expected")
    if address is not None and name != "ray":
        raise ValueError(f"address {address}: only the back end ray has an address, not {name}")
    if name == "ray":
        from kanachan.play.ray_backend import RayBackend
        from kanachan.play.ray_cluster import RayCluster

        return RayBackend(setup, workers, RayCluster(workers, address), report)
    if name == "processes":
        return ProcessPool(InTurn(setup), num_cores() if workers is None else workers, report=report)
    return Inline(setup)


@dataclass(frozen=True)
class InTurn(Generic[Unit, Result]):
    """Does units one after the other; the setup runs first."""

    setup: Setup[Unit, Result]

    def __call__(self, units: Iterator[Unit]) -> Iterator[tuple[Unit, Result]]:
        do = Worker[Unit, Result](self.setup)
        for unit in units:
            yield unit, do(unit)


@dataclass(frozen=True)
class Inline(Generic[Unit, Result]):
    """The back end without workers: units are done where their results are read."""

    setup: Setup[Unit, Result]

    def results(self, units: Iterable[Unit], stop: StopRequest | None = None) -> Generator[tuple[Unit, Result]]:
        yield from InTurn(self.setup)(takewhile(lambda _: stop is None or stop.received is None, units))

    def close(self) -> None:
        pass
