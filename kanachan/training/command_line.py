"""Command line and YAML files → TrainConfig, and back to config.yaml.

Precedence: dataclass defaults < model size of a file < configs/<stage>.yaml (< configs/<stage>-3p.yaml, for three
players) < sizes of --init < --config files < --model.size < the rest of the command line. Imports nothing heavy, so
that --help and messages about wrong settings are immediate.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn, get_type_hints

from jsonargparse import ArgumentError, ArgumentParser, Namespace, set_parsing_settings

from annotate.runtime.arguments import CALLED_AS
from annotate.runtime.files import MISSING
from annotate.vocabulary import Vocabulary
from kanachan.config import MODEL_SIZES, StageName, TrainConfig
from kanachan.objectives.stages import REWARD, STAGES, trained_stages
from kanachan.training.default_files import files_of_players, stage_file, stage_path, vocabulary_of_run
from kanachan.training.request_checks import (
    require_effect,
    require_init,
    require_source,
    require_teacher,
    require_tensorboard,
    sizes_of_init,
    warnings_of,
    without_needless_stopping,
)
from kanachan.training.run_folder import (
    CHECKPOINTS,
    CONFIG_NAME,
    LENGTH,
    MAY_CHANGE,
    SECTIONS,
    holds_run,
    load_config,
    require_same,
    settings_in,
)
from kanachan.training.setting_errors import check_command_line, check_file

PROGRAM = "kanachan-train"
_USAGE = (
    f"{PROGRAM} --stage STAGE --data.path DIR [-o RUN_FOLDER] [--init WEIGHTS] [--config YAML] [settings]\n"
    f"       {PROGRAM} --stage policy --init WEIGHTS --selfplay.games N [-o RUN_FOLDER] [settings]\n"
    f"       {PROGRAM} --resume RUN_FOLDER"
)
DESCRIPTION = """Trains one stage of the curriculum: {stages} or {last}; or, from rounds alone, the
reward predictor, stage reward; or, on games of self-play, the oracle critic, stage critic, and a policy that has played
them, stage policy. A setting that is not given here is read from --config files, else from configs/<stage>.yaml, else
from the defaults below."""
DEFAULT_SIZE = "small"
_SIZES = ("width", "layers", "heads", "feedforward", "decoder_layers")
"""the settings that a model size determines"""


@dataclass(frozen=True)
class Request:
    """The configuration of a call of kanachan-train, whether it resumes a run, and what is unusual in it."""

    config: TrainConfig
    resume: bool
    warnings: tuple[str, ...] = ()


def requested(argv: Sequence[str]) -> Request:
    """Parses the command line; on an error, prints the usage and a one-line message and exits with status 2."""
    try:
        request = _requested(_files_first(_with_settings(argv)))
    except (ArgumentError, ValueError, OSError) as error:
        _exit_with(str(error))
    return request


def stage_defaults(stage: StageName, vocabulary: Vocabulary) -> TrainConfig:
    """Returns the settings of a run that names its stage and, as the path of its data, the current folder.

    Args:
        vocabulary: of its data.
    """
    files = [stage_file(stage), *files_of_players(stage, vocabulary)]
    size = _first_setting([], files, "model.size") or DEFAULT_SIZE
    return _config(_parser(files, size).parse_args(["--data.path=."]))


def _requested(argv: list[str]) -> Request:
    resume = _on_command_line(argv, "resume")
    saved_file = None if resume is None or resume == "auto" else Path(resume) / CONFIG_NAME
    if saved_file is not None and not saved_file.is_file():
        raise ValueError(f"--resume {resume}: {saved_file} does not exist, so this is not a run folder")
    files = [(Path(name), _config_file(name)) for name in _all_on_command_line(argv, "config")]
    stage = _first_setting(argv, [saved_file] if saved_file else [], "stage")
    default_file = saved_file or _default_file(stage, has_config=bool(files))
    defaults = [default_file] if default_file else []
    size = _first_setting(argv, defaults, "model.size")
    init = _first_setting(argv, defaults, "init")
    if stage == REWARD and init is not None:
        raise ValueError(f"--init {init}: stage {REWARD} has no encoder to start from; remove --init")
    if default_file is not None and saved_file is None:
        assert stage is not None
        vocabulary = vocabulary_of_run(stage, _first_setting(argv, defaults, "data.path"), init)
        defaults += [] if vocabulary is None else files_of_players(stage, vocabulary)
    out = _first_setting(argv, defaults, "run.out")
    starts = resume is None or (resume == "auto" and (out is None or not holds_run(Path(out))))
    sizes = sizes_of_init(init) if init is not None and starts and size is None else {}
    parser = _parser(defaults, size if size in MODEL_SIZES else DEFAULT_SIZE)
    if not {"--help", "-h", "--print_config"} & {argument.partition("=")[0] for argument in argv}:
        _check(parser, argv, files, defaults)
    if _on_command_line(argv, "run.passes") is not None and _on_command_line(argv, "run.steps") is None:
        argv = [*argv, "--run.steps=null"]  # overrides steps from a file, which would take precedence over passes
    has_size = _on_command_line(argv, "model.size") is not None
    inherited = [f"--model.{name}={value}" for name, value in sizes.items()]  # over the stage's file alone
    values = parser.parse_args([*inherited, *(_with_sizes(argv, str(size)) if has_size else argv)])
    if size is not None and values.model.size != size:
        raise ValueError("give model.size as --model.size or inside a --config file")
    config = _config(values)
    require_effect(config)
    require_source(config)
    require_tensorboard(config.run)
    if saved_file is None and _first_setting(argv, [], "run.early_stopping") is None:  # of the defaults of the stage
        config = without_needless_stopping(config)
    if saved_file is not None:
        given = _on_command_line(argv, "run.out")
        if given is not None and Path(given).resolve() != saved_file.parent.resolve():
            raise ValueError(f"--output {given}: --resume {resume} continues in its own folder; remove --output")
        config = replace(config, run=replace(config.run, out=str(saved_file.parent)))
        if not holds_run(saved_file.parent):
            raise ValueError(f"--resume {resume}: there is no checkpoint in {saved_file.parent / CHECKPOINTS}")
    if not _resumes(Path(config.run.out), resume):
        require_init(config)
        require_teacher(config)
        return Request(config, resume=False, warnings=tuple(warnings_of(config, files)))
    return Request(_resumed(config, argv, is_named=saved_file is not None), resume=True)


def _check(
    parser: ArgumentParser, argv: list[str], files: Sequence[tuple[Path, dict[str, Any]]], defaults: Sequence[Path]
) -> None:
    """Raises ValueError if a setting is unknown, has a value of another type, or is missing."""
    types = _types()
    types |= {"model.size": Literal[tuple(MODEL_SIZES)], "stage": Literal[trained_stages()]}
    types |= {"init": str | None, "resume": str | None}
    known = {option for action in parser._actions for option in action.option_strings}
    check_command_line(argv, known, types)
    for path, settings in files:
        check_file(path, settings, types)
    plays = _first_setting(argv, defaults, "selfplay.games") is not None
    needed = ("stage",) if plays else ("stage", "data.path")
    missing = [f"--{name}" for name in needed if not _first_setting(argv, defaults, name)]
    if missing:
        advice = f"; the stages are {', '.join(trained_stages())}" if "--stage" in missing else ""
        raise ValueError(f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} required{advice}")


def _config_file(name: str) -> dict[str, Any]:
    if not Path(name).is_file():
        what = "a folder, not a YAML file" if Path(name).is_dir() else MISSING
        raise ValueError(f"--config {name}: {what}")
    return settings_in(Path(name))


def _resumed(config: TrainConfig, argv: list[str], *, is_named: bool) -> TrainConfig:
    """Returns the configuration of a run that is resumed; raises ValueError if it would compute something else.

    Args:
        is_named: the run was named (--resume RUN), so that it may be given another length.
    """
    saved = load_config(Path(config.run.out) / CONFIG_NAME)
    if config.run.precision == "auto":  # as it was chosen for the saved run
        config = replace(config, run=replace(config.run, precision=saved.run.precision))
    if config.init is not None and _on_command_line(argv, "model.size") is None:  # as --init gave them to the saved run
        given = {name for name in _SIZES if _first_setting(argv, [], f"model.{name}") is not None}
        taken = {name: getattr(saved.model, name) for name in _SIZES if name not in given}
        config = replace(config, model=replace(config.model, **taken))
    require_same(saved, config, MAY_CHANGE | LENGTH if is_named else MAY_CHANGE)
    return config


def _default_file(stage: str | None, *, has_config: bool) -> Path | None:
    """Returns the stage's default file; a registered stage whose settings are all in --config files needs none."""
    if stage not in trained_stages():
        return None
    return stage_file(stage) if not has_config or stage_path(stage).is_file() else None


