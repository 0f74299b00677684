"""The launch scripts: they refuse wrong calls, use an existing environment, and fit the project."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.launched import LAUNCH, write_program
from tests.support.packed import packed
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SCRIPTS = sorted(
    path
    for path in (*LAUNCH.glob("*.sh"), *LAUNCH.glob("slurm/*.sbatch"), ROOT / ".ci" / "run")
    if path.name != "setup.sh"
)


def run(command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", command], cwd=cwd, env=environment, capture_output=True, text=True)


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {name.lower(): pin for name, pin in (line.split("==") for line in lines if not line.startswith("#"))}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_can_be_run_and_stops_at_the_first_error(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text()
    assert run(f"bash -n {script}", ROOT).returncode == 0


WITH_HELP = [path for path in SCRIPTS if "usage" in path.read_text()]


@pytest.mark.parametrize("script", WITH_HELP, ids=lambda path: path.name)
def test_help_says_what_a_script_does_before_its_options(script: Path) -> None:
    shown = run(f"{script} --help", ROOT).stdout.splitlines()
    assert f"# {shown[0]}" == script.read_text().splitlines()[1]
    assert not any(line.startswith(("SBATCH", "#", "!")) for line in shown)


@pytest.mark.parametrize(
    "requirement", [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())], ids=lambda text: text
)
def test_every_dependency_has_a_tested_version_within_its_range(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert wanted.specifier.contains(pins()[wanted.name.lower()], prereleases=True)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("curriculum.sh", "a folder of shards is missing"),
        ("curriculum.sh nowhere", "nowhere: no such file or folder"),
        ("curriculum.sh . --wrong", "--wrong: no such option"),
        ("quickstart.sh nowhere", "nowhere: there is no such file or folder"),
        ("quickstart.sh --wrong", "--wrong: there are no options"),
        ("slurm/annotate.sbatch records", "records and a folder are expected"),
        ("slurm/annotate.sbatch records out", "this is for an array of tasks"),
        ("slurm/merge.sbatch", "the folder of the parts is expected"),
        ("multi_gpu.sh --wrong", "--wrong: no such option"),
        ("multi_gpu.sh run --restarts many -- --stage rank", "--restarts many: a number is expected"),
        ("multi_gpu.sh run", "a run and settings are expected"),
        ("multi_gpu.sh run --stage rank", "--stage: no such option; settings of kanachan-train go after --"),
        ("slurm/selfplay.sbatch", "arguments of kanachan-selfplay are expected"),
        ("slurm/selfplay.sbatch rule -n 4 -o out", "this is for Slurm"),
        ("slurm/train.sbatch run", "a run and settings are expected"),
        ("slurm/train.sbatch run -- --stage rank", "this is for Slurm"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_installed(command: str, message: str, tmp_path: Path) -> None:
    done = run(f"{LAUNCH}/{command}", tmp_path, KANACHAN_VENV=str(tmp_path / "venv"))
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_is_refused_with_its_version(tmp_path: Path) -> None:
    old = write_program(tmp_path / "old-python", '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" || exit 1\n')
    done = run(f"source {LAUNCH}/setup.sh; set_up", tmp_path, PYTHON=str(old), KANACHAN_VENV=str(tmp_path / "venv"))
    assert done.returncode == 1
    assert "Python 3.9.2; Python 3.11 to 3.14 is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_an_existing_environment_of_an_old_python_is_refused_although_it_has_pip(tmp_path: Path) -> None:
    write_program(tmp_path / "venv/bin/python", '#!/bin/sh\n[ "$1" = -m ]\n')
    done = run(f"source {LAUNCH}/setup.sh; set_up", tmp_path, KANACHAN_VENV="venv")
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"is not Python 3.11 to 3.14: remove {tmp_path}/venv")


def test_everything_is_installed_in_the_environment_whatever_the_settings_of_pip_are(tmp_path: Path) -> None:
    names = ("PYTHONPATH", "PIP_USER", "PIP_TARGET", "PIP_PREFIX")
    shown = ",".join(f"${name}" for name in names)
    write_program(tmp_path / "venv/bin/python", f'#!/bin/sh\n[ "$3" != install ] || echo "{shown}"\n')
    variables = {"KANACHAN_VENV": "venv", **dict.fromkeys(names, "/elsewhere")}
    assert run(f"source {LAUNCH}/setup.sh; set_up", tmp_path, **variables).stdout == ",0,,\n"


def test_setup_accepts_exactly_the_python_versions_that_the_package_names(tmp_path: Path) -> None:
    classifiers = (re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", c) for c in PROJECT["classifiers"])
    named = {int(found[1]) for found in classifiers if found}
    for minor in range(9, 20):
        version = f"import sys; sys.version_info = (3, {minor}, 0)"
        write_program(tmp_path / f"3.{minor}", f'#!/bin/sh\nexec {sys.executable} -c "{version}; $2"\n')
    finding = f"source {LAUNCH}/setup.sh; for n in {{9..19}}; do is_supported {tmp_path}/3.$n && echo $n; done"
    assert {int(minor) for minor in run(finding, tmp_path).stdout.split()} == named


def test_an_environment_that_is_up_to_date_is_left_alone(tmp_path: Path) -> None:
    write_program(tmp_path / "venv" / "bin" / "kanachan-train", "#!/bin/sh\necho mine\n")
    made = f"source {LAUNCH}/setup.sh; fingerprint > venv/installed-from; set_up; kanachan-train"
    done = run(made, tmp_path, KANACHAN_VENV="venv")
    assert (done.stdout, done.stderr) == ("mine\n", "")


def test_all_checks_run_after_the_checkout_and_its_environment_were_moved(tmp_path: Path) -> None:
    for name in ("codespell", "mypy", "pytest"):
        write_program(tmp_path / "venv/bin" / name, "#!/old/place/venv/bin/python\n")
    for name in ("python", "ruff", "kanachan-train"):
        write_program(tmp_path / "venv/bin" / name, "#!/bin/sh\n")
    done = run(
        f"source {LAUNCH}/setup.sh; fingerprint > venv/installed-from; {LAUNCH}/test.sh",
        tmp_path,
        KANACHAN_VENV=f"{tmp_path}/venv",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_experiment_resumes_where_it_was_interrupted(tmp_path: Path) -> None:
    if run(f"source {LAUNCH}/setup.sh; cmp $VENV/installed-from <(fingerprint)", ROOT).returncode:
        pytest.skip("the environment was not made by launch/setup.sh")
    shards = packed(tmp_path / "shards", train=200, validation=40, test=40)
    command = (
        f"{LAUNCH}/curriculum.sh {shards} --imitation-steps 3 --later-steps 2 -- --config {ROOT}/configs/debug.yaml"
    )
    # the second stage would refuse it; the first already does
    stopped = run(f"{command} --objective.sigma 1", tmp_path)
    assert stopped.returncode != 0
    first = run(command, tmp_path)
    assert first.returncode == 0, first.stderr
    (tmp_path / "runs/curriculum/reliability.png").unlink()  # as if stopped before it was drawn
    again = run(command, tmp_path)
    assert again.stderr.count("trained already") == 4
    assert again.stdout == (tmp_path / "runs/curriculum/evaluation.txt").read_text()
    smaller = f"{command.replace(' -- ', f' --output {tmp_path}/runs/curriculum -- ')} --data.micro_batch 2"
    harmless = run(smaller, tmp_path)
    assert harmless.stdout.count("ended already") == 4 and harmless.stdout.endswith(again.stdout)
    longer = run(command.replace("--later-steps 2", "--later-steps 3"), tmp_path)
    assert longer.returncode != 0
    assert "to train it further" in longer.stderr
    made = {path.name for path in (tmp_path / "runs/curriculum").iterdir()}
    assert {"calibration-rank.txt", "reliability.png"} <= made
    shutil.rmtree(tmp_path / "runs/curriculum/imitation")
    retrained = run(command.replace("--imitation-steps 3", "--imitation-steps 4"), tmp_path)
    assert retrained.returncode != 0
    assert (
        "runs/curriculum/round_delta was made from" in retrained.stderr
        and "the encoder of imitation" in retrained.stderr
    )
