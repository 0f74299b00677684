"""The weights file: one safetensors file with all tensors of a network and, in its metadata, a card that
describes them (stage, settings, vocabulary, data, lineage, metrics). All steps after training need only this file.

The keys `encoder.*` have the same meaning in every stage; the next stage inherits them.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from annotate.runtime.files import replacing
from annotate.vocabulary import Vocabulary, vocabulary_named
from kanachan.config import ModelConfig, ObjectiveConfig, RewardConfig, StageName
from kanachan.data.shard_folder import SELF_PLAY
from kanachan.models.card import CARD_KEY, FORMAT_VERSION, file_hash, read_card, weights_file
from kanachan.models.learned_games import GAMES_KEY, LearnedGames
from kanachan.models.reference import name_of

CARD_NAME = "card.json"
PRIOR_KEY = "prior"
"""card entry of weights with a prior: the card of the reward predictor that was the prior, its hash and its name"""
TEACHER_KEY = "teacher"
"""card entry of weights that learned the probabilities of a teacher: the teacher, described as in a lineage"""
_RETIRED = {
    ModelConfig: ("relative_suits",),
    ObjectiveConfig: ("conservative", "keep_decoder"),
}
"""settings in cards of the package that have only one value now"""
_Settings = TypeVar("_Settings", ModelConfig, ObjectiveConfig, RewardConfig)


@dataclass(frozen=True)
class Weights:
    """A weights file that was read and checked. Its settings raise ValueError, naming the file, if some are unknown."""

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
    def learned_games(self) -> LearnedGames:
        return LearnedGames.of_card(self.card, self.path)

    @property
    def objective(self) -> ObjectiveConfig:
        settings = {**self.card["objective"]}
        settings["rank_points"] = tuple(settings["rank_points"])
        return _settings(ObjectiveConfig, settings, self.path)


def make_card(
    stage: StageName,
    model: ModelConfig | RewardConfig,
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
    """Writes only the card, as JSON for people and without the keys of games; programs read the card inside the weights
    file."""
    if GAMES_KEY in card:
        card = {**card, GAMES_KEY: {name: value for name, value in card[GAMES_KEY].items() if name != "keys"}}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_weights(path: str | Path) -> Weights:
    """Reads the weights file of a path, a run folder or a name (`kanachan.models.reference`); raises ValueError like
    `read_card`, and for networks of earlier versions that saw seats as recorded."""
    file = weights_file(path)
    card = read_card(file)
    if card.get("config", {}).get("data", {}).get("actor_first") is False:
        raise ValueError(
            f"{file}: trained with data.actor_first false, which only earlier versions have: train it again"
        )
    with safe_open(file, framework="pt") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118, it is not a mapping
    return Weights(file, card, tensors)


def load_tensors(module: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copies tensors of a weights file into a module; raises ValueError, naming the file, if they do not fit."""
    try:
        module.load_state_dict(dict(tensors), strict=True)
    except RuntimeError as error:
        raise ValueError(
            f"{path}: the tensors do not fit its card, or are of an earlier version: {' '.join(str(error).split())}"
        ) from error


def interpolated(old: Weights, new: Weights, share: float) -> Mapping[str, Tensor]:
    """Returns tensors at `share` of the way from `old` to `new`, or beyond `new`, in the dtypes of `new`: a training
    step, shortened or lengthened. Heads of auxiliary targets that only `old` has are left out. Raises ValueError if
    `old` lacks a tensor of `new`, or has it in another shape."""
    shape_of = {name: tensor.shape for name, tensor in old.tensors.items()}
    if any(shape_of.get(name) != tensor.shape for name, tensor in new.tensors.items()):
        raise ValueError(f"{old.path} and {new.path} are networks of different sizes or heads")
    if share == 1:
        return new.tensors
    return {
        name: tensor if not tensor.is_floating_point() else old.tensors[name].to(tensor.dtype).lerp(tensor, share)
        for name, tensor in new.tensors.items()
    }


def lineage_of(weights: Weights) -> list[dict[str, Any]]:
    """Returns the stages that led to these weights, their own last: file hash, length and metrics of each stage, the
    name if the package has the weights, and the settings of the self-play whose games it has learned from."""
    card = weights.card
    name, self_play = name_of(weights.path), card.get("data", {}).get(SELF_PLAY)
    own = {
        "stage": card["stage"],
        **({} if name is None else {"name": name}),
        "sha256": file_hash(weights.path),
        "steps": card.get("steps"),
        "samples": card.get("samples"),
        "metrics": card.get("metrics"),
        **({TEACHER_KEY: card[TEACHER_KEY]} if TEACHER_KEY in card else {}),
        **({} if self_play is None else {SELF_PLAY: self_play}),
    }
    return [*card.get("lineage", []), own]


def prior_card_of(weights: Weights) -> dict[str, Any]:
    """Returns the entry `PRIOR_KEY` of the card of a network that has these weights as its prior."""
    name = name_of(weights.path)
    return {
        **{key: value for key, value in weights.card.items() if key != GAMES_KEY},
        **({} if name is None else {"name": name}),
        "sha256": file_hash(weights.path),
    }


def reward_settings(card: Mapping[str, Any], path: Path | str) -> RewardConfig:
    """Returns the network settings in the card of a reward predictor; raises ValueError, naming the file, if some are
    unknown."""
    return _settings(RewardConfig, card["model"], path)


def _settings(kind: type[_Settings], values: Mapping[str, Any], path: Path | str) -> _Settings:
    values = {name: value for name, value in values.items() if name not in _RETIRED.get(kind, ())}
    unknown = set(values) - {setting.name for setting in fields(kind)}
    if unknown:
        raise ValueError(
            f"{path}: its card has settings unknown to this program: {', '.join(sorted(unknown))}; weights of another "
            "version are used by that version, or trained again"
        )
    return kind(**values)


@cache
def commit_of_program() -> str | None:
    """Returns the commit of the checkout of this file at the first call, which is the program that runs, with "-dirty"
    if files were changed; None outside a checkout."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # no git here, or no commit yet: the card has no commit
        return None
