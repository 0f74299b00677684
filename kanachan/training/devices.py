"""The hardware of a run: CPU or GPUs, the precision, and the number of processes."""

import os
from dataclasses import dataclass

import torch
from lightning.fabric.utilities.rank_zero import _get_rank

from kanachan.config import RunConfig

_BF16_UNITS = ("amx_bf16", "avx512_bf16")
"""torch's names for them; a CPU without any is slower in bf16 than in fp32"""
_NO_STEP = 1 << 31
"""the least SLURM_STEP_ID of a process that srun has not started"""


@dataclass(frozen=True)
class World:
    """The number of processes."""

    devices: int
    """on each machine"""
    nodes: int

    @property
    def size(self) -> int:
        return self.devices * self.nodes


@dataclass(frozen=True)
class Devices:
    """Device, precision, attention backend and processes of a run, resolved for this machine."""

    is_gpu: bool
    use_bf16: bool
    """matrix products in bf16; weights are fp32 in any case"""
    use_varlen: bool
    """varlen attention over concatenated sequences (`kanachan.models.attention.VarlenAttention`)"""
    world: World

    @property
    def dtype(self) -> torch.dtype:
        """The type of matrix products."""
        return torch.bfloat16 if self.use_bf16 else torch.float32

    @property
    def of_this_process(self) -> torch.device:
        """The device that this process computes on, before the processes are connected."""
        return torch.device("cuda", _local_rank()) if self.is_gpu else torch.device("cpu")


def devices_of(run: RunConfig) -> Devices:
    """Resolves the settings for this machine.

    Raises ValueError if they require hardware that is missing, or contradict the launcher.
    """
    if run.accelerator == "gpu" and not torch.cuda.is_available():
        raise ValueError("--run.accelerator gpu: torch sees no GPU here")
    is_gpu = run.accelerator != "cpu" and torch.cuda.is_available()
    use_bf16 = run.precision == "bf16" or (run.precision == "auto" and _multiplies_bf16(is_gpu))
    has_kernel = is_gpu and use_bf16 and _multiplies_bf16(is_gpu)
    if run.attention == "packed" and is_gpu and not has_kernel:
        raise ValueError(
            "--run.attention packed: the GPU's kernels for it need --run.precision bf16, and units for it, which the "
            "first GPUs of NVIDIA to have them are of 2020 (Ampere)"
        )
    use_varlen = run.attention == "packed" or (run.attention == "auto" and has_kernel)
    return Devices(is_gpu, use_bf16, use_varlen, _world(run, is_gpu))


def _multiplies_bf16(is_gpu: bool) -> bool:
    """Returns whether the device has units for matrix products in bf16."""
    if is_gpu:
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in _BF16_UNITS)


def accumulation_dtype(device: torch.device) -> torch.dtype:
    """Returns the type for sums that must not lose small addends: fp64 where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def is_launched() -> bool:
    """Returns whether torchrun or Slurm has started the processes of the run."""
    return _started_processes() is not None


def this_rank() -> int:
    """Returns the rank of this process, before the processes are connected; 0 if there is only one."""
    return _get_rank() or 0


def _local_rank() -> int:
    """Returns the number of this process among those of its machine; Slurm may deal ranks out to machines in turns."""
    return int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0")))


def _world(run: RunConfig, is_gpu: bool) -> World:
    """Counts the processes that torchrun or Slurm has started, else those that this one will start."""
    started = _started_processes()
    if started is None:
        devices = run.devices or (torch.cuda.device_count() if is_gpu else 1)
        if is_gpu and devices > torch.cuda.device_count():
            raise ValueError(f"--run.devices {devices}: torch sees {torch.cuda.device_count()} GPUs here")
        return World(devices, run.nodes or 1)
    launcher, world = started
    for name, wanted, started_count in (("devices", run.devices, world.devices), ("nodes", run.nodes, world.nodes)):
        if wanted not in (None, started_count):
            raise ValueError(f"--run.{name} {wanted}: {launcher} has started {started_count}; leave it out")
    return world


def _started_processes() -> tuple[str, World] | None:
    environment = os.environ
    if "TORCHELASTIC_RUN_ID" in environment:
        local = int(environment["LOCAL_WORLD_SIZE"])
        return "torchrun", World(local, int(environment["WORLD_SIZE"]) // local)
    is_batch_job = environment.get("SLURM_JOB_NAME") not in ("bash", "interactive")
    # only tasks of srun count: a batch script also has a SLURM_PROCID, but no step, or one without a number
    if is_batch_job and "SLURM_PROCID" in environment and int(environment.get("SLURM_STEP_ID", _NO_STEP)) < _NO_STEP:
        nodes = int(environment.get("SLURM_NNODES", "1"))
        return "Slurm", World(int(environment["SLURM_NTASKS"]) // nodes, nodes)
    return None
