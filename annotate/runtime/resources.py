"""Processors and memory that this process may use."""

import math
import os
from contextlib import suppress
from pathlib import Path


def num_cores() -> int:
    """Returns the number of cores that this process may use, which taskset, Slurm or a container may limit."""
    # macOS does not bind processes to cores
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, cpu_quota() or cores)


def cpu_quota(file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int | None:
    """Returns the number of cores whose time the container may use, rounded up; None without a limit."""
    try:
        quota, period = file.read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else math.ceil(int(quota) / int(period))


def free_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Returns the number of free bytes of main memory, which a container may limit."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # without such a file, all memory counts as free
        free = 1024 * _number_of(Path("/proc/meminfo"), "MemAvailable:")
    with suppress(OSError, ValueError):  # "max": there is no limit
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, limit - used + _number_of(cgroup / "memory.stat", "inactive_file"))
    return free


def _number_of(file: Path, name: str) -> int:
    """Reads the number that follows a name in a file of the system. Raises ValueError if the name is not in it."""
    numbers = [line.split()[1] for line in file.read_text().splitlines() if line.startswith(name)]
    return int(numbers[0] if numbers else "")
