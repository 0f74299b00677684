"""Selects the device of an option or a setting, and configures how GPUs compute."""

import os
from pathlib import Path

import torch


def set_up_kernels(*, is_exact: bool) -> None:
    """Configures how GPUs compute in this process.

    cuDNN's attention is turned off: it makes a plan for every new shape, and its gradients are NaN if the mask of a row
    hides much (pytorch #196678).

    Args:
        is_exact: fp32 matrices are multiplied in fp32; otherwise in TF32, with a 10-bit mantissa, on devices that
            support it.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
    # the older of torch's two interfaces: Lightning reads it, and torch refuses to mix them
    torch.set_float32_matmul_precision("highest" if is_exact else "high")


def chosen_device(name: str, *, is_exact: bool = False, option: str = "--device") -> torch.device:
    """Returns the device of an option or setting, and configures it (`set_up_kernels`; CPUs are always exact). "auto"
    is a GPU if torch sees one, else the CPU.

    Raises ValueError if the device does not exist, or if "auto" expects a GPU that torch does not see.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
        if name == "cpu":
            require_no_gpu(f"{option} cpu computes on CPUs")
    try:
        device = torch.device(name)
        if device.type != "cuda":  # a tensor takes GPU memory, which only the process that computes there may
            torch.zeros(1, device=device).item()
    except RuntimeError as error:
        raise ValueError(f"{option} {name}: {str(error).splitlines()[0].partition('. ')[0]}") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"{option} {name}: torch sees {torch.cuda.device_count()} GPUs here")
    set_up_kernels(is_exact=is_exact or device.type != "cuda")
    return device


def require_no_gpu(advice: str, setting: str | None = None) -> None:
    """Raises ValueError, with torch's reason and `advice`, if a GPU is expected (from a setting, from a Slurm job or
    because the machine has one) but torch sees none."""
    meant = setting
    if meant is None and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1"):  # otherwise hidden on purpose
        of_job = [
            name
            for name, value in sorted(os.environ.items())
            if name.startswith("SLURM_") and "GPUS" in name and value not in ("", "0")
        ]
        meant = next(iter([*of_job, *map(str, sorted(Path("/dev").glob("nvidia[0-9]*")))]), None)
    if meant is None:
        return
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
    else:
        reason = "none is visible"
    raise ValueError(f"{meant}: a GPU is expected, and torch sees none here ({reason.rstrip('.')}); {advice}")
