"""Annotating on a cluster: the Slurm scripts, run as Slurm runs them, with its variables."""

import os
import subprocess
from pathlib import Path

import pytest

from kanachan.cli import pack, selfplay
from kanachan.cli.annotate import main
from kanachan.data.shard_folder import splits_in
from tests.support.launched import run_module, sbatch, write_program


@pytest.fixture
def cluster(games: Path, tmp_path: Path) -> Path:
    """A folder with games, and an environment that has the commands of this checkout."""
    (tmp_path / "games").symlink_to(games)
    for command, module in (("kanachan-annotate", "kanachan.cli.annotate"), ("kanachan-pack", "kanachan.cli.pack")):
        write_program(tmp_path / "venv" / "bin" / command, run_module(module))
    return tmp_path


def task(cluster: Path, number: int, *, first: int, last: int, count: int) -> subprocess.CompletedProcess[str]:
    array = {"ID": number, "MIN": first, "MAX": last, "COUNT": count}
    more = {"SLURM_CPUS_PER_TASK": 1, "KANACHAN_ANNOTATE": "--room 3 --rows-per-shard 1000"}
    variables = {f"SLURM_ARRAY_TASK_{name}": value for name, value in array.items()} | more
    return sbatch(cluster, "annotate.sbatch", "games", "out", **variables)


@pytest.mark.slow
def test_the_merged_tasks_of_an_array_give_the_shards_of_one_process(cluster: Path) -> None:
    for number in (4, 5):
        done = task(cluster, number, first=4, last=5, count=2)
        assert done.returncode == 0, done.stderr
    again = task(cluster, 5, first=4, last=5, count=2)
    assert (again.returncode, "out/part-2-of-2: done already" in again.stderr) == (0, True)
    merged = sbatch(cluster, "merge.sbatch", "out", "--rows-per-shard", "1000")
    assert merged.returncode == 0, merged.stderr
    assert sbatch(cluster, "merge.sbatch", "out", "--rows-per-shard", "1000").returncode == 0

    games = str(cluster / "games")
    assert main([games, "--pack", str(cluster / "whole"), "--room", "3", "--rows-per-shard", "1000"]) == 0
    for folder in ("out/shards", "whole"):
        assert pack.main(["--unpack", str(cluster / folder), "-o", str(cluster / f"{Path(folder).name}.txt")]) == 0
    assert (cluster / "shards.txt").read_bytes() == (cluster / "whole.txt").read_bytes()
    assert {split: len(files) for split, files in splits_in(cluster / "out" / "shards").items()} == {
        split: len(files) for split, files in splits_in(cluster / "whole").items()
    }


def test_an_array_with_gaps_is_refused(cluster: Path) -> None:
    done = task(cluster, 3, first=1, last=7, count=3)
    assert done.returncode == 1
    assert "must have no gaps" in done.stderr


@pytest.mark.slow
def test_games_are_played_on_two_machines(cluster: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'kanachan[ray]'")
    programs = cluster / "venv" / "bin"
    write_program(programs / "kanachan-selfplay", run_module("kanachan.cli.selfplay"))
    write_program(programs / "ray", run_module("ray.scripts.scripts"))
    # the second machine is this one
    write_program(programs / "srun", '#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n')
    options = ["rule", "-n", "6", "--style", "east"]
    job = {"SLURM_JOB_ID": os.getpid(), "SLURM_JOB_NUM_NODES": 2, "SLURM_CPUS_PER_TASK": 1}
    done = sbatch(cluster, "selfplay.sbatch", *options, "-o", "shards", **job)
    assert done.returncode == 0, done.stdout + done.stderr
    assert selfplay.main([*options, "-o", str(cluster / "expected"), "-j", "1"]) == 0
    for path in (cluster / "expected").rglob("*.arrow"):
        assert (cluster / "shards" / path.relative_to(cluster / "expected")).read_bytes() == path.read_bytes()
