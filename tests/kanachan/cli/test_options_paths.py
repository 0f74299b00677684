"""Every command refuses wrong paths before it imports torch, which takes seconds."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from safetensors.torch import save_file

from kanachan.cli.main import COMMANDS
from kanachan.models.reference import FOLDER
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.reviewed import events_of, write_record

PROGRAM = """
import contextlib, io, json, os, sys
from kanachan.cli.main import main
found = []
for command in json.loads(sys.argv[1]):
    before, has_torch = sorted(os.listdir()), "torch" in sys.modules
    with contextlib.redirect_stderr(io.StringIO()) as error, contextlib.redirect_stdout(sys.stderr):
        try:
            status = main(command.split())
        except SystemExit as exit:
            status = exit.code
    is_imported = "torch" in sys.modules and not has_torch
    found.append([status, error.getvalue(), is_imported, sorted(os.listdir()) == before])
print(json.dumps(found))
"""
MISSING = "nope: no such file or folder"
IS_SHARDS = "shards: a folder of shards; weights are expected here"
REWARD = "reference/reward: a reward predictor"
NOT_SHIPPED = "reference/nope: not among the weights of this package, which are reference"
NO_SHARDS = "empty: no shards of the split"

CASES = [
    ("annotate nope -o out.txt", MISSING),
    ("annotate nope --explain 1", MISSING),
    ("pack nope -o out", MISSING),
    ("pack nope.txt.zst -o out", "nope.txt.zst: no such file or folder"),
    ("pack --unpack nope -o out.txt", MISSING),
    ("train --stage imitation --data.path nope", MISSING),
    ("train --stage imitation --data.path empty", "empty: no shards to train on"),
    ("train --stage rank --data.path shards --init nope", MISSING),
    ("train --stage rank --data.path shards --init shards", IS_SHARDS),
    ("train --stage rank --data.path shards --init cut.safetensors", "cut.safetensors: not a complete weights"),
    ("train --stage rank --data.path shards --config nope", MISSING),
    ("evaluate nope shards", MISSING),
    ("evaluate reference nope", MISSING),
    ("evaluate reference empty", NO_SHARDS),
    ("evaluate reference shards", "shards: no shards of the split 'test'; there are: train, validation"),
    ("evaluate reference lines.txt --predictions nope", MISSING),
    ("calibrate nope shards", MISSING),
    ("calibrate reference empty", NO_SHARDS),
    ("models nope", MISSING),
    ("models shards", IS_SHARDS),
    ("review game.jsonl nope --seat 0 -o out.html", MISSING),
    ("review nope reference --seat 0 -o out.html", MISSING),
    ("predict nope lines.txt", MISSING),
    ("predict reference nope", MISSING),
    ("bot nope 0", MISSING),
    ("arena nope rule -n 4", "nope: no player of this name"),
    ("arena shards rule -n 4", IS_SHARDS),
    ("arena rule cut.safetensors -n 4", "cut.safetensors: not a complete weights file"),
    ("selfplay nope -n 4 -o games", "nope: no player of this name"),
    ("export nope -o out", MISSING),
    ("export other.safetensors -o out", "other.safetensors: a safetensors file without a card"),
    ("review game.jsonl reference/reward -o out.html", REWARD),
    ("bot reference/reward 0", REWARD),
    ("arena reference/reward rule -n 4", REWARD),
    ("selfplay reference/reward@1 -n 2 -o games", REWARD),
    ("export reference/reward -o out", REWARD),
    ("predict reference/reward lines.txt", REWARD),
    ("calibrate reference/reward shards", REWARD),
    ("evaluate --gain reference/reward reference shards", REWARD),
    ("train --stage rank --data.path shards --init reference/reward", REWARD),
    ("arena reference/nope rule -n 4", NOT_SHIPPED),
    ("train --stage rank --data.path shards --init reference/nope", NOT_SHIPPED),
]
"""for each case, the arguments of `kanachan`, and a part of its message"""


class Refusal(NamedTuple):
    """How a command ends."""

    status: int
    error: str
    imports_torch: bool
    leaves_folder: bool
    """whether the folder is as it was before"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds shards with train and validation split, an empty folder, annotation lines, a record, and broken weights."""
    folder = tmp_path_factory.mktemp("paths")
    packed(folder / "shards", train=10, validation=10)
    (folder / "empty").mkdir()
    write_lines(folder / "lines.txt", random_annotations(3, seed=1))
    write_record(folder / "game.jsonl", events_of(5))
    save_file({"a": torch.zeros(1)}, folder / "other.safetensors")
    (folder / "cut.safetensors").write_bytes((FOLDER / "imitation.safetensors").read_bytes()[:1000])
    return folder


@pytest.fixture(scope="module")
def refusals(folder: Path) -> dict[str, Refusal]:
    """The refusals by command. One new process runs all commands, which takes as long as running only one."""
    commands = [command for command, _ in CASES]
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return {command: Refusal(*found) for command, found in zip(commands, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize(("command", "message"), CASES)
def test_a_wrong_path_is_refused_by_name_before_torch_is_imported(
    command: str, message: str, refusals: dict[str, Refusal]
) -> None:
    refusal = refusals[command]
    assert refusal.status in (1, 2) and message in refusal.error and not refusal.imports_torch, refusal.error
    *usage, error = refusal.error.splitlines()
    assert error.startswith(f"kanachan {command.split()[0]}: error: ") and "Errno" not in error
    assert bool(usage) == (refusal.status == 2) and all(line.startswith(("usage: ", " ")) for line in usage)
    assert refusal.leaves_folder


def test_there_is_a_case_for_each_command_that_reads_files() -> None:
    names = {name for commands in COMMANDS.values() for name in commands}
    assert {command.split()[0] for command, _ in CASES} == names - {"simulate"}
