"""What can be checked of a run before torch is loaded: its paths, the weights that it starts with, and settings that
are valid but rarely meant, which are warnings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from annotate.runtime.files import MISSING
from kanachan.config import ModelConfig, ObjectiveConfig, RunConfig, TrainConfig
from kanachan.data.shard_folder import ROUNDS, splits_in
from kanachan.models.card import SIZES_OF_ENCODER, read_card, require_encoder_sizes
from kanachan.objectives.stages import REWARD, STAGES, previous_stage

_UNUSED_BY_REWARD: Mapping[str, Collection[str]] = {
    "model": [f.name for f in fields(ModelConfig)],
    "objective": [f.name for f in fields(ObjectiveConfig) if f.name not in ("loss", "bins", "sigma")],
    "data": ("exchange_suits", "actor_first", "neighbours"),
    "optim": ("optimizer", "muon_factor", "encoder_learning_rate", "encoder_frozen"),
    "run": ("attention", "compile", "recompute"),
}
"""settings of the encoder-decoder and its stages"""


def require_folder(data_path: str) -> None:
    """Raises ValueError if there is no folder to read the shards from."""
    folder = Path(data_path)
    if folder.is_file():
        raise ValueError(
            f"--data.path {data_path}: a file; a folder of shards is needed: kanachan-pack makes it of annotations"
        )
    if not folder.is_dir():
        raise ValueError(f"--data.path {data_path}: {MISSING}")


def require_shards(stage: str, data_path: str) -> None:
    """Raises ValueError if there are no shards to train the stage on in the folder."""
    has_decisions = "train" in splits_in(data_path)
    if stage == REWARD and "train" not in _splits(stage, data_path):
        found = "no rounds" if has_decisions else "no shards"
        raise ValueError(
            f"--data.path {data_path}: {found} to train on; kanachan-pack makes them of annotations, or of a folder of "
            "shards"
        )
    if stage != REWARD and not has_decisions:
        raise ValueError(f"--data.path {data_path}: no shards to train on; kanachan-pack makes them of annotations")


def _splits(stage: str, data_path: str) -> Collection[str]:
    """Returns the splits in a folder with data for a stage."""
    return splits_in(Path(data_path) / ROUNDS if stage == REWARD else data_path)


def require_effect(config: TrainConfig) -> None:
    """Raises ValueError if a setting without effect in the stage differs from its default. Objectives check their own
    settings."""
    if config.stage != REWARD:
        unused: dict[str, Collection[str]] = {"reward": [f.name for f in fields(config.reward)]}
    else:
        unused = dict(_UNUSED_BY_REWARD)
        if config.objective.loss == "mse":
            unused["objective"] = [*unused["objective"], "bins", "sigma"]
    for section, names in unused.items():
        given = getattr(config, section)
        for setting in fields(given):
            value = getattr(given, setting.name)
            if setting.name in names and value != setting.default:
                default = "null" if setting.default is None else setting.default
                raise ValueError(
                    f"{section}.{setting.name}={value} has no effect in stage {config.stage}; leave it at {default}"
                )


def require_tensorboard(run: RunConfig) -> None:
    """Raises ValueError if the run writes for TensorBoard, which is not installed."""
    if run.tensorboard and find_spec("tensorboard") is None:
        raise ValueError("run.tensorboard: TensorBoard is not installed: pip install tensorboard, or leave it off")


def sizes_of_init(init: str) -> dict[str, int]:
    """Returns the sizes of the network in the weights that --init names; raises ValueError if there are none."""
    card = _card(init)
    return {name: card["model"][name] for name in (*SIZES_OF_ENCODER, "decoder_layers")}


def require_init(config: TrainConfig) -> None:
    """Raises ValueError if a run cannot start with the weights that --init names."""
    if config.init is None:
        return
    card = _card(config.init)
    require_encoder_sizes(config.model, card["model"], config.init)
    actor_first = card["config"]["data"]["actor_first"]
    if actor_first != config.data.actor_first:
        raise ValueError(
            f"--init {config.init}: its encoder was trained with data.actor_first {str(actor_first).lower()}: "
            "give this run the same"
        )


def warnings_of(config: TrainConfig, config_files: Iterable[tuple[Path, Mapping[str, Any]]]) -> list[str]:
    """Returns what is unusual in the settings of a new run, and what to do.

    Args:
        config_files: the --config files and their settings.
    """
    found = [_config_of_another_stage(config.stage, path, values) for path, values in config_files]
    before, names = previous_stage(config.stage), list(STAGES)
    card = None if config.init is None else _card(config.init)
    if config.init is None and before is not None:
        found.append(
            f"{config.stage} without --init starts with a new encoder; --init RUN, the folder of a run of {before}, "
            "takes over what that has learned"
        )
    if card is not None and card["stage"] in names[names.index(config.stage) + 1 :]:
        found.append(
            f"--init {config.init} is of {card['stage']}, which comes after {config.stage}: the order of the stages is "
            + ", ".join(names)
        )
    if "validation" not in _splits(config.stage, config.data.path):
        found.append(
            f"{config.data.path} has no validation split, so nothing shows whether the run learns more than its own "
            "games: kanachan-pack --fractions 0.8,0.1,0.1 makes one"
        )
    return [text for text in found if text is not None]


def _card(init: str) -> dict[str, Any]:
    try:
        card = read_card(init)
    except ValueError as error:
        raise ValueError(f"--init {error}") from None
    if card["stage"] == REWARD:
        raise ValueError(f"--init {init}: a reward predictor, which has no encoder; name weights of another stage")
    return card


def _config_of_another_stage(stage: str, path: Path, values: Mapping[str, Any]) -> str | None:
    other = values.get("stage", stage)
    if other == stage:
        return None
    return (
        f"--config {path} is of stage {other}, and all its settings replace the defaults of {stage}: give only what "
        "is to differ"
    )
