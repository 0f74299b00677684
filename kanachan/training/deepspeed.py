"""DeepSpeed's ZeRO as a strategy for Lightning's trainer; the only module that uses DeepSpeed's internals.

Lightning's own strategy writes a folder of shards that only the same number of processes can read, refuses CPUs, and
does not resume an optimiser whose states were written in full. This module instead uses the following
attributes, which are not part of a public interface and may change with a release:

| attribute | of | why |
| --- | --- | --- |
| `_init_deepspeed_distributed` | Lightning's `DeepSpeedStrategy` | connects the processes; its caller refuses CPUs |
| `_initialize_deepspeed_train` | Lightning's `DeepSpeedStrategy` | where DeepSpeed has wrapped the optimiser |
| `ops.__compatible_ops__` | `deepspeed` | prevents it from compiling a kernel for processes on CPUs |
| `optimizer` | ZeRO's optimiser | torch's own optimiser inside, whose states a checkpoint holds |
| `single_partition_of_fp32_groups` | ZeRO's optimiser, stages 1 and 2 | this rank's share of the weights, by group |
| `fp32_partitioned_groups_flat` | ZeRO's optimiser, stage 3 | likewise |
| `_lazy_init_hp_params_optimizer_state` | ZeRO's optimiser, stages 1 and 2 | links the states to their parameters |
| `_global_grad_norm`, `overflow` | ZeRO's optimiser | norm of the last gradient; whether the step was skipped |
| `ds_tensor`, `ds_numel` | a parameter, stage 3 | this rank's share of it; its size without padding |
"""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from lightning.fabric.utilities.seed import reset_seed
from lightning.pytorch.strategies import DeepSpeedStrategy
from torch import Tensor, nn

from kanachan.config import RunConfig
from kanachan.training.devices import Devices
from kanachan.training.optimizers import ADAM_STATES

ZERO_STAGES: dict[str, int] = {"zero1": 1, "zero2": 2, "zero3": 3}
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
"""keys of a DeepSpeed configuration that settings of the run determine"""


def zero_strategy(stage: int, run: RunConfig, devices: Devices, micro_batch: int, timeout: timedelta) -> "ZeroStrategy":
    """Returns the strategy of a ZeRO stage. Raises ValueError if `run.deepspeed` is not valid for this run."""
    is_gpu = devices.is_gpu
    config: dict[str, Any] = {
        "zero_optimization": {
            "stage": stage,
            "contiguous_gradients": True,
            "overlap_comm": is_gpu,
            "reduce_bucket_size": 50_000_000,  # a tenth of the default, which takes 8 GB for a network of any size
        },
        "zero_allow_untested_optimizer": True,
        "train_micro_batch_size_per_gpu": micro_batch,
        "steps_per_print": 2**31,  # prints nothing
        "timers": {"throughput": {"enabled": False}},  # would wait for the GPU twice in every micro-batch
    }
    if devices.use_bf16:
        # weights stay in fp32, as without DeepSpeed: bf16 would round a score of 25,300 points to 25,344. Weights
        # and gradients are sent in fp32 too, because the weights gathered for a validation are written to files
        config["torch_autocast"] = {"enabled": True, "dtype": "bfloat16", "lower_precision_safe_modules": []}
    if run.deepspeed is not None:
        config = _merged(config, _deepspeed_file(Path(run.deepspeed), stage))
    if not is_gpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    return ZeroStrategy(config=config, timeout=timeout)


def _deepspeed_file(path: Path, stage: int) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"--run.deepspeed {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"--run.deepspeed {path}: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"--run.deepspeed {path}: a JSON object is expected")
    for key, setting in _OURS.items():
        if key in config:
            raise ValueError(f"--run.deepspeed {path}: remove {key}: it is set by {setting}")
    zero = config.get("zero_optimization", {})
    if not isinstance(zero, dict):
        raise ValueError(f"--run.deepspeed {path}: zero_optimization: an object is expected")
    if zero.get("stage", stage) != stage:
        raise ValueError(
            f"--run.deepspeed {path}: zero_optimization.stage is {zero['stage']}, and --run.strategy is zero{stage}"
        )
    for key in ("offload_optimizer", "offload_param"):
        if key in zero:
            raise ValueError(
                f"--run.deepspeed {path}: remove zero_optimization.{key}: optimiser states and parameters stay on the "
                "device"
            )
    return config


