"""What can be checked of a run before torch is loaded: its paths, the weights that it starts with, and settings that
are valid but rarely meant, which are warnings."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from annotate.runtime.files import MISSING
from kanachan.config import RunConfig, TrainConfig
from kanachan.data.shard_folder import splits_in
from kanachan.models.card import SIZES_OF_ENCODER, read_card, require_encoder_sizes
from kanachan.objectives.stages import STAGES, previous_stage


def require_folder(data_path: str) -> None:
    """Raises ValueError if there is no folder to read the shards from."""
    folder = Path(data_path)
    if folder.is_file():
        raise ValueError(
            f"--data.path {data_path}: a file; a folder of shards is needed: kanachan-pack makes it of annotations"
        )
    if not folder.is_dir():
        raise ValueError(f"--data.path {data_path}: {MISSING}")


def require_shards(data_path: str) -> None:
    """Raises ValueError if there are no shards to train on in the folder."""
    if "train" not in splits_in(data_path):
        raise ValueError(f"--data.path {data_path}: no shards to train on; kanachan-pack makes them of annotations")


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
    if "validation" not in splits_in(config.data.path):
        found.append(
            f"{config.data.path} has no validation split, so nothing shows whether the run learns more than its own "
            "games: kanachan-pack --fractions 0.8,0.1,0.1 makes one"
        )
    return [text for text in found if text is not None]


def _card(init: str) -> dict[str, Any]:
    try:
        return read_card(init)
    except ValueError as error:
        raise ValueError(f"--init {error}") from None


def _config_of_another_stage(stage: str, path: Path, values: Mapping[str, Any]) -> str | None:
    other = values.get("stage", stage)
    if other == stage:
        return None
    return (
        f"--config {path} is of stage {other}, and all its settings replace the defaults of {stage}: give only what "
        "is to differ"
    )
