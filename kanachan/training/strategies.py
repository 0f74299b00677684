"""How a run is spread over processes: one alone, DDP, or DeepSpeed's ZeRO, on GPUs and, for tests, on CPUs.

Whatever the strategy, a checkpoint is the same single file with all weights and all states of the optimiser in full, so
that a run can go on with another number of processes and under another strategy (with Muon: plain or DDP).
"""

import json
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import lightning as L
import torch
import torch.nn.functional as F
from lightning.fabric.utilities.seed import reset_seed
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy, SingleDeviceStrategy, Strategy
from torch import Tensor, nn

from kanachan.config import RunConfig
from kanachan.training.devices import Devices
from kanachan.training.optimizers import ADAM_STATES

StrategyName = Literal["plain", "ddp", "zero1", "zero2", "zero3"]
ZERO_STAGES: dict[str, int] = {"zero1": 1, "zero2": 2, "zero3": 3}
BYTES_PER_PARAMETER = 16
"""weight, gradient and two states of AdamW, in fp32; Muon has one"""
_SHARE_FOR_PARAMETERS = 0.6  # of the memory of a device; the rest is for activations and for the communication
_TIMEOUT = timedelta(minutes=10)
_OURS = {
    "optimizer": "optim.*",
    "scheduler": "optim.*",
    "bf16": "run.precision",
    "fp16": "run.precision",
    "torch_autocast": "run.precision",
    "gradient_clipping": "optim.clip",
    "train_batch_size": "data.batch",
    "train_micro_batch_size_per_gpu": "data.micro_batch",
    "gradient_accumulation_steps": "data.batch and data.micro_batch",
}
"""keys of a DeepSpeed configuration that are settings of the run"""


def chosen_strategy(run: RunConfig, devices: Devices, num_parameters: int) -> tuple[StrategyName, str]:
    """What `run.strategy` means here, and why.

    Raises:
        ValueError: several processes were asked for, and a strategy for one.
    """
    world = devices.world
    if run.strategy == "plain" and world.size > 1:
        raise ValueError(f"--run.strategy plain: it is for one process, and there are {world.size}")
    if run.strategy != "auto":
        return run.strategy, "as asked for"
    if world.size == 1:
        return "plain", "one process"
    memory = torch.cuda.get_device_properties(0).total_memory if devices.is_gpu else _main_memory() // world.devices
    room = _SHARE_FOR_PARAMETERS * memory
    whole = BYTES_PER_PARAMETER * num_parameters
    sizes = f"{whole / 1e9:.1f} GB of weights, gradients and states, {memory / 1e9:.0f} GB for a process"
    if whole <= room:
        return "ddp", f"it fits: {sizes}"
    if num_parameters * (4 + 16 / world.size) <= room:  # 16: DeepSpeed copies its share of the weights
        return "zero2", f"gradients and states must be shared out: {sizes}"
    return "zero3", f"weights must be shared out too: {sizes}"


def _main_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def make_strategy(name: StrategyName, run: RunConfig, devices: Devices, micro_batch: int) -> Strategy:
    """The strategy for Lightning's trainer.

    Raises:
        ValueError: `run.deepspeed` does not fit.
    """
    is_gpu = devices.is_gpu
    if run.deepspeed is not None and name not in ZERO_STAGES:
        raise ValueError(f"--run.deepspeed is for --run.strategy zero1, zero2 or zero3, not for {name}")
    if name == "plain":
        return SingleDeviceStrategy(device=torch.device("cuda", 0) if is_gpu else torch.device("cpu"))
    if name == "ddp":
        return DDPStrategy(
            process_group_backend="nccl" if is_gpu else "gloo", gradient_as_bucket_view=True, timeout=_TIMEOUT
        )
    config: dict[str, Any] = {
        "zero_optimization": {
            "stage": ZERO_STAGES[name],
            "contiguous_gradients": True,
            "overlap_comm": is_gpu,
            "reduce_bucket_size": 50_000_000,  # a tenth of its own, which takes 8 GB whatever the size of the network
        },
        "zero_allow_untested_optimizer": True,
        "train_micro_batch_size_per_gpu": micro_batch,
        "steps_per_print": 2**31,  # no lines of its own
    }
    if devices.use_bf16:
        # weights stay in fp32, as without DeepSpeed: in bf16 a score of 25,300 points would be read as 25,344
        config["torch_autocast"] = {"enabled": True, "dtype": "bfloat16"}
    if run.deepspeed is not None:
        config = _merged(config, _deepspeed_file(Path(run.deepspeed), ZERO_STAGES[name]))
    if not is_gpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    return ZeroStrategy(config=config, timeout=_TIMEOUT)