def _resumes(out: Path, resume: str | None) -> bool:
    """Returns whether the run continues the one in its folder; refuses to start another there."""
    if not holds_run(out):
        return False
    if resume is None:
        raise ValueError(f"{out} already holds a run: continue it with --resume {out}, or choose another --output")
    return True


def _parser(defaults: Sequence[Path], size: str) -> ArgumentParser:
    """Makes the parser.

    Args:
        size: the model size of the defaults.
    """
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    *stages, last = STAGES
    parser = ArgumentParser(
        prog=_called(PROGRAM),
        usage=_called(_USAGE),
        description=DESCRIPTION.format(stages=", ".join(stages), last=last),
        default_config_files=[str(path) for path in defaults],
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('kanachan')}")
    parser.add_argument("--config", action="config", help="YAML file over the stage's defaults; may be repeated")
    parser.add_argument(
        "--stage",
        type=Literal[trained_stages()],
        required=True,
        help="stage of the curriculum, reward, critic or policy",
    )
    parser.add_argument(
        "--init",
        type=str | None,
        default=None,
        help="weights file or run folder of an earlier stage, or weights of the package (reference, reference/STAGE); "
        "their encoder is loaded, and from weights of the same stage also the decoder and the heads (imitation and "
        "policy count as the same); with fewer --model.layers, stages of the curriculum begin with some of its blocks",
    )
    parser.add_argument(
        "--resume",
        type=str | None,
        default=None,
        help="run folder whose run is continued with its own settings; auto: continue the run in --output, "
        f"if there is one. --resume RUN with another run.steps or run.passes trains a run further, also one that has "
        f"ended. May be changed then: {', '.join(sorted(MAY_CHANGE - {'run.out'}))}",
    )
    for name, kind in SECTIONS.items():
        parser.add_class_arguments(kind, name)
        if name == "model":
            parser.add_argument(
                "--model.size",
                type=Literal[tuple(MODEL_SIZES)],
                default=size,
                help="sets width, layers, heads, feedforward and decoder_layers where they are not given: "
                + ", ".join(f"{key} {value.width} x {value.layers}" for key, value in MODEL_SIZES.items()),
            )
    parser.set_defaults({f"model.{key}": value for key, value in asdict(MODEL_SIZES[size]).items()})
    return parser


