"""The launch scripts: they refuse wrong calls, use an existing environment, and fit the project."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from tests.support.launched import LAUNCH, program
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


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {name.lower(): pin for name, pin in (line.split("==") for line in lines if not line.startswith("#"))}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_can_be_run_and_stops_at_the_first_error(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert "\nset -euo pipefail\n" in script.read_text()
    assert run(f"bash -n {script}", ROOT).returncode == 0


@pytest.mark.parametrize(
    "requirement", [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())], ids=lambda text: text
)
def test_every_dependency_has_a_tested_version_within_its_range(requirement: str) -> None:
    wanted = Requirement(requirement)
    assert wanted.specifier.contains(pins()[wanted.name.lower()], prereleases=True)


def test_no_tested_version_is_bound_to_a_machine() -> None:
    assert not [pin for pin in pins().values() if "+" in pin or "@" in pin]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("curriculum.sh", "a folder of shards is missing"),
        ("curriculum.sh nowhere", "nowhere: no such file or folder"),
        ("curriculum.sh . --wrong", "--wrong: no such option"),
        ("curriculum.sh . --selfplay none", "--selfplay none: a number of games is expected"),
        ("quickstart.sh nowhere", "nowhere: there is no such file or folder"),
        ("quickstart.sh --wrong", "--wrong: there are no options"),
        ("slurm/annotate.sbatch records", "records and a folder are expected"),
        ("slurm/annotate.sbatch records out", "this is for an array of tasks"),
        ("slurm/merge.sbatch", "the folder of the parts is expected"),
        ("multi_gpu.sh --wrong", "--wrong: no such option"),
        ("multi_gpu.sh run --restarts many -- --stage rank", "--restarts many: a number is expected"),
        ("multi_gpu.sh run", "a run and settings are expected"),
        ("multi_gpu.sh run --stage rank", "--stage: no such option; settings of kanachan-train go after --"),
        ("policy.sh", "the kind of machine is missing"),
        ("policy.sh toaster reference", "toaster: laptop, gpu or ray is expected"),
        ("policy.sh laptop", "weights are missing"),
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


@pytest.mark.parametrize("option", ["--games 0", "--repeats 0", "--repeats -1"])
def test_a_benchmark_of_nothing_is_refused(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, number = option.split()
    monkeypatch.setattr(sys, "argv", ["benchmark", "data", name, number])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path(str(LAUNCH / "benchmark.py"), run_name="__main__")
    assert capsys.readouterr().err.endswith(f"error: {name} must be at least 1, not {number}\n")


@pytest.mark.parametrize("script", [str(path.relative_to(LAUNCH)) for path in SCRIPTS if path.is_relative_to(LAUNCH)])
def test_help_prints_the_usage_of_a_script(script: str, tmp_path: Path) -> None:
    done = run(f"{LAUNCH / script} --help", tmp_path, KANACHAN_VENV=str(tmp_path / "venv"))
    assert done.returncode == 0
    assert f"launch/{script}" in done.stdout


def test_a_python_that_is_too_old_is_refused_by_name(tmp_path: Path) -> None:
    old = executable(tmp_path / "old-python", '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" || exit 1\n')
    done = run(f"source {LAUNCH}/setup.sh; set_up", tmp_path, PYTHON=str(old), KANACHAN_VENV=str(tmp_path / "venv"))
    assert done.returncode == 1
    assert "Python 3.9.2; Python 3.11 to 3.14 is needed" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_the_versions_of_python_that_the_package_names_are_taken_and_no_others(tmp_path: Path) -> None:
    classifiers = (re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", c) for c in PROJECT["classifiers"])
    named = {int(found[1]) for found in classifiers if found}
    for minor in range(9, 20):
        version = f"import sys; sys.version_info = (3, {minor}, 0)"
        executable(tmp_path / f"3.{minor}", f'#!/bin/sh\nexec {sys.executable} -c "{version}; $2"\n')
    finding = f"source {LAUNCH}/setup.sh; for n in {{9..19}}; do is_supported {tmp_path}/3.$n && echo $n; done"
    assert {int(minor) for minor in run(finding, tmp_path).stdout.split()} == named


def test_an_environment_that_is_up_to_date_is_left_alone(tmp_path: Path) -> None:
    executable(tmp_path / "venv" / "bin" / "kanachan-train", "#!/bin/sh\necho mine\n")
    made = f"source {LAUNCH}/setup.sh; fingerprint > venv/installed-from; set_up; kanachan-train"
    done = run(made, tmp_path, KANACHAN_VENV="venv")
    assert (done.stdout, done.stderr) == ("mine\n", "")


def metric(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "decisions": 50}


def network(stage: str, lineage: list[str], **metrics: object) -> dict[str, object]:
    about = {"stage": stage, "path": f"runs/{stage}", "steps": 400, "lineage": [{"stage": s} for s in lineage]}
    return {**about, "agreement": {}, "values": {}, "log_likelihood": {}, **metrics}


def evaluation(networks: list[dict[str, object]], vocabulary: Vocabulary) -> str:
    about = {"split": "test", "fingerprint": vocabulary.fingerprint, "games": 2, "decisions": 50}
    return json.dumps({**about, "weights": networks})


def test_the_results_in_short_put_networks_and_baseline_below_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"action": {"explained_variance": metric(0.25)}, "scores": {"explained_variance": metric(0.5)}}
    agreement = {"top1": metric(0.7), "nll": metric(0.9), "chi/accuracy": metric(0.8), "chi/recall": metric(0.1)}
    likelihood = {"rank": {"action": metric(-1.2), "scores": metric(-1.1)}}
    networks = [
        network("imitation", [], agreement=agreement),
        network("rank", ["imitation", "round_delta"], values=values, log_likelihood=likelihood),
        network("rank", [], values=values, log_likelihood={}),
    ]
    (tmp_path / "e.json").write_text(evaluation(networks, FOUR_PLAYERS))
    program("results").show(tmp_path / "e.json")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert ["all", "50", "70.0 [69.0, 71.0]", "0.900 [0.890, 0.910]", ""] in rows
    assert ["chi", "50", "80.0 [79.0, 81.0]", "", "10.0 [9.0, 11.0]"] in rows
    assert [row[1:] for row in rows if row and row[0] == "points of the rank"] == [
        ["round_delta", "400", "25.0 [24.0, 26.0]", "-1.200 [-1.210, -1.190]", "runs/rank"],
        ["scratch", "400", "25.0 [24.0, 26.0]", "", "runs/rank"],
        ["scores and round only", "", "50.0 [49.0, 51.0]", "-1.100 [-1.110, -1.090]", ""],
        ["chance", "", "0.0", "-1.386", ""],
    ]


def test_chance_of_the_rank_in_the_results_is_that_of_the_number_of_players(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, likelihood = {"action": {"explained_variance": metric(0.25)}}, {"rank": {"action": metric(-1.0)}}
    networks = [network("rank", [], values=values, log_likelihood=likelihood)]
    (tmp_path / "e.json").write_text(evaluation(networks, THREE_PLAYERS))
    program("results").show(tmp_path / "e.json")
    (row,) = (line.split() for line in capsys.readouterr().out.splitlines() if "| chance " in line)
    assert "-1.099" in row


def test_the_results_in_short_have_chance_in_every_table_and_a_verdict_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agreement = {"top1": metric(0.7), "nll": metric(0.9)}
    verdict = {"sentence": "better than chance by 1.1 nats"}
    networks = [network("imitation", [], agreement=agreement, chance={"top1": metric(0.2)}, verdict=verdict)]
    (tmp_path / "e.json").write_text(evaluation(networks, FOUR_PLAYERS))
    program("results").show(tmp_path / "e.json")
    printed = capsys.readouterr().out
    assert "| all, chance |" in printed and "20.0 [19.0, 21.0]" in printed
    assert "imitation (scratch): better than chance by 1.1 nats" in printed


@pytest.mark.parametrize("text", ["{", "[]", '{"weights": []}'])
def test_results_that_are_not_an_evaluation_are_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(ValueError, match=r"e\.json: not written by kanachan-evaluate"):
        program("results").show(tmp_path / "e.json")


@pytest.mark.slow
def test_the_experiment_resumes_where_it_was_interrupted(tmp_path: Path) -> None:
    if run(f"source {LAUNCH}/setup.sh; cmp $VENV/installed-from <(fingerprint)", ROOT).returncode:
        pytest.skip("the environment was not made by launch/setup.sh")
    shards = packed(tmp_path / "shards", train=200, validation=40, test=40)
    command = (
        f"{LAUNCH}/curriculum.sh {shards} --imitation-steps 3 --later-steps 2 -- --config {ROOT}/configs/debug.yaml"
    )
    stopped = run(f"{command} --objective.bins 100", tmp_path)  # the second stage refuses it, the first even sooner
    assert stopped.returncode != 0
    first = run(command, tmp_path)
    assert first.returncode == 0, first.stderr
    again = run(command, tmp_path)
    assert again.stderr.count("trained already") == 4
    assert again.stdout == first.stdout[first.stdout.index("test split:") :]
    longer = run(command.replace("--later-steps 2", "--later-steps 3"), tmp_path)
    assert longer.returncode != 0
    assert "runs/curriculum/round_delta was made from" in longer.stderr
    made = {path.name for path in (tmp_path / "runs/curriculum").iterdir()}
    assert {"calibration-imitation.txt", "reliability.png"} <= made
    shutil.rmtree(tmp_path / "runs/curriculum/imitation")
    retrained = run(command.replace("--imitation-steps 3", "--imitation-steps 4"), tmp_path)
    assert retrained.returncode != 0
    assert (
        "runs/curriculum/round_delta was made from" in retrained.stderr
        and "the encoder of imitation" in retrained.stderr
    )


@pytest.mark.slow
def test_games_of_self_play_are_played_and_trained_on_once(tmp_path: Path) -> None:
    if run(f"source {LAUNCH}/setup.sh; cmp $VENV/installed-from <(fingerprint)", ROOT).returncode:
        pytest.skip("the environment was not made by launch/setup.sh")
    shards = packed(tmp_path / "shards", train=200, validation=40, test=40)
    steps, settings = "--imitation-steps 3 --later-steps 2", f"--config {ROOT}/configs/debug.yaml"
    command = f"{LAUNCH}/curriculum.sh {shards} {steps} --selfplay 2 -- {settings}"
    first = run(command, tmp_path)
    assert first.returncode == 0, first.stderr
    networks = json.loads((tmp_path / "runs/curriculum/evaluation.json").read_text())["weights"]
    assert [network["path"].removeprefix("runs/curriculum/") for network in networks] == [
        *("imitation", "round_delta", "rank", "grading"),
        *("selfplay/round_delta", "selfplay-first/round_delta", "selfplay/rank", "selfplay-first/rank"),
        *("selfplay/grading", "selfplay-first/grading"),
    ]
    assert "| runs/curriculum/selfplay-first/rank" in first.stdout
    data = {network["path"]: json.loads((tmp_path / network["path"] / "card.json").read_text()) for network in networks}
    assert "self-play" in str(data["runs/curriculum/selfplay/rank"]["data"]["sources"])
    assert data["runs/curriculum/selfplay-first/rank"]["data"] == data["runs/curriculum/rank"]["data"]
    again = run(command, tmp_path)
    assert again.stderr.count("trained already") == 10 and "games: played already" in again.stderr
    assert again.stdout == first.stdout[first.stdout.index("test split:") :]
    more = run(command.replace("--selfplay 2", "--selfplay 3"), tmp_path)
    assert more.returncode != 0
    assert "runs/curriculum/games holds 2 games of imitation" in more.stderr
