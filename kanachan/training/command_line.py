"""Command line and YAML files → TrainConfig, and back to config.yaml.

Precedence: dataclass defaults < model size of a file < configs/<stage>.yaml (< configs/<stage>-3p.yaml, for three
players) < sizes of --init < --config files < --model.size < the rest of the command line. Imports nothing heavy, so
that --help and messages about wrong settings are immediate.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NoReturn

from jsonargparse import ArgumentError, ArgumentParser, Namespace, set_parsing_settings

from annotate.runtime.arguments import CALLED_AS
from annotate.vocabulary import Vocabulary
from kanachan.config import MODEL_SIZES, StageName, TrainConfig
from kanachan.objectives.stages import REWARD, STAGES, trained_stages
from kanachan.training.default_files import files_of_players, stage_file, stage_path, vocabulary_of_run
from kanachan.training.given_settings import SIZES, GivenSettings, types_of_settings
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
    BEST_NAME,
    CHECKPOINTS,
    CONFIG_NAME,
    LENGTH,
    MAY_CHANGE,
    SECTIONS,
    convert_config,
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


@dataclass(frozen=True)
class Request:
    """The configuration of a call of kanachan-train, whether it resumes a run, and what is unusual in it."""

    config: TrainConfig
    resume: bool
    warnings: tuple[str, ...] = ()


def requested(argv: Sequence[str]) -> Request:
    """Parses the command line; on an error, prints the usage and a one-line message and exits with status 2."""
    try:
        request = _requested(GivenSettings(argv))
    except (ArgumentError, ValueError, OSError) as error:
        _exit_with(str(error))
    return request


def stage_defaults(stage: StageName, vocabulary: Vocabulary) -> TrainConfig:
    """Returns the settings of a run that names its stage and, as the path of its data, the current folder.

    Args:
        vocabulary: of its data.
    """
    given = GivenSettings(["--data.path=."])
    given.default_files = [stage_file(stage), *files_of_players(stage, vocabulary)]
    return _config(_parser(given).parse_args(given.argv))


def _requested(given: GivenSettings) -> Request:
    resume = given.on_command_line("resume")
    saved_file = _saved_file(resume)
    given.default_files = _default_files(given, saved_file)
    parser = _parser(given)
    if not {"--help", "-h", "--print_config"} & {argument.partition("=")[0] for argument in given.argv}:
        _check(parser, given)
    config = _parsed(parser, given)
    if saved_file is not None:
        config = _in_its_folder(config, given, saved_file.parent)
    elif not given.has("run.early_stopping"):  # of the defaults of the stage
        config = without_needless_stopping(config)
    if _resumes(Path(config.run.out), resume):
        return Request(_resumed(config, given, is_named=saved_file is not None), resume=True)
    require_init(config)
    require_teacher(config)
    return Request(config, resume=False, warnings=tuple(warnings_of(config, given.files)))


def _saved_file(resume: str | None) -> Path | None:
    """Returns the settings of the run that --resume names, None if it names none."""
    if resume is None or resume == "auto":
        return None
    file = Path(resume) / CONFIG_NAME
    if not file.is_file():
        raise ValueError(f"--resume {resume}: {file} does not exist, so this is not a run folder")
    if "final_factor" in settings_in(file).get("optim", {}):
        raise ValueError(
            f"--resume {resume}: begun by a version of kanachan in which the learning rate fell on a cosine; continue "
            f"with a new run: --init {Path(resume) / CHECKPOINTS / BEST_NAME}"
        )
    convert_config(file)
    return file


def _default_files(given: GivenSettings, saved_file: Path | None) -> list[Path]:
    """Returns the files with the defaults of a call: the settings of its run, or those of its stage, and then those of
    its stage and its number of players."""
    given.default_files = [] if saved_file is None else [saved_file]  # until the stage is known
    stage, init = given.setting("stage"), given.setting("init")
    if stage == REWARD and init is not None:
        raise ValueError(f"--init {init}: stage {REWARD} has no encoder to start from; remove --init")
    if saved_file is not None:
        return [saved_file]
    # a registered stage whose settings are all in --config files needs no file of its own
    if stage not in trained_stages() or (given.files and not stage_path(stage).is_file()):
        return []
    given.default_files = [stage_file(stage)]
    vocabulary = vocabulary_of_run(stage, given.setting("data.path"), given.setting("init"))
    return [*given.default_files, *(files_of_players(stage, vocabulary) if vocabulary is not None else [])]


def _check(parser: ArgumentParser, given: GivenSettings) -> None:
    """Raises ValueError if a setting is unknown, has a value of another type, or is missing."""
    types = types_of_settings()
    types |= {"model.size": Literal[tuple(MODEL_SIZES)], "stage": Literal[trained_stages()]}
    types |= {"init": str | None, "resume": str | None}
    known = {option for action in parser._actions for option in action.option_strings}
    check_command_line(given.argv, known, types)
    for path, settings in given.files:
        check_file(path, settings, types)
    plays = given.setting("selfplay.games") is not None
    needed = ("stage",) if plays else ("stage", "data.path")
    missing = [f"--{name}" for name in needed if not given.setting(name)]
    if missing:
        advice = f"; the stages are {', '.join(trained_stages())}" if "--stage" in missing else ""
        raise ValueError(f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} required{advice}")


def _parsed(parser: ArgumentParser, given: GivenSettings) -> TrainConfig:
    """Returns the settings of the parser, which agree with each other; a run that starts has the sizes of --init."""
    size, init, out = (given.setting(name) for name in ("model.size", "init", "run.out"))
    resume = given.on_command_line("resume")
    starts = resume is None or (resume == "auto" and (out is None or not holds_run(Path(out))))
    inherited = sizes_of_init(init) if init is not None and starts and size is None else {}
    values = parser.parse_args(given.arguments(inherited))
    if size is not None and values.model.size != size:
        raise ValueError("give model.size as --model.size or inside a --config file")
    config = _config(values)
    require_effect(config)
    require_source(config)
    require_tensorboard(config.run)
    return config


def _in_its_folder(config: TrainConfig, given: GivenSettings, folder: Path) -> TrainConfig:
    """Returns the settings of a run that --resume has named; raises ValueError if it cannot continue in its folder."""
    resume, output = given.on_command_line("resume"), given.on_command_line("run.out")
    if output is not None and Path(output).resolve() != folder.resolve():
        raise ValueError(f"--output {output}: --resume {resume} continues in its own folder; remove --output")
    if not holds_run(folder):
        raise ValueError(f"--resume {resume}: there is no checkpoint in {folder / CHECKPOINTS}")
    return replace(config, run=replace(config.run, out=str(folder)))


def _resumed(config: TrainConfig, given: GivenSettings, *, is_named: bool) -> TrainConfig:
    """Returns the configuration of a run that is resumed; raises ValueError if it would compute something else.

    Args:
        is_named: the run was named (--resume RUN), so that it may be given another length.
    """
    saved = load_config(Path(config.run.out) / CONFIG_NAME)
    # what was chosen for the saved run
    if config.run.precision == "auto":
        config = replace(config, run=replace(config.run, precision=saved.run.precision))
    for name in ("batch", "micro_batch"):
        if getattr(config.data, name) is None:
            config = replace(config, data=replace(config.data, **{name: getattr(saved.data, name)}))
    if config.run.validation_interval is None:
        config = replace(config, run=replace(config.run, validation_interval=saved.run.validation_interval))
    if config.init is not None and given.on_command_line("model.size") is None:  # as --init gave them to the saved run
        taken = {name: getattr(saved.model, name) for name in SIZES if not given.has(f"model.{name}")}
        config = replace(config, model=replace(config.model, **taken))
    require_same(saved, config, MAY_CHANGE | LENGTH if is_named else MAY_CHANGE)
    return config


def _resumes(out: Path, resume: str | None) -> bool:
    """Returns whether the run continues the one in its folder; refuses to start another there."""
    if not holds_run(out):
        return False
    if resume is None:
        raise ValueError(f"{out} already holds a run: continue it with --resume {out}, or choose another --output")
    return True


def _parser(given: GivenSettings) -> ArgumentParser:
    """Makes the parser, with the defaults of the call."""
    size = given.setting("model.size")
    size = size if size in MODEL_SIZES else DEFAULT_SIZE
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    *stages, last = STAGES
    parser = ArgumentParser(
        prog=_called(PROGRAM),
        usage=_called(_USAGE),
        description=DESCRIPTION.format(stages=", ".join(stages), last=last),
        default_config_files=[str(path) for path in given.default_files],
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


def _called(text: str) -> str:
    """Replaces the program's name in a text by the one under which it was started."""
    return text.replace(PROGRAM, CALLED_AS.get() or PROGRAM)


def _exit_with(message: str) -> NoReturn:
    print(f"usage: {_called(_USAGE)}\n{_called(PROGRAM)}: error: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)
