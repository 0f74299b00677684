"""Distribution of a run over processes: a single one, DDP, or DeepSpeed's ZeRO, on GPUs and, for tests, on CPUs.

Whatever the strategy, a checkpoint is one file with all weights and all optimiser states in full, so that a run can
be resumed with another number of processes and another strategy (with Muon: plain or DDP).
"""

import atexit
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

import lightning as L
import torch
from lightning.fabric.utilities.distributed import _destroy_dist_connection
from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy, Strategy
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from kanachan.config import RunConfig, TrainConfig
from kanachan.training.deepspeed import ZERO_STAGES, zero_strategy
from kanachan.training.devices import Devices

StrategyName = Literal["plain", "ddp", "zero1", "zero2", "zero3"]
BYTES_PER_PARAMETER = 16
"""weight, gradient and two states of AdamW, in fp32; Muon has one state"""
_SHARE_FOR_PARAMETERS = 0.6  # of the memory of a device; the rest is for activations and for the communication
_TIMEOUT = timedelta(minutes=10)  # after which a process that waits for the others ends the run
_PREFIX = "network."  # prefix of the names of the network's tensors in the state of a module


def chosen_strategy(run: RunConfig, devices: Devices, num_parameters: int) -> tuple[StrategyName, str]:
    """Resolves `run.strategy` for these devices; returns the strategy and the reason for it. Raises ValueError if
    the strategy is for one process and there are several."""
    world = devices.world
    if run.strategy == "plain" and world.size > 1:
        raise ValueError(f"--run.strategy plain: it is for one process, and there are {world.size}")
    if run.strategy != "auto":
        return run.strategy, "as set"
    if world.size == 1:
        return "plain", "one process"
    main_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    memory = torch.cuda.get_device_properties(0).total_memory if devices.is_gpu else main_memory // world.devices
    room = _SHARE_FOR_PARAMETERS * memory
    whole = BYTES_PER_PARAMETER * num_parameters
    sizes = f"{whole / 1e9:.1f} GB of weights, gradients and states, {memory / 1e9:.0f} GB for a process"
    if whole <= room:
        return "ddp", f"it fits: {sizes}"
    if num_parameters * (4 + 16 / world.size) <= room:  # 16: DeepSpeed copies its share of the weights
        return "zero2", f"gradients and states must be sharded: {sizes}"
    return "zero3", f"weights must be sharded too: {sizes}"


class _DDP(DDPStrategy):
    """Makes DDP on the stream of the training. Lightning makes it on another stream, for CUDA graphs; gradients are
    then summed there, and each stream waits for the other (Lightning #21567)."""

    def _setup_model(self, model: nn.Module) -> DistributedDataParallel:
        return DistributedDataParallel(model, device_ids=self.determine_ddp_device_ids(), **self._ddp_kwargs)


def make_strategy(name: StrategyName, run: RunConfig, devices: Devices, micro_batch: int) -> Strategy:
    """Makes the strategy for Lightning's trainer. Raises ValueError if `run.deepspeed` does not fit the strategy."""
    is_gpu = devices.is_gpu
    if run.deepspeed is not None and name not in ZERO_STAGES:
        raise ValueError(f"--run.deepspeed is for --run.strategy zero1, zero2 or zero3, not for {name}")
    if name == "plain":
        return SingleDeviceStrategy(device=torch.device("cuda", 0) if is_gpu else torch.device("cpu"))
    if name == "ddp":
        return _DDP(
            process_group_backend="nccl" if is_gpu else "gloo",
            gradient_as_bucket_view=True,
            forward_sync_buffers=False,  # would be sent with every batch; ours are constants
            timeout=_TIMEOUT,
        )
    return zero_strategy(ZERO_STAGES[name], run, devices, micro_batch, _TIMEOUT)


def strategy_of(config: TrainConfig, devices: Devices, num_parameters: int) -> tuple[str, Strategy, str]:
    """Makes the strategy of a run; returns its name, the strategy, and a summary of strategy and devices. Raises
    ValueError if other settings of the run do not fit the strategy."""
    name, reason = chosen_strategy(config.run, devices, num_parameters)
    if config.run.compile and name == "zero3":
        raise ValueError(f"run.compile does not work with zero3 ({reason}), which shards the weights: use zero2")
    if config.optim.average and name == "zero3":
        raise ValueError("optim.average needs whole weights in every process, and zero3 shards them: use zero2")
    if config.optim.optimizer != "adamw" and name in ZERO_STAGES:
        raise ValueError(
            f"optim.optimizer {config.optim.optimizer} does not work with {name} ({reason}), which shards AdamW's "
            "states: use --run.strategy ddp, or start a run with --optim.optimizer adamw"
        )
    strategy = make_strategy(name, config.run, devices, config.data.sizes[1])
    attention = "packed" if devices.use_varlen else "padded"
    world = devices.world
    summary = f"{world.size} x {'GPU' if devices.is_gpu else 'CPU'}"
    summary += f" on {world.nodes} machines" if world.nodes > 1 else ""
    return name, strategy, f"{summary}, {name} ({reason}), {config.run.precision}, {attention}"


def is_lost_process(error: RuntimeError) -> bool:
    """Returns whether the error means that another process is gone; gloo has no class for it."""
    signs = ("Connection closed by peer", "Connection reset by peer", "Timed out waiting", "Broken pipe")
    return isinstance(error, torch.distributed.DistError) or any(sign in str(error) for sign in signs)


def leave_processes() -> None:
    """Lets this process end although the others continue. With NCCL, Lightning would make this process wait for the
    others at exit while they wait for it, and no process would end."""
    atexit.unregister(_destroy_dist_connection)


def network_tensors(trainer: L.Trainer) -> dict[str, Tensor]:
    """Returns the tensors of the network by their names in a weights file, on rank 0 at least. Every rank must call
    it."""
    return tensors_of_network(trainer.strategy.lightning_module_state_dict())


def tensors_of_network(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns the tensors of the network in the state of a `LoggedModule`, by their names in a weights file."""
    return {name.removeprefix(_PREFIX): tensor for name, tensor in state.items() if name.startswith(_PREFIX)}


def with_network_prefix(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns tensors of the network by their names in the state of a `LoggedModule`."""
    return {f"{_PREFIX}{name}": tensor for name, tensor in tensors.items()}
