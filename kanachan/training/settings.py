"""The settings of kanachan-train by name, such as data.batch: type, default, help text, and conversion from a text.

They are the fields of the dataclasses in `SECTIONS`. The defaults of a stage are in configs/STAGE.yaml; for games of
three players, configs/STAGE-3p.yaml overrides them if it exists. Imports nothing heavy.
"""

import ast
import inspect
import math
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import yaml

from annotate.runtime.arguments import suggestion
from annotate.vocabulary import VOCABULARIES, Vocabulary, vocabulary_named
from kanachan.config import MODEL_SIZES
from kanachan.data.shard_folder import ROUNDS, splits_in
from kanachan.models.card import vocabulary_of
from kanachan.objectives.stages import trained_stages
from kanachan.training.run_folder import SECTIONS

SIZE = "model.size"
"""setting that determines five others of the section model"""
_ELSEWHERE = {
    "optim.learning_rate": ("lr",),
    "optim.weight_decay": ("wd",),
    "optim.clip": ("grad_clip", "gradient_clip", "gradient_clip_val", "max_grad_norm"),
    "optim.average": ("ema",),
    "optim.warmup": ("warmup_steps",),
    "run.passes": ("epoch", "epochs", "num_epochs", "max_epochs"),
    "run.steps": ("max_steps", "num_steps"),
    "run.devices": ("gpus", "num_gpus"),
    "run.accelerator": ("device",),
    "run.out": ("output_dir",),
    "run.early_stopping": ("patience",),
    "run.precision": ("fp16", "amp"),
    "data.batch": ("batch_size",),
    "data.micro_batch": ("gradient_accumulation_steps", "accumulate_grad_batches"),
    "data.path": ("dataset",),
    "model.width": ("hidden_size", "d_model"),
    "model.heads": ("num_heads",),
    "model.layers": ("num_layers",),
}
"""settings, and their names in other programs"""
_EXPECTED = {int: "a whole number", float: "a number", bool: "true or false"}
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class Setting(NamedTuple):
    """A setting of a run."""

    name: str
    kind: Any
    """type of its value"""
    default: Any
    help: str

    def value(self, given: Any) -> Any:
        """Converts a text, or a value of a YAML file. Raises ValueError, which names the setting, if the type is
        wrong."""
        if isinstance(given, Mapping):
            raise ValueError(f"{self.name}: one value expected, not {given}")
        text = yaml.safe_dump(given).split()[0] if given is None or isinstance(given, bool) else str(given)
        kinds = get_args(self.kind) if get_origin(self.kind) in (Union, UnionType) else (self.kind,)
        if NoneType in kinds and text in ("null", "None"):
            return None
        kind = next(kind for kind in kinds if kind is not NoneType)
        if get_origin(kind) is Literal:
            return self._choice(text, get_args(kind))
        if get_origin(kind) is tuple:
            return self._tuple(text, get_args(kind)[0])
        try:
            return _simple(text, kind)
        except (ValueError, KeyError):
            or_null = " (or null)" if NoneType in kinds else ""
            raise ValueError(f"{self.name}: {_EXPECTED[kind]}{or_null} expected, got {text!r}") from None

    def _choice(self, text: str, choices: Collection[str]) -> str:
        if text in choices:
            return text
        raise ValueError(f"{self.name}: one of {', '.join(choices)} expected, got {text!r}{suggestion(text, choices)}")

    def _tuple(self, text: str, kind: type) -> tuple[Any, ...]:
        try:
            values = yaml.load(text, yaml.BaseLoader)  # elements stay text: YAML's numbers are not those of Python
            if isinstance(values, list) and all(isinstance(value, str) for value in values):
                return tuple(_simple(value, kind) for value in values)
        except (yaml.YAMLError, ValueError):
            pass
        what = f"list in brackets expected, such as [{text}]"
        if kind is float:
            what = "list of numbers such as [90,45,0,-135] expected"
        raise ValueError(f"{self.name}: a {what}, got {text!r}")


def all_settings() -> dict[str, Setting]:
    """Returns all settings by name: stage, initial weights, model size, and the settings of all sections."""
    return _settings(trained_stages())


