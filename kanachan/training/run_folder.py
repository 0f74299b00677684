"""Contents of the folder of a run, and the settings that may change when the run is resumed."""

import json
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from annotate.runtime.files import replacing
from kanachan.config import (
    WEIGHTS_NAME,
    DataConfig,
    ModelConfig,
    ObjectiveConfig,
    OptimConfig,
    RewardConfig,
    RunConfig,
    TrainConfig,
)
from kanachan.policy_config import PolicyConfig, SelfPlayConfig

CONFIG_NAME = "config.yaml"
CHECKPOINTS = "checkpoints"
LABELS = "labels"
"""folder of the labels of rounds (`kanachan.training.round_labels`)"""
BEST_NAME = "best.safetensors"
"""file in CHECKPOINTS: the weights with the lowest validation loss so far"""
ITERATION = "iteration-"
"""start of the names of the folders of iterations (stage policy)"""

SECTIONS: dict[str, type] = {
    "data": DataConfig,
    "model": ModelConfig,
    "objective": ObjectiveConfig,
    "optim": OptimConfig,
    "run": RunConfig,
    "reward": RewardConfig,
    "policy": PolicyConfig,
    "selfplay": SelfPlayConfig,
}

OTHER_WEIGHTS = frozenset(
    {"objective.prior", "objective.reward", "objective.teacher", "policy.reward", "policy.magnet"}
)
"""settings that name weights used besides --init"""

MAY_CHANGE = frozenset(
    {
        *("run.out", "run.accelerator", "run.devices", "run.strategy", "run.deepspeed", "run.attention", "run.threads"),
        *("run.compile", "run.recompute", "run.checkpoint_minutes"),
        *("run.wandb", "run.group", "run.tensorboard"),
        *("data.path", "data.verify", "data.micro_batch"),
        *("selfplay.backend", "selfplay.address", "selfplay.processes"),
        # the files may have moved; the checkpoint has their hashes
        *OTHER_WEIGHTS,
    }
)
"""settings that a resumed run may change: locations, devices and logging, but nothing that changes the results"""

LENGTH = frozenset({"run.steps", "run.passes", "run.early_stopping", "optim.cooldown"})
"""settings that --resume RUN may change too: the run is trained further"""

LENGTH_OF_ITERATIONS = frozenset({"selfplay.iterations"})
"""the same for a run of iterations"""


def save_config(config: TrainConfig, path: Path) -> None:
    """Writes the resolved configuration; `kanachan-train --config FILE` repeats the run."""
    with replacing(path) as temporary:
        temporary.write_text(yaml.safe_dump(settings_as_json(config), sort_keys=False), encoding="utf-8")


def settings_as_json(config: Any) -> dict[str, Any]:
    """Converts the configuration to nested dicts, lists and scalars."""
    return json.loads(json.dumps(asdict(config)))


def holds_run(folder: Path) -> bool:
    """Returns whether the folder holds a run that has ended or could be resumed."""
    has_begun = any((folder / CHECKPOINTS).glob("*.ckpt")) or any(folder.glob(f"{ITERATION}*"))
    return has_begun or (folder / WEIGHTS_NAME).is_file()


def require_same(was: TrainConfig, now: TrainConfig, may_change: Collection[str]) -> None:
    """Raises ValueError if a setting that may not change differs."""
    saved, given = flat(was), flat(now)
    changed = [key for key in saved if saved[key] != given[key] and key not in may_change]
    if changed:
        listed = ", ".join(f"{key} was {saved[key]}, is {given[key]}" for key in changed)
        advice = "start a new one with another --output"
        length = LENGTH if now.selfplay.games is None else LENGTH_OF_ITERATIONS
        if length.issuperset(changed):
            advice = f"to train it further, give --resume {now.run.out} and only the new length"
        raise ValueError(f"a resumed run keeps its settings ({listed}): {advice}")


class _UniqueKeys(yaml.SafeLoader):
    """Refuses a name that occurs twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{name} occurs twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def settings_in(path: Path) -> dict[str, Any]:
    """Reads the settings of a YAML file; raises ValueError if it holds something else."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a date that does not exist
        raise ValueError(f"{path}: not YAML: {error}") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ValueError(f"{path}: settings are expected, as `section: {{name: value}}`")
    return values


def flat(config: TrainConfig) -> dict[str, Any]:
    """Returns all settings by name, such as data.batch."""
    flat: dict[str, Any] = {}
    for key, value in settings_as_json(config).items():
        flat.update(
            {f"{key}.{name}": entry for name, entry in value.items()} if isinstance(value, dict) else {key: value}
        )
    return flat
