"""The command-line parser of every command: --version, and suggestions for options that do not exist."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any, NoReturn

CALLED_AS: ContextVar[str | None] = ContextVar("CALLED_AS", default=None)
"""the name under which the running command was started, if it is not the command's own name"""


class CommandParser(argparse.ArgumentParser):
    """An argument parser with --version and without abbreviations, which suggests similar options."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(CALLED_AS.get() or prog, allow_abbrev=False, **settings)
        self.add_argument("--version", action="version", version=f"%(prog)s {version('kanachan')}")
        self._given: Sequence[str] = ()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if "--" in given:  # parse_intermixed_args would lose it
            return super().parse_args(given, namespace)
        return self.parse_intermixed_args(given, namespace)  # positional arguments may follow options

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Exits with `message`, or with a message about an option that does not exist, which is often the cause."""
        if " required" in message or message.startswith("unrecognized"):
            known = self._option_string_actions
            for name in (text.partition("=")[0] for text in self._given):
                if name == "--":
                    break
                if name.startswith("--") and name not in known:
                    message = f"{name}: no such option{suggestion(name, known)}"
                    break
        super().error(message)


def add_force_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--force", action="store_true", help="replace outputs that already exist")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Returns "; did you mean ...?" with the most similar of the known names, or "" if none is similar."""
    similar = get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]}?" if similar else ""
