"""Back ends that do units of work: in this process, in several processes, or by Ray on one or many machines.

Results do not depend on the back end nor on the number of workers; only their order does.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, get_args

from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from kanachan.play.process_pool import ProcessPool
from kanachan.play.units import AHEAD, Report, Result, Result_co, Serve, Unit, print_line

BackendName = Literal["inline", "processes", "ray"]


class Backend(Protocol[Unit, Result_co]):
    """Workers that do units of work."""

    def results(self, units: Iterable[Unit], stop: StopRequest | None = None) -> Generator[tuple[Unit, Result_co]]:
        """Yields units and results as they come, until all units are done or a stop is requested.

        Units are read as they are needed. Those of a lost worker are done again by another. Close the generator, or
        the back end, if it is not read to its end.

        Raises:
            UnitError: workers were lost again and again that had the same unit.
            ValueError, OSError: those of the stream.
            RuntimeError: any other exception of the stream.
        """
        ...

    def close(self) -> None:
        """Ends all workers."""
        ...


def make_backend(
    name: BackendName,
    serves: Sequence[Serve[Unit, Result]],
    workers: int | None = None,
    address: str | None = None,
    *,
    ahead: int = AHEAD,
    report: Report = print_line,
) -> Backend[Unit, Result]:
    """Returns a back end; close it in the end (`contextlib.closing`).

    Args:
        serves: one runs in each worker, dealt out in turn.
        workers: None: one for each core, with an address one for each core of the cluster.
        address: of the Ray cluster to use (`HOST:PORT`, or `auto` on one of its machines); None: Ray is started on this
            machine.
        ahead: how many units a worker has at a time.
        report: receives a line for each lost worker.

    Raises:
        ValueError: Ray is not installed, or cannot be reached or started.
    """
    if address is not None and name != "ray":
        raise ValueError(f"--address {address}: the back end {name} has no address; ray has")
    if name == "ray":
        from kanachan.play.ray_backend import RayBackend
        from kanachan.play.ray_cluster import RayCluster

        return RayBackend(serves, RayCluster(workers, address), workers, ahead, report)
    if name == "processes":
        return ProcessPool(serves, num_cores() if workers is None else workers, ahead, report)
    assert name in get_args(BackendName)
    return Inline(serves[0])


@dataclass(frozen=True)
class Inline(Generic[Unit, Result]):
    """The back end without workers: units are done where their results are read."""

    serve: Serve[Unit, Result]

    def results(self, units: Iterable[Unit], stop: StopRequest | None = None) -> Generator[tuple[Unit, Result]]:
        """Yields units and results as they come, until all units are done or a stop is requested (`Backend`)."""
        yield from self.serve(iter(units), stop or StopRequest())

    def close(self) -> None:
        """Does nothing."""
