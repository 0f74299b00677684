"""Messages about wrong settings, on the command line and in YAML files: what is wrong, and what was probably meant.

jsonargparse merges the settings; its own messages name types of Python and keys without their file.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import yaml

_NO_VALUE = ("--help", "-h")
_GONE = {
    "run.validate_every": "run.validation_interval, a number of decisions",
    "run.checkpoint_every": "run.checkpoint_minutes",
}
"""settings of earlier versions, and what there is in their place"""
_ELSEWHERE = {
    "lr": "optim.learning_rate",
    "wd": "optim.weight_decay",
    "grad_clip": "optim.clip",
    "gradient_clip": "optim.clip",
    "gradient_clip_val": "optim.clip",
    "max_grad_norm": "optim.clip",
    "ema": "optim.average",
    "warmup_steps": "optim.warmup",
    "epochs": "run.passes",
    "epoch": "run.passes",
    "num_epochs": "run.passes",
    "max_epochs": "run.passes",
    "max_steps": "run.steps",
    "num_steps": "run.steps",
    "gpus": "run.devices",
    "num_gpus": "run.devices",
    "device": "run.accelerator",
    "output_dir": "run.out",
    "patience": "run.early_stopping",
    "fp16": "run.precision",
    "amp": "run.precision",
    "batch_size": "data.batch",
    "gradient_accumulation_steps": "data.micro_batch",
    "accumulate_grad_batches": "data.micro_batch",
    "dataset": "data.path",
    "hidden_size": "model.width",
    "d_model": "model.width",
    "num_heads": "model.heads",
    "num_layers": "model.layers",
}
"""names of settings in other programs, and those here"""
_NAMES = {int: "a whole number", float: "a number", bool: "true or false"}


def check_command_line(argv: Sequence[str], known: Collection[str], types: Mapping[str, Any]) -> None:
    """Checks the names of all options, and the values of those in `types`.

    Args:
        known: all option strings of the parser.
        types: the type of a setting by its name, such as data.batch.

    Raises:
        ValueError: an option is unknown, has no value or one of another type; names the one that was probably meant.
    """
    arguments = iter(argv)
    for argument in arguments:
        option, has_value, value = argument.partition("=")
        if option in _NO_VALUE or option.startswith("--print"):
            continue
        if not argument.startswith("-"):
            raise ValueError(f"{argument}: no option before it; did you mean --data.path {argument}?")
        following = None if has_value else next(arguments, None)
        given = value if has_value else following
        if option not in known:
            names = [other.removeprefix("--") for other in known]
            raise ValueError(f"unknown setting {option}{_meant(option.lstrip('-'), names, '--')}")
        if given is None or (following or "").startswith("--"):
            raise ValueError(f"{option}: a value is missing")
        name = option.removeprefix("--")
        if name in types:
            _check_value(name, given, types[name])
        elif f"{name}.path" in types and not _is_mapping(given):
            raise ValueError(f"--{name} is a group of settings: did you mean --{name}.path {given}?")
        elif any(other.startswith(f"{name}.") for other in types) and not _is_mapping(given):
            own = ", ".join(other for other in types if other.startswith(f"{name}."))
            raise ValueError(f"--{name} is a group of settings: {own}")


def check_file(path: Path, settings: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Checks the names and the values in a YAML file of settings; raises ValueError with the file and the key."""
    sections = {name.partition(".")[0] for name in types if "." in name}
    for name, value in _flat(settings, sections):
        if name not in types:
            raise ValueError(f"{path}: unknown setting {name}{_meant(name, types)}")
        if isinstance(value, Mapping):
            raise ValueError(f"{path}: {name}: one value expected, not {value}")
        try:
            _check_value(name, _text(value), types[name])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None


def _flat(settings: Mapping[str, Any], sections: Collection[str]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if key in sections and isinstance(value, Mapping):
            yield from ((f"{key}.{name}", entry) for name, entry in value.items())
        else:
            yield str(key), value


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return yaml.safe_dump(value).split()[0]
    return str(value)


def _is_mapping(text: str) -> bool:
    """Returns whether a text can be all settings of a group: JSON, or a YAML file."""
    return text.startswith("{") or text.endswith((".yaml", ".yml", ".json"))


def _meant(name: str, known: Collection[str], prefix: str = "") -> str:
    """Returns a question with the known name that is most like a wrong one, which may be in another group."""
    if name in _GONE:
        return f": there is {prefix}{_GONE[name]}"
    usual = _ELSEWHERE.get(name.rpartition(".")[2].lower().replace("-", "_"))
    if usual in known:
        return f": did you mean {prefix}{usual}?"
    last = {other.rpartition(".")[2]: other for other in known} | {other: other for other in known}
    close = get_close_matches(name, list(known), n=1, cutoff=0.75)
    close += get_close_matches(name.rpartition(".")[2], list(last), n=1, cutoff=0.75)
    return f": did you mean {prefix}{last[close[0]]}?" if close else "; kanachan-train --help lists all"


def _check_value(name: str, text: str, kind: Any) -> None:
    """Raises ValueError if a text is not a value of a type, in the words of `_expected`."""
    choices = _choices(kind)
    if choices:
        if text not in choices:
            close = get_close_matches(text, choices, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise ValueError(f"{name}: one of {', '.join(choices)} expected, got {text!r}{meant}")
        return
    if get_origin(kind) is tuple:
        if get_args(kind)[0] is str:
            if not _is_list(text):
                raise ValueError(f"{name}: a list in brackets expected, such as [{text}], got {text!r}")
        elif not _is_list_of_numbers(text):
            raise ValueError(f"{name}: a list of numbers such as [90,45,0,-135] expected, got {text!r}")
        return
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if NoneType in kinds and text in ("null", "None"):
        return
    for simple in (int, float, bool):
        if simple in kinds and not (_is(simple, text) and (simple is not float or math.isfinite(float(text)))):
            may_be_null = " (or null)" if NoneType in kinds else ""
            raise ValueError(f"{name}: {_NAMES[simple]}{may_be_null} expected, got {text!r}")


def _choices(kind: Any) -> list[str]:
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


def _is_list(text: str, is_item: Callable[[object], bool] = lambda value: True) -> bool:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return isinstance(values, list) and all(map(is_item, values))


def _is_list_of_numbers(text: str) -> bool:
    return _is_list(text, lambda value: _is(float, str(value).lstrip(".")))


def _is(kind: type, text: str) -> bool:
    if kind is bool:
        return text.lower() in ("true", "false", "yes", "no", "on", "off")
    try:
        kind(text)
    except ValueError:
        return False
    return True