@cache
def _settings(stages: tuple[str, ...]) -> dict[str, Setting]:
    sizes = ", ".join(f"{name} {size.width} x {size.layers}" for name, size in MODEL_SIZES.items())
    found = [
        Setting("stage", Literal[stages], None, "stage of the curriculum, reward or policy"),
        Setting(
            "init",
            str | None,
            None,
            "weights file or run folder of an earlier stage, or weights of the package (reference, reference/STAGE). "
            "Their encoder is loaded, and from weights of the same stage also the decoder and the heads (imitation and "
            "policy count as the same stage). With fewer --model.layers, stages of the curriculum start with some of "
            "the encoder's blocks",
        ),
        Setting(
            SIZE,
            Literal[tuple(MODEL_SIZES)],
            "small",
            f"sets width, layers, heads, feedforward and decoder_layers where they are not given: {sizes}",
        ),
    ]
    for name, section in SECTIONS.items():
        kinds, helps, usual = get_type_hints(section), _helps(section), section()
        found += [Setting(f"{name}.{key}", kinds[key], getattr(usual, key), helps[key]) for key in helps]
    return {setting.name: setting for setting in found}


def settings_of(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Returns the settings in the contents of a YAML file, by name. Raises ValueError, which names the file and the
    setting, if a setting is unknown or of the wrong type."""
    sections = {name.partition(".")[0] for name in all_settings() if "." in name}
    given: dict[str, Any] = {}
    for key, value in values.items():
        if key not in sections:
            given[str(key)] = value
        elif isinstance(value, Mapping | None):
            given |= {f"{key}.{name}": entry for name, entry in (value or {}).items()}
        else:
            raise ValueError(f"{path}: {key} is a group of settings: `{key}: {{name: value}}` is expected, not {value}")
    try:
        return {name: known_setting(name).value(value) for name, value in given.items()}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def known_setting(name: str, prefix: str = "") -> Setting:
    """Returns a setting; if it does not exist, raises ValueError, which names the setting that was probably meant.
    `prefix`: precedes the names in the message."""
    settings = all_settings()
    if name in settings:
        return settings[name]
    last = name.rpartition(".")[2]
    elsewhere = last.lower().replace("-", "_")
    usual = next((ours for ours, theirs in _ELSEWHERE.items() if elsewhere in theirs), None)
    by_last = {other.rpartition(".")[2]: other for other in settings} | {other: other for other in settings}
    close = get_close_matches(name, settings, n=1, cutoff=0.75) + get_close_matches(last, by_last, n=1, cutoff=0.75)
    meant = usual or (by_last[close[0]] if close else None)
    advice = f": did you mean {prefix}{meant}?" if meant else "; kanachan-train --help lists all"
    raise ValueError(f"unknown setting {prefix}{name}{advice}")


def stage_path(stage: str) -> Path:
    """Returns the path of the stage's default settings: inside an installed package, else in the checkout."""
    package = Path(__file__).parents[1]
    installed = package / "configs"
    folder = installed if installed.is_dir() else package.parent / "configs"
    return folder / f"{stage}.yaml"


def default_files(stage: str, vocabulary: Vocabulary | None) -> list[Path]:
    """Returns the files with the defaults of a stage; later files override earlier ones. They are the stage's file and,
    if the vocabulary is known, the file for its number of players, if it exists."""
    of_players = [] if vocabulary is None else [_path_of_players(stage, vocabulary)]
    return [stage_path(stage), *(path for path in of_players if path.is_file())]


def vocabulary_of_run(stage: str, data_path: str | None, init: str | None) -> Vocabulary | None:
    """Returns the vocabulary of the run's shards, or of the weights that play its games. Returns None if the stage has
    the same defaults for all vocabularies, or if no shards can be read, which is reported when the run opens them.
    Raises ValueError, which names the weights, if the weights cannot be read."""
    if not any(_path_of_players(stage, vocabulary).is_file() for vocabulary in VOCABULARIES.values()):
        return None
    if not data_path:
        return None if init is None else vocabulary_of(init)
    from kanachan.data.shard_file import open_shard_file

    folders = (Path(data_path), Path(data_path) / ROUNDS)
    paths = [path for folder in folders for of_split in splits_in(folder).values() for path in of_split]
    try:
        return vocabulary_named(open_shard_file(paths[0])[0]["vocabulary"]) if paths else None
    except ValueError:
        return None


def _path_of_players(stage: str, vocabulary: Vocabulary) -> Path:
    return stage_path(f"{stage}-{vocabulary.num_seats}p")


def _simple(text: str, kind: type) -> Any:
    if kind is bool:
        return _TRUTH[text.lower()]
    value = kind(text)
    if kind is float and not math.isfinite(value):
        raise ValueError(text)
    return value


def _helps(section: type) -> dict[str, str]:
    """Returns the string under each field of a dataclass, by the field's name."""
    (tree,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: " ".join(str(below.value.value).split())
        for field, below in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }
