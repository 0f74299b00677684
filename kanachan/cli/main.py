"""kanachan: starts any of the commands, as `kanachan COMMAND`."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version

from annotate.runtime.arguments import CALLED_AS, suggestion
from annotate.runtime.terminal import run_cleanly

PROGRAM = "kanachan"
COMMANDS: Mapping[str, Mapping[str, str]] = {
    "data": {
        "annotate": "convert game records to annotations or shards",
        "simulate": "simulate games between rule-based players",
        "pack": "pack annotations into shards",
        "selfplay": "play games into shards",
    },
    "training": {
        "train": "train one stage of the curriculum",
        "evaluate": "measure networks on held-out games",
        "calibrate": "fit the temperature of a network",
    },
    "use": {
        "models": "list the weights that come with the package",
        "review": "review a game as an HTML page",
        "predict": "add predictions to annotations, or explain them",
        "bot": "play at an mjai table",
        "arena": "compare two players in duplicate games",
        "export": "export a network for transformers or ONNX",
    },
}
"""commands by task: name and description"""


def main(argv: Sequence[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help"):
        return run_cleanly(PROGRAM, lambda: print(_usage()))
    if name == "--version":
        print(PROGRAM, version("kanachan"))
        return 0
    names = [command for commands in COMMANDS.values() for command in commands]
    if name not in names:
        hint = suggestion(name, names) or f"; {PROGRAM} --help lists them"
        print(f"{PROGRAM}: error: {name}: no such command{hint}", file=sys.stderr)
        return 2
    token = CALLED_AS.set(f"{PROGRAM} {name}")
    try:
        return import_module(f"kanachan.cli.{name}").main(rest)
    finally:
        CALLED_AS.reset(token)


def _usage() -> str:
    lines = [f"usage: {PROGRAM} COMMAND ...", "", f"{PROGRAM} COMMAND --help describes a command."]
    for task, commands in COMMANDS.items():
        lines += ["", f"{task}:", *(f"  {name:<10} {does}" for name, does in commands.items())]
    return "\n".join(lines)
