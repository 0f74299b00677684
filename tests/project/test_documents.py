"""What README.md tells people to type exists."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module

import pytest

from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def shell_commands() -> Iterator[list[str]]:
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.strip():
                yield shlex.split(line, comments=True)


def inline_commands() -> Iterator[list[str]]:
    for text in re.findall(r"`((?:kanachan-|launch/)[^`]+)`", README):
        yield shlex.split(text)


COMMANDS = [*shell_commands(), *inline_commands()]


@cache
def help_of(command: str) -> str:
    """What `command --help` prints; for a script its text, which has the options."""
    if command.startswith("launch/"):
        return (ROOT / command).read_text(encoding="utf-8")
    module, _, function = SCRIPTS[command].partition(":")
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as exit_:
        patch.setenv("COLUMNS", "200")
        patch.setattr("sys.stdout.write", printed.append)
        getattr(import_module(module), function)(["--help"])
    assert exit_.value.code == 0
    return "".join(printed)


def test_there_is_something_to_type() -> None:
    assert {command[0] for command in COMMANDS} >= {*SCRIPTS, "launch/quickstart.sh", "launch/test.sh"}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_and_its_options_exist(command: list[str]) -> None:
    name, *arguments = command
    if name == ".venv/bin/python":
        name, *arguments = arguments
    if name in ("python3", ".venv/bin/pip", "pip", "wandb", "sbatch"):
        return
    assert name in SCRIPTS or (ROOT / name).is_file()
    asked = name
    for argument in arguments:
        if argument == "--":
            asked = "kanachan-train"  # the scripts hand on what stands behind it
        elif argument.startswith("-") and argument != "--help":
            assert re.search(rf"(?<![\w-]){re.escape(argument.partition('=')[0])}(?![\w-])", help_of(asked)), argument


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"(?:annotate|kanachan|configs|launch|tests)/[\w./-]*\w", README)))
)
def test_a_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_map_names_every_package() -> None:
    tree = README[README.index("## Where things are") :]
    for package in ("annotate", "kanachan"):
        for folder in (ROOT / package).glob("[a-z]*/"):
            assert re.search(rf"\b{folder.name}/", tree), f"{package}/{folder.name}"


def test_every_link_within_the_page_has_its_heading() -> None:
    headings = {
        re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in re.findall(r"(?m)^#+ (.*)", README)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", README)) <= headings
