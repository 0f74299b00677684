"""The package's reward predictor in the place of a network that chooses actions: refused before torch is loaded."""

import json
import subprocess
import sys

import pytest

from tests.support.packed import packed
from tests.support.paths import ROOT

COMMANDS = {
    "review": ["game.jsonl", "reference/reward", "-o", "page.html"],
    "bot": ["reference/reward", "0"],
    "arena": ["reference/reward", "rule", "-n", "4"],
    "selfplay": ["reference/reward@1", "-n", "2", "-o", "games"],
    "export -o": ["reference/reward", "-o", "encoder"],
    "export --onnx": ["reference/reward", "--onnx", "network"],
    "predict": ["reference/reward", "lines.txt"],
    "calibrate": ["reference/reward", "shards"],
    "evaluate --gain": ["--gain", "reference/reward", "reference", "shards"],
    "evaluate, another": ["reference", "reference/reward", "shards"],
    "train --init": ["--stage", "rank", "--data.path", "shards", "--init", "reference/reward", "-o", "run"],
}
_PROGRAM = """
import contextlib, importlib, io, json, sys
found = {}
for name, arguments in json.loads(sys.argv[1]).items():
    written = io.StringIO()
    with contextlib.redirect_stderr(written):
        try:
            status = importlib.import_module("kanachan.cli." + name.split(" ")[0].strip(",")).main(arguments)
        except SystemExit as error:
            status = error.code
    found[name] = status, written.getvalue().splitlines(), "torch" in sys.modules
print(json.dumps(found))
"""
Refusal = tuple[int, list[str], bool]


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Refusal]:
    """By command: its exit status, the lines of its error, and whether torch was loaded until then."""
    folder = tmp_path_factory.mktemp("uses")
    packed(folder / "shards", train=20, validation=20, test=20)
    command = [sys.executable, "-c", _PROGRAM, json.dumps(COMMANDS)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".txt") == ["shards"]
    found: dict[str, Refusal] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_refused_in_a_line_before_torch_is_loaded(name: str, refusals: dict[str, Refusal]) -> None:
    status, lines, has_torch = refusals[name]
    assert status == (2 if name.startswith("train") else 1) and not has_torch
    assert "a reward predictor" in lines[-1] and "error: " in lines[-1]
    assert len(lines) == 1 or lines[0].startswith("usage: ")


def test_the_weights_are_named_as_they_were_given(refusals: dict[str, Refusal]) -> None:
    assert refusals["predict"][1][0].startswith("kanachan-predict: error: reference/reward: a reward predictor")