def precision_for(strategy: Strategy, devices: Devices) -> Literal["32-true", "bf16-mixed"]:
    """Lightning's name of the precision; DeepSpeed does the mixing itself."""
    return "bf16-mixed" if devices.use_bf16 and not isinstance(strategy, ZeroStrategy) else "32-true"


def _deepspeed_file(path: Path, stage: int) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--run.deepspeed {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"--run.deepspeed {path}: no JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"--run.deepspeed {path}: a JSON object is expected")
    for key, setting in _OURS.items():
        if key in config:
            raise ValueError(f"--run.deepspeed {path}: leave out {key}: it is set by {setting}")
    if config.get("zero_optimization", {}).get("stage", stage) != stage:
        raise ValueError(
            f"--run.deepspeed {path}: zero_optimization.stage is {config['zero_optimization']['stage']}, and "
            f"--run.strategy says zero{stage}"
        )
    return config


def _merged(config: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(config)
    for key, value in over.items():
        is_section = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if is_section else value
    return merged


class ZeroStrategy(DeepSpeedStrategy):
    """DeepSpeed with ZeRO, with checkpoints that do not depend on the processes, and on CPUs too."""

    # Weights are put into the module before DeepSpeed shares it out, states of the optimiser afterwards.
    restore_checkpoint_after_setup = False
    lightning_restore_optimizer = True

    # On a CPU, which Lightning refuses --------------------------------------------------------------------------------

    def setup_environment(self) -> None:
        if self._is_gpu:
            super().setup_environment()
            return
        import deepspeed

        # else a kernel for shared memory is compiled: minutes, and a compiler
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
        super(DeepSpeedStrategy, self).setup_environment()

    def setup_distributed(self) -> None:
        if self._is_gpu:
            super().setup_distributed()
            return
        reset_seed()
        self.set_world_ranks()
        self._init_deepspeed_distributed()

    @property
    def root_device(self) -> torch.device:
        # DeepSpeed wants a number
        return super().root_device if self._is_gpu else torch.device("cpu", 0)

    @property
    def _is_gpu(self) -> bool:
        assert self.parallel_devices is not None
        return self.parallel_devices[0].type == "cuda"

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        return self.checkpoint_io.load_checkpoint(checkpoint_path)

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        if self.is_global_zero:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        assert self.lightning_module is not None
        self.lightning_module.load_state_dict(checkpoint["state_dict"], strict=strict)

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """All weights, on the CPU of rank 0; nothing on the others. Every rank must call it."""
        import deepspeed

        assert self.lightning_module is not None
        tensors = {}
        parameters = dict(self.lightning_module.named_parameters())
        for name, tensor in self.lightning_module.state_dict(keep_vars=True).items():
            with deepspeed.zero.GatheredParameters([tensor] if name in parameters else []):
                if self.is_global_zero:
                    tensors[name] = tensor.detach().cpu().clone()
        return tensors

    def optimizer_state(self, optimizer: Any) -> dict[str, Any]:
        """The state as torch's own AdamW has it, on the CPU of rank 0; empty on the others. Every rank must call it."""
        from deepspeed.utils import safe_get_full_optimizer_state

        inner = optimizer.optimizer
        step = next(state["step"] for state in inner.state.values())
        states: dict[int, dict[str, Tensor]] = {}
        groups, number = [], 0
        for parameters, settings in zip(self._groups, inner.param_groups, strict=True):
            first = number
            for parameter in parameters:
                full = {name: safe_get_full_optimizer_state(parameter, name) for name in ADAM_STATES}
                if self.is_global_zero:
                    states[number] = {"step": step.detach().cpu().clone()}
                    states[number] |= {name: tensor.cpu().clone() for name, tensor in full.items()}
                number += 1
            groups.append({**settings, "params": list(range(first, number))})
        return {"state": states, "param_groups": groups}

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        (saved,) = checkpoint["optimizer_states"]
        inner = self._zero.optimizer
        for settings, of_saved in zip(inner.param_groups, saved["param_groups"], strict=True):
            settings.update({key: value for key, value in of_saved.items() if key != "params"})
        for state in inner.state.values():
            state["step"].copy_(saved["state"][0]["step"])
        for number, parameter in enumerate(chain.from_iterable(self._groups)):
            for name in ADAM_STATES:
                self._set_state(parameter, saved["state"][number][name].to(self.root_device), name)

    def _initialize_deepspeed_train(self, model: nn.Module) -> None:
        super()._initialize_deepspeed_train(model)
        # DeepSpeed leaves it to the first step to make them, and then finds only those of the first group
        zero, inner = self._zero, self._zero.optimizer
        flats = zero.fp32_partitioned_groups_flat if self.zero_stage_3 else zero.single_partition_of_fp32_groups
        for flat in flats:
            states = {name: torch.zeros_like(flat) for name in ADAM_STATES}
            inner.state[flat] = {"step": torch.zeros((), device=flat.device), **states}
        if not self.zero_stage_3:
            zero._lazy_init_hp_params_optimizer_state()

    def _set_state(self, parameter: nn.Parameter, value: Tensor, name: str) -> None:
        from deepspeed.utils import safe_set_full_optimizer_state, safe_set_local_optimizer_state

        if not self.zero_stage_3:
            safe_set_full_optimizer_state(parameter, value, name)
            return
        # its function for full values fails where they cannot be shared out equally
        share = parameter.ds_tensor.numel()  # type: ignore[attr-defined]
        padded = F.pad(value.flatten(), (0, share * self.world_size - value.numel()))
        safe_set_local_optimizer_state(parameter, padded[share * self.global_rank :][:share], name)

    @property
    def _zero(self) -> Any:
        """DeepSpeed's optimiser, around torch's."""
        (zero,) = self.optimizers
        return zero

    @property
    def _groups(self) -> list[list[nn.Parameter]]:
        module: Any = self.lightning_module
        return module.optimised


def is_lost_process(error: RuntimeError) -> bool:
    """Whether the error is that another process does not answer any more; gloo has no class for it."""
    signs = ("Connection closed by peer", "Connection reset by peer", "Timed out waiting", "Broken pipe")
    return isinstance(error, torch.distributed.DistError) or any(sign in str(error) for sign in signs)


# What the stage asks of the strategy ----------------------------------------------------------------------------------


def is_sharded(trainer: L.Trainer) -> bool:
    """Whether DeepSpeed holds gradients and states, clips, and leaves out steps that are not finite."""
    return isinstance(trainer.strategy, ZeroStrategy)


def gradient_of(trainer: L.Trainer) -> Callable[[nn.Parameter], Tensor | None]:
    """Gives the whole gradient of a parameter, after the last backward pass of a step and before the step. Under ZeRO
    every rank must call it."""
    if not is_sharded(trainer):
        return lambda parameter: parameter.grad
    from deepspeed.utils import safe_get_full_grad

    return safe_get_full_grad


def outcome_of_step(trainer: L.Trainer) -> tuple[float, bool]:
    """Under ZeRO, of the last step: the norm of its gradient, and whether it was left out."""
    zero: Any = trainer.strategy.optimizers[0]
    return float(zero._global_grad_norm), bool(zero.overflow)


def network_tensors(trainer: L.Trainer) -> dict[str, Tensor]:
    """The whole network, as its weights file has it, on rank 0 at least. Every rank must call it."""
    return tensors_of_network(trainer.strategy.lightning_module_state_dict())


def tensors_of_network(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of the state of a `kanachan.training.module.StageModule`: the network's, by the names of a weights file."""
    prefix = "network."
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
