"""Converts the command line and YAML files into a TrainConfig.

Precedence: dataclass defaults < model size of a file < configs/<stage>.yaml (< configs/<stage>-3p.yaml, for three
players) < sizes of --init < --config files < --model.size < the rest of the command line. Imports nothing heavy, so
that --help and messages about wrong settings are immediate.
"""

import argparse
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotate.runtime.arguments import CALLED_AS
from annotate.runtime.files import MISSING, require_folder
from annotate.vocabulary import Vocabulary
from kanachan.config import MODEL_SIZES, SIZES, StageName, TrainConfig
from kanachan.objectives.stages import POLICY, REWARD, STAGES, trained_stages
from kanachan.training.request_checks import (
    require_effect,
    require_init,
    require_other_networks,
    require_policy,
    require_source,
    sizes_of_init,
    warnings_of,
    with_possible_target,
    without_needless_stopping,
)
from kanachan.training.run_folder import (
    CHECKPOINTS,
    CONFIG_NAME,
    LENGTH,
    LENGTH_OF_ITERATIONS,
    MAY_CHANGE,
    OTHER_WEIGHTS,
    SECTIONS,
    holds_run,
    require_same,
    settings_in,
)
from kanachan.training.settings import (
    SIZE,
    all_settings,
    default_files,
    known_setting,
    settings_of,
    stage_path,
    vocabulary_of_run,
)

PROGRAM = "kanachan-train"
_USAGE = (
    f"{PROGRAM} --stage STAGE --data.path DIR [-o RUN_FOLDER] [--init WEIGHTS] [--config YAML] [settings]\n"
    f"       {PROGRAM} --stage policy --init WEIGHTS --selfplay.games N [-o RUN_FOLDER] [settings]\n"
    f"       {PROGRAM} --resume RUN_FOLDER"
)
_DESCRIPTION = """Trains one stage of the curriculum: {stages} or {last}; or stage reward, the
reward predictor, which learns only from rounds; or stage policy, a policy that learns from its own games. A setting
that is not given here is read from --config files, else from configs/<stage>.yaml, else from
the defaults below (with --stage STAGE before --help, those of the stage)."""
_CONFIG_HELP = "YAML file that overrides the stage's defaults; may be repeated"
_RESUME_HELP = (
    "folder of a run to resume with its own settings; auto: resume the run in --output, if there is one (give all "
    "settings of its command again). --resume RUN trains a run further, even if it has ended, with other values of "
    f"{', '.join(sorted(LENGTH))}, or, if it has iterations, of {', '.join(LENGTH_OF_ITERATIONS)}. Settings that may "
    f"always change: {', '.join(sorted(MAY_CHANGE - OTHER_WEIGHTS - {'run.out'}))} and, without iterations, "
    f"{', '.join(sorted(OTHER_WEIGHTS))}"
)
_SHORT = {"-o": "--run.out", "--output": "--run.out"}
"""options that all commands have, and their settings here"""

_CHOSEN = {"data": ("batch", "micro_batch"), "run": ("group", "precision", "validation_interval")}
"""settings that a run chooses unless they are given; a resumed run keeps what was chosen"""

Layer = Mapping[str, Any]
"""settings by name, such as data.batch, from one source"""


@dataclass(frozen=True)
class Request:
    """Configuration of a call of kanachan-train, whether it resumes a run, and warnings about its settings."""

    config: TrainConfig
    resume: bool
    warnings: tuple[str, ...] = ()


def requested(argv: Sequence[str]) -> Request:
    """Parses the command line; on an error, prints the usage and a one-line message and exits with status 2."""
    if "--version" in argv:
        print(f"{_called(PROGRAM)} {version('kanachan')}")
        raise SystemExit(0)
    wants_help = not {"-h", "--help"}.isdisjoint(argv)
    try:
        given = _Given([argument for argument in argv if argument not in ("-h", "--help")])
        if wants_help:
            _print_help(given)
            raise SystemExit(0)
        return _requested(given)
    except (ValueError, OSError) as error:
        message = " ".join(str(error).split())
        print(f"usage: {_called(_USAGE)}\n{_called(PROGRAM)}: error: {message}", file=sys.stderr)
        raise SystemExit(2) from None


