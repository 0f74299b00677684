"""The command kanachan, which starts all others."""

import subprocess
import sys
import tomllib

import pytest

import kanachan
from kanachan.cli.main import COMMANDS, main
from tests.support.paths import ROOT

NAMES = [name for commands in COMMANDS.values() for name in commands]


def test_every_installed_command_is_a_subcommand() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert sorted(scripts) == sorted(["kanachan", *(f"kanachan-{name}" for name in NAMES)])


def test_a_misspelt_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evalute"]) == 2
    assert capsys.readouterr().err == "kanachan: error: evalute: no such command; did you mean evaluate?\n"


def test_python_runs_the_package_without_importing_torch() -> None:
    program = "import runpy, sys; sys.argv = ['kanachan', '--version']\ntry: runpy.run_module('kanachan', "
    program += "run_name='__main__')\nexcept SystemExit: assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"kanachan {kanachan.__version__}\n"
