"""The weights file: one safetensors file with all tensors of a network and, in its metadata, a card that
describes them (stage, settings, vocabulary, data, lineage, metrics). All that follows training needs this file alone.

The keys `encoder.*` have the same meaning in every stage; the next stage inherits them.
"""

import hashlib
import json
import math
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from annotate.runtime.files import replacing
from annotate.vocabulary import Vocabulary, known_vocabularies, vocabulary_named, vocabulary_with
from kanachan.config import WEIGHTS_NAME, ModelConfig, ObjectiveConfig, StageName
from kanachan.models.card import CARD_KEY, weights_file
from kanachan.models.reference import name_of

FORMAT_VERSION = 2
"""2: decisions of a round share their events"""
CARD_NAME = "card.json"
ENCODER_PREFIX = "encoder."
TEMPERATURES = ("temperature", "summary_temperature")
"""entries of the card of a calibrated network: of the outputs of the candidates, and of the summary"""
_Settings = TypeVar("_Settings", ModelConfig, ObjectiveConfig)


@dataclass(frozen=True)
class Weights:
    """A weights file that was read and checked."""

    path: Path
    card: dict[str, Any]
    tensors: dict[str, Tensor]

    @property
    def stage(self) -> StageName:
        return self.card["stage"]

    @property
    def vocabulary(self) -> Vocabulary:
        return vocabulary_named(self.card["vocabulary"])

    @property
    def model(self) -> ModelConfig:
        return _settings(ModelConfig, self.card["model"], self.path)

    @property
    def objective(self) -> ObjectiveConfig:
        settings = {**self.card["objective"]}
        settings["rank_points"] = tuple(settings["rank_points"])
        return _settings(ObjectiveConfig, settings, self.path)


def make_card(
    stage: StageName,
    model: ModelConfig,
    objective: ObjectiveConfig,
    vocabulary: Vocabulary,
    **rest: Any,
) -> dict[str, Any]:
    """Returns the card of a weights file. `rest`: config, data, lineage, steps, samples, metrics and other entries."""
    return {
        "format_version": FORMAT_VERSION,
        "stage": stage,
        "vocabulary": vocabulary.name,
        "fingerprint": vocabulary.fingerprint,
        "model": asdict(model),
        "objective": asdict(objective),
        **rest,
        "versions": {name: version(name) for name in ("kanachan", "torch", "lightning")},
        "commit": commit_of_program(),
    }


def write_weights(path: Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """Writes the tensors of a network's state and the card, completely or not at all."""
    saved = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(card, ensure_ascii=False)
    with replacing(path) as temporary:
        temporary.write_bytes(save(saved, metadata={CARD_KEY: text}))


def write_card(path: Path, card: Mapping[str, Any]) -> None:
    """Writes the card alone, as JSON for people; programs read the one inside the weights file."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_weights(path: str | Path) -> Weights:
    """Reads a weights file, or that of a run folder or of a name (`kanachan.models.reference`).

    Raises ValueError, naming the file, if it is cut off, is not a weights file of this program, or has another
    format version or vocabulary.
    """
    file = weights_file(path)
    try:
        with safe_open(file, framework="pt") as opened:
            text = (opened.metadata() or {}).get(CARD_KEY)
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is not a mapping
        card = json.loads(text) if text is not None else None
    except (SafetensorError, json.JSONDecodeError) as error:
        if file.suffix == ".ckpt":
            raise ValueError(
                f"{file}: a checkpoint, from which a run is resumed (kanachan-train --resume), not a weights file: "
                f"{WEIGHTS_NAME} is in the folder of a finished run"
            ) from None
        raise ValueError(f"{file}: not a complete weights file ({error})") from error
    if not isinstance(card, dict) or "stage" not in card:
        raise ValueError(f"{file}: a safetensors file without a card: kanachan-train did not write it")
    if card.get("format_version") != FORMAT_VERSION:
        raise ValueError(f"{file}: {other_version(card.get('format_version'))}")
    if vocabulary_with(card["vocabulary"], card["fingerprint"]) is None:
        raise ValueError(
            f"{file}: made for the vocabulary {card['vocabulary']} {card['fingerprint']}; this program has "
            f"{known_vocabularies()}"
        )
    for name in TEMPERATURES:
        if name in card:
            _check_temperature(card[name], file)
    return Weights(file, card, tensors)


def _check_temperature(temperature: object, file: Path) -> None:
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        raise ValueError(f"{file}: the temperature in its card is {temperature}; a positive number expected")


def other_version(version: object) -> str:
    """Returns the error message of a file that does not have `FORMAT_VERSION`."""
    return (
        f"written in format version {version}, but this program has {FORMAT_VERSION}, with another network: train it "
        "again, or use the version of the program that wrote it"
    )


def lineage_of(weights: Weights) -> list[dict[str, Any]]:
    """Returns the stages that led to these weights, theirs last: file hash, length and metrics of each, and the name of
    weights of the package."""
    card = weights.card
    name = name_of(weights.path)
    own = {
        "stage": card["stage"],
        **({} if name is None else {"name": name}),
        "sha256": hashlib.sha256(weights.path.read_bytes()).hexdigest(),
        "steps": card.get("steps"),
        "samples": card.get("samples"),
        "metrics": card.get("metrics"),
    }
    return [*card.get("lineage", []), own]


def _settings(kind: type[_Settings], values: Mapping[str, Any], path: Path) -> _Settings:
    unknown = set(values) - {setting.name for setting in fields(kind)}
    if unknown:
        raise ValueError(f"{path}: its card has settings unknown to this program: {', '.join(sorted(unknown))}")
    return kind(**values)


def commit_of_program() -> str | None:
    """Returns the commit of the checkout of this file, with "-dirty" if files were changed; None elsewhere."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git here, or no commit yet: the card has none
        return None
