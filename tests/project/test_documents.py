"""Everything that README.md and the pages of docs/ name exists: commands, options, paths, modules, links."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.paths import ROOT

README = ROOT / "README.md"
LOGS = ("CHANGELOG.md", "LOG.md")
PAGES = [README, *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in LOGS)]
"""without the logs, which name things that no longer exist"""
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
OTHERS = {*"cd codespell export git mypy pip pytest python3 ray ruff wandb .venv/bin/pip".split()}
"""programs that are not ours"""
FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```")


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def inline_code(page: Path) -> list[str]:
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", FENCE.sub("", text_of(page)))]


def shell_commands(page: Path) -> Iterator[list[str]]:
    for language, block in FENCE.findall(text_of(page)):
        for line in block.replace("\\\n", " ").splitlines() if language == "sh" else ():
            if line.strip():
                yield with_hyphen(shlex.split(line, comments=True))


def inline_commands(page: Path) -> Iterator[list[str]]:
    for code in inline_code(page):
        if re.match(r"kanachan-\w|kanachan [a-z]|launch/\w", code):
            yield with_hyphen(shlex.split(code))


def with_hyphen(command: list[str]) -> list[str]:
    """`kanachan review …` as `kanachan-review …`, with or without the folder of the environment."""
    name, *arguments = command
    if name.removeprefix(".venv/bin/") == "kanachan" and arguments:
        return [f"kanachan-{arguments[0]}", *arguments[1:]]
    return command


@cache
def help_of(command: str) -> str:
    """The output of `command --help`; for a script its text, which has the options."""
    if command.startswith("launch/"):
        path = ROOT / command
        return "".join(p.read_text(encoding="utf-8") for p in [path, *path.with_suffix("").glob("*.py")])
    module, _, function = SCRIPTS[command].partition(":")
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        patch.setattr("sys.stdout.write", printed.append)
        try:
            status = getattr(import_module(module), function)(["--help"])
        except SystemExit as exit_:
            status = exit_.code
    assert status == 0
    return "".join(printed)


def names_option(help_text: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option.partition('=')[0])}(?![\w-])", help_text) is not None


COMMANDS = sorted(
    {(name_of(page), *command) for page in PAGES for command in (*shell_commands(page), *inline_commands(page))}
)
PATHS = sorted(
    {
        (name_of(page), path)
        for page in PAGES
        for path in re.findall(r"(?<![\w./-])(?:annotate|kanachan|configs|launch|tests|docs)/[\w./-]*\w", text_of(page))
    }
)
LINKS = sorted(
    {
        (name_of(page), link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)]+)\)", FENCE.sub("", text_of(page)))
        if not link.startswith("https://")
    }
)


def test_commands_and_their_options_exist() -> None:
    for page, *command in COMMANDS:
        require_command(page, *command)


def require_command(page: str, name: str, *given: str) -> None:
    arguments = list(given)
    if name == "sbatch":
        while arguments[0].startswith("-"):  # options of sbatch itself
            arguments = arguments[1:]
        name, *arguments = arguments
    if name == ".venv/bin/python":
        name, *arguments = arguments
    if name in OTHERS:
        return
    assert name in SCRIPTS or (ROOT / name).is_file(), f"{page}: {name}"
    program = name
    for argument in arguments:
        if argument == "--":
            program = "kanachan-train"  # the scripts pass on the rest
        elif argument.startswith("-") and argument != "--help":
            assert names_option(help_of(program), argument), f"{page}: {name} {argument}"


def test_paths_exist() -> None:
    assert [(page, path) for page, path in PATHS if not (ROOT / path).exists()] == []


@cache
def anchors_of(page: Path) -> set[str]:
    titles = re.findall(r"(?m)^#+ (.*)", FENCE.sub("", text_of(page)))
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_links_lead_to_a_file_and_a_heading() -> None:
    for page, link in LINKS:
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.is_file() and (not anchor or anchor in anchors_of(target.resolve())), f"{page}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_python_example_is_run_by_a_test(page: Path) -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "kanachan").rglob("test_*.py"))
    examples = re.findall(r"(?m)(?:^<!-- (\w+) -->\n)?^```python$", text_of(page))
    assert [mark for mark in examples if not mark or f"<!-- {mark} -->" not in tests] == []