def stage_defaults(stage: StageName, vocabulary: Vocabulary) -> TrainConfig:
    """Returns the default settings of a stage, with the current folder as data.path. `vocabulary`: vocabulary of the
    data."""
    given = _Given(["--data.path=."])
    given.read_defaults(default_files(stage, vocabulary))
    return _config(given.merged())


def saved_config(path: Path) -> TrainConfig:
    """Reads a configuration that `save_config` wrote. Raises ValueError, naming the file, if a setting is unknown or of
    the wrong type."""
    defaults = {name: setting.default for name, setting in all_settings().items()}
    return _config(defaults | settings_of(settings_in(path), path))


class _Given:
    """The settings of a call, in layers. Raises ValueError or OSError if an argument or a --config file is wrong or
    cannot be read."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.resume: str | None = None
        self.files: list[tuple[Path, dict[str, Any]]] = []
        """the --config files and their contents"""
        self.line: dict[str, Any] = {}
        """the settings of the command line"""
        self._read(list(argv))
        self._of_files: list[Layer] = [settings_of(content, path) for path, content in self.files]
        self._defaults: list[Layer] = []

    def _read(self, arguments: list[str]) -> None:
        while arguments:
            argument = arguments.pop(0)
            given, has_value, value = argument.partition("=")
            option = _SHORT.get(given, given)
            if not option.startswith("-"):
                raise ValueError(f"{argument}: no option before it; did you mean --data.path {argument}?")
            if not option.startswith("--"):
                raise ValueError(f"unknown option {given}; kanachan-train --help lists all")
            name = option.removeprefix("--")
            if name in SECTIONS:
                own = ", ".join(other for other in all_settings() if other.startswith(f"{name}."))
                meant = f"did you mean --data.path {value or ' '.join(arguments[:1])}?" if name == "data" else own
                raise ValueError(f"{option} is a group of settings: {meant}")
            setting = None if name in ("config", "resume") else known_setting(name, "--")
            is_switch = setting is not None and setting.kind is bool and (not arguments or arguments[0].startswith("-"))
            if is_switch and not has_value:
                value = "true"
            elif not has_value:
                if not arguments or arguments[0].startswith("--"):
                    raise ValueError(f"{given}: a value is missing")
                value = arguments.pop(0)
            if setting is not None:
                self.line[name] = setting.value(value)
            elif name == "resume":
                self.resume = value
            else:
                if not Path(value).is_file():
                    what = "a folder, not a YAML file" if value and Path(value).is_dir() else MISSING
                    raise ValueError(f"--config {value}: {what}")
                self.files.append((Path(value), settings_in(Path(value))))

    def read_defaults(self, files: Sequence[Path]) -> None:
        """Reads files of defaults, below --config files and the command line; later files override earlier ones."""
        self._defaults = [settings_of(settings_in(path), path) for path in files]

    def setting(self, name: str) -> Any:
        """Returns the value of a setting that is given anywhere, else None."""
        layers = (self.line, *reversed(self._of_files), *reversed(self._defaults))
        return next((layer[name] for layer in layers if name in layer), None)

    def has(self, name: str) -> bool:
        return any(name in layer for layer in (*self._of_files, self.line))

    def merged(self, inherited: Layer | None = None) -> dict[str, Any]:
        """Returns all settings. Each source overrides the ones before it: the program's defaults; the sizes of a
        model.size that is given in a file; the files of defaults (of a resumed run: its config.yaml); `inherited`, the
        sizes of the --init weights; the --config files in their order; the sizes of --model.size; the command line."""
        below = [*self._defaults, inherited or {}, *self._of_files]
        size = next((layer[SIZE] for layer in reversed(below) if SIZE in layer), all_settings()[SIZE].default)
        values: dict[str, Any] = {name: setting.default for name, setting in all_settings().items()}
        for layer in (_sizes(size), *below, _sizes(self.line.get(SIZE)), self.line):
            values |= layer
            if "run.passes" in layer and "run.steps" not in layer:
                values["run.steps"] = None  # steps from a lower layer would take precedence over passes
        if not self.has("objective.target") and values["objective.prior"] is values["objective.reward"] is None:
            values["objective.target"] = "game"  # the target of a round needs a reward predictor
        return values


def _sizes(size: str | None) -> Layer:
    return {} if size is None else {f"model.{name}": getattr(MODEL_SIZES[size], name) for name in SIZES}


def _config(values: Layer) -> TrainConfig:
    sections = {
        name: kind(**{setting.name: values[f"{name}.{setting.name}"] for setting in fields(kind)})
        for name, kind in SECTIONS.items()
    }
    return TrainConfig(stage=values["stage"], init=values["init"], **sections)


def _requested(given: _Given) -> Request:
    saved_file, notes = _saved_file(given.resume), list[str]()
    _read_defaults(given, saved_file)
    _require_stage_and_data(given)
    config = _parsed(given)
    if saved_file is not None:
        config = _in_its_folder(config, given, saved_file.parent)
    else:  # replace defaults of the stage that the data does not allow
        if not given.has("run.early_stopping"):
            config = without_needless_stopping(config)
        if not given.has("objective.target") and (possible := with_possible_target(config)) != config:
            config = possible
            notes.append(
                f"{config.data.path} lacks rounds of a split, so stage {config.stage} learns outcomes of games instead "
                "of rounds (objective.target=game): kanachan-annotate RECORDS --pack SHARDS makes shards with rounds"
            )
    out = Path(config.run.out)
    if holds_run(out):
        if given.resume is None:
            raise ValueError(f"{out} already holds a run: continue it with --resume {out}, or choose another --output")
        return Request(_resumed(config, given, is_named=saved_file is not None), resume=True)
    require_init(config)
    require_other_networks(config)
    require_policy(config)
    return Request(config, resume=False, warnings=(*notes, *warnings_of(config, given.files)))


def _saved_file(resume: str | None) -> Path | None:
    """Returns the settings file of the run that --resume names; None if it names no run."""
    if resume is None or resume == "auto":
        return None
    file = Path(resume) / CONFIG_NAME
    if not file.is_file():
        raise ValueError(f"--resume {resume}: {file} does not exist, so this is not a run folder")
    return file


def _read_defaults(given: _Given, saved_file: Path | None) -> None:
    """Reads the files with the defaults of a call: the settings of the resumed run, or the defaults of the stage and of
    its number of players."""
    if saved_file is not None:
        given.read_defaults([saved_file])
    stage, init = given.setting("stage"), given.setting("init")
    if stage == REWARD and init is not None:
        raise ValueError(f"--init {init}: stage {REWARD} has no encoder to start from; remove --init")
    # a registered stage whose settings are all in --config files needs no file of its own
    if saved_file is not None or stage is None or (given.files and not stage_path(stage).is_file()):
        return
    given.read_defaults([stage_path(stage)])
    vocabulary = vocabulary_of_run(stage, given.setting("data.path"), given.setting("init"))
    given.read_defaults(default_files(stage, vocabulary))


def _require_stage_and_data(given: _Given) -> None:
    plays = given.setting("selfplay.games") is not None
    needed = ("stage",) if plays else ("stage", "data.path")
    missing = [f"--{name}" for name in needed if not given.setting(name)]
    if missing:
        advice = f"; the stages are {', '.join(trained_stages())}" if "--stage" in missing else ""
        if given.setting("stage") == POLICY:
            advice = ", or --selfplay.games, to play games"
        raise ValueError(f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} required{advice}")


def _parsed(given: _Given) -> TrainConfig:
    """Returns the settings after checking that they agree; a new run has the sizes of --init."""
    size, init, out = (given.setting(name) for name in (SIZE, "init", "run.out"))
    starts = given.resume is None or (given.resume == "auto" and (out is None or not holds_run(Path(out))))
    taken = sizes_of_init(init) if init is not None and starts else {}
    inherited = {f"model.{name}": value for name, value in taken.items() if size is None}
    config = _config(given.merged(inherited))
    require_effect(config)
    require_source(config)
    require_folder(config.run.out)
    return config


def _in_its_folder(config: TrainConfig, given: _Given, folder: Path) -> TrainConfig:
    """Returns the settings of a run named by --resume; raises ValueError if it cannot be resumed in its folder."""
    resume, output = given.resume, given.line.get("run.out")
    if output is not None and Path(output).resolve() != folder.resolve():
        raise ValueError(f"--output {output}: --resume {resume} continues in its own folder; remove --output")
    if not holds_run(folder):
        raise ValueError(
            f"--resume {resume}: there is no checkpoint in {folder / CHECKPOINTS}: the run ended before writing one: "
            "start it again"
        )
    if config.selfplay.games is not None and Path(config.run.out) != folder:
        raise ValueError(
            f"--resume {resume}: games and weights of iterations have the folder in their names: give it as it was "
            f"given before, --resume {config.run.out}, in the folder where the run was started"
        )
    return replace(config, run=replace(config.run, out=str(folder)))


def _resumed(config: TrainConfig, given: _Given, *, is_named: bool) -> TrainConfig:
    """Returns the configuration of a resumed run; raises ValueError if the run would compute something else.
    `is_named`: --resume names the run, so its length may change."""
    saved = saved_config(Path(config.run.out) / CONFIG_NAME)
    if config.init and saved.init and Path(config.init).resolve() == Path(saved.init).resolve():
        config = replace(config, init=saved.init)
    for section, names in _CHOSEN.items():
        now, before = getattr(config, section), getattr(saved, section)
        chosen = {name: getattr(before, name) for name in names if getattr(now, name) == getattr(type(now), name)}
        config = replace(config, **{section: replace(now, **chosen)})
    # sizes that the saved run had from --init
    names = SIZES if config.init is not None and SIZE not in given.line else ()
    taken = {name: getattr(saved.model, name) for name in names if not given.has(f"model.{name}")}
    config = replace(config, model=replace(config.model, **taken))
    may_change = MAY_CHANGE | LENGTH if is_named else MAY_CHANGE
    if config.selfplay.games is not None:
        # updates get their settings when they begin; there is no checkpoint with hashes of other weights
        may_change = may_change - OTHER_WEIGHTS - LENGTH | (LENGTH_OF_ITERATIONS if is_named else frozenset())
    require_same(saved, config, may_change)
    return config


def _print_help(given: _Given) -> None:
    """Prints the settings with their defaults, for the stage if one is given."""
    stage = given.setting("stage")
    if stage is not None and stage_path(stage).is_file():
        given.read_defaults([stage_path(stage)])
    defaults, (*stages, last) = given.merged(), STAGES
    parser = argparse.ArgumentParser(
        prog=_called(PROGRAM),
        usage=_called(_USAGE),
        description=_DESCRIPTION.format(stages=", ".join(stages), last=last),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="show the program's version number and exit")
    parser.add_argument("--config", metavar="YAML", help=_CONFIG_HELP)
    parser.add_argument("--resume", metavar="RUN_FOLDER", help=_RESUME_HELP)
    groups = {
        name: parser.add_argument_group(inspect.getdoc(section).splitlines()[0].rstrip("."))  # type: ignore[union-attr]
        for name, section in SECTIONS.items()
    }
    for name, setting in all_settings().items():
        options = [short for short, long in _SHORT.items() if long == f"--{name}"]
        default = "" if defaults[name] in (None, "") else f" (default: {_as_yaml(defaults[name])})"
        groups.get(name.partition(".")[0], parser).add_argument(
            *options, f"--{name}", metavar=_metavar(setting.kind), help=(setting.help + default).replace("%", "%%")
        )
    parser.print_help()


def _metavar(kind: Any) -> str:
    """Returns the placeholder of a value in the help text."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(member for member in get_args(kind) if member is not NoneType)
    if get_origin(kind) is Literal:
        return f"{{{','.join(get_args(kind))}}}"
    if get_origin(kind) is tuple:
        return f"[{_metavar(get_args(kind)[0])},...]"
    return {int: "N", float: "X", str: "TEXT", bool: "{true,false}"}[kind]


def _as_yaml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _called(text: str) -> str:
    """Replaces the program's name in a text by the name under which it was started."""
    return text.replace(PROGRAM, CALLED_AS.get() or PROGRAM)