def _config(values: Namespace) -> TrainConfig:
    sections = {
        name: kind(**{setting.name: values[f"{name}.{setting.name}"] for setting in fields(kind)})
        for name, kind in SECTIONS.items()
    }
    return TrainConfig(stage=values.stage, init=values.init, **sections)


def _first_setting(argv: list[str], defaults: Sequence[Path], key: str) -> str | None:
    """Returns `key` from the command line, else from the last --config file that has it, else from the defaults.

    Needed before the parser exists: the stage chooses the default file, the size chooses defaults.
    """
    value = _on_command_line(argv, key)
    files = [*defaults, *(Path(name) for name in _all_on_command_line(argv, "config"))]
    for path in reversed(files):
        if value is None and path.is_file():
            entry: Any = settings_in(path)
            for part in key.split("."):
                entry = entry.get(part) if isinstance(entry, dict) else None
            value = None if entry is None else str(entry)
    return value


def _with_sizes(argv: list[str], size: str) -> list[str]:
    """Inserts the settings of --model.size after the --config files, before all other settings."""
    sizes = {key: value for key, value in asdict(MODEL_SIZES[size]).items() if key in _SIZES}
    num_files = sum(2 if argument == "--config" else argument.startswith("--config=") for argument in argv)
    return [*argv[:num_files], *(f"--model.{key}={value}" for key, value in sizes.items()), *argv[num_files:]]


def _with_settings(argv: Sequence[str]) -> list[str]:
    """Replaces -o and --output, as all commands have them, by the setting run.out, and gives boolean settings without
    a value, such as --run.compile, the value true."""
    names = {"-o": "--run.out", "--output": "--run.out"}
    parts = (argument.partition("=") for argument in argv)
    settings = [names.get(name, name) + equals + value for name, equals, value in parts]
    switches = {f"--{name}" for name, kind in _types().items() if kind is bool}
    return [
        f"{setting}=true" if setting in switches and following.startswith("-") else setting
        for setting, following in zip(settings, [*settings, "--"][1:], strict=True)
    ]


def _types() -> dict[str, Any]:
    """Returns the type of each setting of a section, by its name, such as run.compile."""
    sections = {name: get_type_hints(section) for name, section in SECTIONS.items()}
    return {f"{name}.{key}": kind for name, hints in sections.items() for key, kind in hints.items()}


def _files_first(argv: Sequence[str]) -> list[str]:
    """Moves the --config files to the front: in jsonargparse, later arguments override earlier ones."""
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


def _on_command_line(argv: list[str], key: str) -> str | None:
    values = _all_on_command_line(argv, key)
    return values[-1] if values else None


def _all_on_command_line(argv: list[str], key: str) -> list[str]:
    option = f"--{key}"
    return [
        argument.partition("=")[2] if "=" in argument else following
        for argument, following in zip(argv, [*argv, ""][1:], strict=True)
        if argument == option or argument.startswith(option + "=")
    ]


def _called(text: str) -> str:
    """Replaces the program's name in a text by the one under which it was started."""
    return text.replace(PROGRAM, CALLED_AS.get() or PROGRAM)


def _exit_with(message: str) -> NoReturn:
    print(f"usage: {_called(_USAGE)}\n{_called(PROGRAM)}: error: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)
