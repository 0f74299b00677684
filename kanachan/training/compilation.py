"""torch.compile for the network of a run."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import torch.fx.experimental._config

from kanachan.config import RunConfig
from kanachan.models.transformer import Network


def require_compiler(run: RunConfig, *, is_gpu: bool) -> None:
    """Raises ValueError if `run.compile` is set and the compiler or the headers of Python are missing."""
    if not run.compile:
        return
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        raise ValueError(
            f"run.compile needs a C++ compiler, and {compiler} was not found: install one, name yours in the "
            "environment variable CXX, or leave run.compile off"
        )
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not is_gpu and not header.is_file():  # on a GPU, the launcher of compiled code may be in a cache
        raise ValueError(
            f"run.compile needs the headers of Python, and {header} does not exist: install them (on Debian and "
            "Ubuntu, python3-dev), or leave run.compile off"
        )


def compile_network(network: Network, *, is_gpu: bool, backend: str = "inductor") -> None:
    """Sets the network to be compiled at its first use, in training and in validation, for batches of all shapes. On a
    CPU it is compiled as a whole, which is quicker there; on a GPU by blocks, where blocks of one kind share compiled
    code. `backend`: backend of torch.compile."""
    # otherwise lengths that are equal in the first batch are assumed to be always equal, which causes recompilation
    torch.fx.experimental._config.use_duck_shape = False
    torch._dynamo.config.optimize_ddp = False  # would split blocks, which are already compiled one by one
    for each in (*network.encoder.blocks, *network.decoder.blocks) if is_gpu else (network,):
        each.compile(dynamic=True, backend=backend)
