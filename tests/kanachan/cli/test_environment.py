"""The environment variables that OpenMP and torch read when they are loaded."""

import json
import os
import subprocess
import sys

from tests.support.imports import MODULES, reached_from

COMMANDS = [
    name for name, path in MODULES.items() if name.startswith("kanachan.cli.") and "def main(" in path.read_text()
]
PROGRAM = """
import json, os, sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
given, found = dict(os.environ), {}
for command in sys.argv[1:]:
    os.environ.clear()
    os.environ.update(given)
    with redirect_stdout(sys.stderr), suppress(SystemExit):
        import_module(command).main(["--help"])
    assert "torch" not in sys.modules, command
    found[command] = [os.environ.get("OMP_WAIT_POLICY"), os.environ.get("THP_MEM_ALLOC_ENABLE")]
print(json.dumps(found))
"""


def found_by(*commands: str, **given: str) -> dict[str, list[str | None]]:
    """Returns the two variables after the start of each command, all in one new process."""
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE")} | given
    program = [sys.executable, "-c", PROGRAM, *commands]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, list[str | None]] = json.loads(done.stdout)
    return found


def test_every_command_sets_the_variables_before_it_imports_torch() -> None:
    commands = [name for name in COMMANDS if "torch" in reached_from(name) and name != "kanachan.cli.pack"]
    assert found_by(*commands) == dict.fromkeys(commands, ["PASSIVE", "1"])


def test_variables_that_the_user_has_set_are_kept() -> None:
    given = {"OMP_WAIT_POLICY": "ACTIVE", "THP_MEM_ALLOC_ENABLE": "0"}
    assert found_by("kanachan.cli.train", **given) == {"kanachan.cli.train": ["ACTIVE", "0"]}
