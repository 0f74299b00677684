"""What a call of kanachan-train gives: its arguments, its --config files, and the default files below them.

Some settings are needed before there is a parser: the stage chooses the default files, the size chooses defaults.
"""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

from annotate.runtime.files import MISSING
from kanachan.config import MODEL_SIZES
from kanachan.training.run_folder import SECTIONS, settings_in

SIZES = ("width", "layers", "heads", "feedforward", "decoder_layers")
"""the settings that a model size determines"""
_SHORT = {"-o": "--run.out", "--output": "--run.out"}
"""options that all commands have, and the settings that they are here"""


class GivenSettings:
    """The settings of a call.

    Args:
        argv: its arguments.

    Raises:
        ValueError: a --config file cannot be read.
        OSError: likewise.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = _files_first(_with_values(argv))
        """the --config files come first, and each switch has a value"""
        self.files = [(Path(name), _content(name)) for name in self._all_on_command_line("config")]
        """the --config files and their contents"""
        self.default_files: list[Path] = []
        """files that hold for what neither the command line nor a --config file has; the last one comes first"""

    def on_command_line(self, key: str) -> str | None:
        """Returns a setting of the command line itself, the last one if it is there several times."""
        values = self._all_on_command_line(key)
        return values[-1] if values else None

    def setting(self, key: str) -> str | None:
        """Returns a setting such as model.size: from the command line, else from a file."""
        defaults = (_entry(settings_in(path), key) for path in reversed(self.default_files))
        return next((value for value in (self._given(key), *defaults) if value is not None), None)

    def has(self, key: str) -> bool:
        """Returns whether the command line or a --config file has a setting."""
        return self._given(key) is not None

    def arguments(self, inherited: dict[str, int]) -> list[str]:
        """Returns the arguments for the parser, in which a later one overrides an earlier one.

        Args:
            inherited: sizes of the model, which override those of the default files alone.
        """
        argv, size = self.argv, self.on_command_line("model.size")
        if self.on_command_line("run.passes") is not None and self.on_command_line("run.steps") is None:
            argv = [*argv, "--run.steps=null"]  # overrides steps from a file, which would take precedence over passes
        if size is not None:  # overrides the --config files alone
            num_files = sum(2 if argument == "--config" else argument.startswith("--config=") for argument in argv)
            sizes = {name: value for name, value in asdict(MODEL_SIZES[size]).items() if name in SIZES}
            argv = [*argv[:num_files], *_model_settings(sizes), *argv[num_files:]]
        return [*_model_settings(inherited), *argv]

    def _given(self, key: str) -> str | None:
        found = (_entry(content, key) for _, content in reversed(self.files))
        return next((value for value in (self.on_command_line(key), *found) if value is not None), None)

    def _all_on_command_line(self, key: str) -> list[str]:
        option = f"--{key}"
        return [
            argument.partition("=")[2] if "=" in argument else following
            for argument, following in zip(self.argv, [*self.argv, ""][1:], strict=True)
            if argument == option or argument.startswith(option + "=")
        ]


def types_of_settings() -> dict[str, Any]:
    """Returns the type of each setting of a section, by its name, such as run.compile."""
    sections = {name: get_type_hints(section) for name, section in SECTIONS.items()}
    return {f"{name}.{key}": kind for name, hints in sections.items() for key, kind in hints.items()}


def _content(name: str) -> dict[str, Any]:
    if not Path(name).is_file():
        what = "a folder, not a YAML file" if Path(name).is_dir() else MISSING
        raise ValueError(f"--config {name}: {what}")
    return settings_in(Path(name))


def _entry(settings: dict[str, Any], key: str) -> str | None:
    entry: Any = settings
    for part in key.split("."):
        entry = entry.get(part) if isinstance(entry, dict) else None
    return None if entry is None else str(entry)


def _model_settings(sizes: dict[str, int]) -> list[str]:
    return [f"--model.{name}={value}" for name, value in sizes.items()]


def _with_values(argv: Sequence[str]) -> list[str]:
    """Replaces options by the settings that they are, and gives boolean settings without a value, such as
    --run.compile, the value true."""
    parts = (argument.partition("=") for argument in argv)
    settings = [_SHORT.get(name, name) + equals + value for name, equals, value in parts]
    switches = {f"--{name}" for name, kind in types_of_settings().items() if kind is bool}
    return [
        f"{setting}=true" if setting in switches and following.startswith("-") else setting
        for setting, following in zip(settings, [*settings, "--"][1:], strict=True)
    ]


def _files_first(argv: Sequence[str]) -> list[str]:
    """Moves the --config files to the front, as they must not override other arguments."""
    files, settings = [], []
    arguments = iter(argv)
    for argument in arguments:
        if argument == "--config":
            files += [argument, *islice(arguments, 1)]
        elif argument.startswith("--config="):
            files.append(argument)
        else:
            settings.append(argument)
    return files + settings