def _merged(config: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(config)
    for key, value in over.items():
        is_section = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if is_section else value
    return merged


class ZeroStrategy(DeepSpeedStrategy):
    """DeepSpeed's ZeRO with checkpoints that do not depend on the number of processes; runs on CPUs too."""

    # Weights are loaded into the module before DeepSpeed shards it, optimiser states afterwards.
    restore_checkpoint_after_setup = False
    lightning_restore_optimizer = True

    def setup_environment(self) -> None:
        if self._is_gpu:
            super().setup_environment()
            return
        import deepspeed

        # otherwise DeepSpeed compiles a kernel for shared memory, which takes minutes and needs a compiler
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
        super(DeepSpeedStrategy, self).setup_environment()

    def setup_distributed(self) -> None:
        # without the check that GPUs are numbered from 0: a Slurm task may use any of the GPUs that it sees
        reset_seed()
        self.set_world_ranks()
        self._init_deepspeed_distributed()

    def _set_node_environment_variables(self) -> None:
        super()._set_node_environment_variables()
        if self._is_gpu:  # DeepSpeed reads its device from it
            os.environ["LOCAL_RANK"] = str(self.root_device.index)

    @property
    def root_device(self) -> torch.device:
        # DeepSpeed needs a device index
        return super().root_device if self._is_gpu else torch.device("cpu", 0)

    @property
    def _is_gpu(self) -> bool:
        assert self.parallel_devices is not None
        return self.parallel_devices[0].type == "cuda"

    def backward(self, closure_loss: Tensor, optimizer: Any, *args: Any, **kwargs: Any) -> Tensor:
        # Lightning has divided the loss by the number of micro-batches, and DeepSpeed would do so again
        return super().backward(closure_loss, optimizer, *args, scale_wrt_gas=False, **kwargs)

    def load_checkpoint(self, checkpoint_path: Any, weights_only: bool | None = None) -> dict[str, Any]:
        return self.checkpoint_io.load_checkpoint(checkpoint_path)

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: Any, storage_options: Any = None) -> None:
        if self.is_global_zero:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath)

    def load_model_state_dict(self, checkpoint: Mapping[str, Any], strict: bool = True) -> None:
        assert self.lightning_module is not None
        self.lightning_module.load_state_dict(checkpoint["state_dict"], strict=strict)

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Returns all weights, on the CPU of rank 0; empty on the others. Every rank must call it."""
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
        """Returns the state in the format of torch's AdamW, on the CPU of rank 0; empty on the others. Every rank must
        call it."""
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
        # DeepSpeed would create the states at the first step, and would then find only the first group's states
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
        # the function for full values fails for values that cannot be split equally
        share = parameter.ds_tensor.numel()  # type: ignore[attr-defined]
        padded = F.pad(value.flatten(), (0, share * self.world_size - value.numel()))
        safe_set_local_optimizer_state(parameter, padded[share * self.global_rank :][:share], name)

    @property
    def _zero(self) -> Any:
        """DeepSpeed's optimiser, which wraps torch's."""
        (zero,) = self.optimizers
        return zero

    @property
    def _groups(self) -> list[list[nn.Parameter]]:
        module: Any = self.lightning_module
        return module.optimised

    def outcome_of_step(self) -> tuple[float, bool]:
        """Returns the norm of the gradient of the last step, and whether the step was skipped."""
        return float(self._zero._global_grad_norm), bool(self._zero.overflow)


def whole_gradient(parameter: nn.Parameter) -> Tensor | None:
    """Returns the whole gradient of a parameter, between the last backward pass of a step and the step. Every rank must
    call it."""
    from deepspeed.utils import safe_get_full_grad

    return safe_get_full_grad(parameter)


def own_part(parameter: nn.Parameter) -> Tensor:
    """Returns the part of a parameter that this process holds: with ZeRO 3, its share without the padding, which
    DeepSpeed does not initialise; else all of it."""
    share: Tensor | None = getattr(parameter, "ds_tensor", None)
    if share is None:
        return parameter
    first = torch.distributed.get_rank() * share.numel()
    return share[: max(0, parameter.ds_numel - first)]  # type: ignore[attr-defined]
