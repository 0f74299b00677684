"""Environment variables that make torch fast on a shared CPU. Each command that uses torch sets them first."""

import os

from annotate.runtime.resources import cpu_quota, num_cores

_SETTINGS = {
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin while waiting make training several times slower on a busy CPU
    "THP_MEM_ALLOC_ENABLE": "1",  # torch requests huge pages for large tensors: fewer page faults
}


def set_environment() -> None:
    """Sets the variables that the user has not set, for this process and its child processes.

    Must be called before torch is imported: OpenMP reads its variables when its library is loaded, and torch reads its
    variables at the first allocation. If a container limits processor time, also sets the number of threads, which
    torch would otherwise set to the number of cores.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if cpu_quota() is not None:
        os.environ.setdefault("OMP_NUM_THREADS", str(num_cores()))
