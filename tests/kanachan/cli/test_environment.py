"""The variables that OpenMP and torch read when they are loaded."""

import os
import subprocess
import sys

import pytest

from tests.support.imports import MODULES, reached_from

COMMANDS = [
    name for name, path in MODULES.items() if name.startswith("kanachan.cli.") and "def main(" in path.read_text()
]
OF_TORCH = [name for name in COMMANDS if "torch" in reached_from(name) and name != "kanachan.cli.pack"]
PROGRAM = """
import os, sys
from importlib import import_module
try:
    import_module(sys.argv[1]).main(["--help"])
except SystemExit:
    pass
assert "torch" not in sys.modules
print("found:", os.environ.get("OMP_WAIT_POLICY"), os.environ.get("THP_MEM_ALLOC_ENABLE"))
"""


def found_by(command: str, **given: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE")} | given
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, command], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.rpartition("found: ")[2].strip()


@pytest.mark.parametrize("command", OF_TORCH)
def test_a_command_sets_the_variables_before_it_imports_torch(command: str) -> None:
    assert found_by(command) == "PASSIVE 1"


def test_variables_that_the_user_has_set_are_kept() -> None:
    given = {"OMP_WAIT_POLICY": "ACTIVE", "THP_MEM_ALLOC_ENABLE": "0"}
    assert found_by("kanachan.cli.train", **given) == "ACTIVE 0"


def test_there_are_commands_with_torch() -> None:
    assert {"kanachan.cli.train", "kanachan.cli.evaluate", "kanachan.cli.review", "kanachan.cli.bot"} <= {*OF_TORCH}
