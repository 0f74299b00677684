"""The hardware of a run: CPU or GPUs, the precision, and the number of processes."""

from dataclasses import dataclass

import torch

from kanachan.config import RunConfig
from kanachan.models.device import require_no_gpu
from kanachan.training.processes import World, gpu_of_this_process, world_of

_BF16_UNITS = ("amx_bf16", "avx512_bf16")
"""torch's names for bf16 units; a CPU without any of them is slower in bf16 than in fp32"""


@dataclass(frozen=True)
class Devices:
    """Device, precision, attention backend and processes of a run, resolved for this machine."""

    is_gpu: bool
    use_bf16: bool
    """matrix products in bf16; weights are fp32 in any case"""
    use_varlen: bool
    """concatenated sequences, for `kanachan.models.attention.VarlenAttention`"""
    world: World

    @property
    def dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.use_bf16 else torch.float32

    @property
    def of_this_process(self) -> torch.device:
        """Device of this process; available before the processes are connected."""
        if not self.is_gpu:
            return torch.device("cpu")
        return torch.device("cuda", gpu_of_this_process(torch.cuda.device_count()))


def devices_of(run: RunConfig) -> Devices:
    """Resolves the settings for this machine.

    Raises ValueError if they require hardware that is missing, or contradict the launcher.
    """
    is_gpu = run.accelerator != "cpu" and torch.cuda.is_available()
    if not is_gpu and run.accelerator != "cpu":
        setting = "--run.accelerator gpu" if run.accelerator == "gpu" else None
        require_no_gpu("--run.accelerator cpu trains on CPUs", setting)
    use_bf16 = run.precision == "bf16" or (run.precision == "auto" and multiplies_bf16(is_gpu))
    has_kernel = is_gpu and use_bf16 and multiplies_bf16(is_gpu)
    if run.attention == "packed" and is_gpu and not has_kernel:
        raise ValueError(
            "--run.attention packed: the GPU's kernels for it need --run.precision bf16 and a GPU with bf16 units, "
            "which NVIDIA's GPUs have since 2020 (Ampere)"
        )
    use_varlen = run.attention == "packed" or (run.attention == "auto" and has_kernel)
    return Devices(is_gpu, use_bf16, use_varlen, world_of(run, torch.cuda.device_count() if is_gpu else None))


def multiplies_bf16(is_gpu: bool) -> bool:
    """Returns whether the device has units for matrix products in bf16."""
    if is_gpu:
        return torch.cuda.is_bf16_supported(including_emulation=False)
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in _BF16_UNITS)
