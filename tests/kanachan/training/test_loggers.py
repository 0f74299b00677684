"""The four stages of a tiny curriculum in their offline wandb files."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import wandb

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.cli import pack, train
from kanachan.config import StageName
from kanachan.evaluation.decision_metrics import KINDS as ALL_KINDS
from kanachan.models.weights import read_weights
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES
from tests.support.packed import write_lines
from tests.support.random_annotations import altered, random_annotations
from tests.support.tiny_runs import all_rows_of, rows_of, run

CORE = Path(wandb.__file__).parent / "bin" / "wandb-core"
"""the program that `wandb leet` calls after it has imported all of wandb"""
LENGTH = ("--run.steps", "4", "--run.validation_interval", "64", "--run.checkpoint_minutes", "0")
WHOLE = ("--data.validation_batch", "64", "--run.validate_batches", "null")
BOTH = ("loss", "cross_entropy")
OF_VALUES = ("baseline",)
OF_PRIORS = ("round_points", "round_points_baseline")
KINDS = tuple(kind for kind in ALL_KINDS if kind != "kita")
COSTS = ("samples_per_second", "tokens_per_second", "flops_per_second", "data_wait", "memory_peak_gb")


def of_all_kinds(annotations: list[Annotation]) -> list[Annotation]:
    """Makes some decisions take a tsumo or declare nine terminals; random decisions never do."""
    tsumo, kyushu = (next(a for a in range(V.action.size) if V.action.describe(a)[0] == b) for b in ("tsumo", "kyushu"))
    changed = []
    for number, annotation in enumerate(annotations):
        blocks = {V.action.describe(action)[0] for action in annotation.actions}
        if "tsumo" in blocks:
            annotation = annotation._replace(chosen=annotation.actions.index(tsumo))
        elif "discard" in blocks and number % 20 == 0:
            actions = tuple(sorted({*annotation.actions, kyushu}))
            annotation = altered(annotation, actions=actions, chosen=actions.index(kyushu))
        changed.append(annotation)
    return changed


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("decisions")
    for split, seed in (("train", 1), ("validation", 2)):
        write_lines(folder / f"{split}.txt", of_all_kinds(random_annotations(200, seed)))
    files = [str(folder / "train.txt"), "--validation", str(folder / "validation.txt")]
    assert pack.main(["--train", *files, "-o", str(folder / "shards")]) == 0
    return folder / "shards"


@pytest.fixture(scope="module")
def curriculum(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[StageName, Path]:
    """The run folders of the four stages, each from the encoder of the one before."""
    folder = tmp_path_factory.mktemp("curriculum")
    for number, stage in enumerate(STAGES):
        more = ["--init", str(folder / list(STAGES)[number - 1])] if number else []
        more += ["--optim.encoder_learning_rate", "1e-4"] if stage == "grading" else []
        assert run(stage, shards, folder / stage, "--run.wandb", "offline", *LENGTH, *WHOLE, *more) == 0
    return {stage: folder / stage for stage in STAGES}


def leet(file: Path, *options: str) -> str:
    """Returns the output of wandb's program for an offline file."""
    command = [str(CORE), "leet", "inspect", "--no-observability", *options, "--json", "--run-file", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def offline_files(out: Path) -> list[Path]:
    return [*out.glob("wandb/offline-run-*/*.wandb")]


@cache
def records(out: Path) -> list[dict[str, Any]]:
    (file,) = offline_files(out)
    return [json.loads(line) for line in leet(file).splitlines()]


def history(out: Path) -> list[dict[str, Any]]:
    return [record["history"]["item"] for record in records(out) if record["type"] == "history"]


def logged(out: Path) -> set[str]:
    """Returns the names of the metrics in wandb's file, except its own."""
    names = {name for item in history(out) for name in item if not name.startswith("_")}
    return {name.partition(".")[0] for name in names} - {"trainer/global_step"}


def weights_artifacts(out: Path) -> list[dict[str, Any]]:
    found = [record["artifact"] for record in records(out) if record["type"] == "artifact"]
    return [artifact for artifact in found if artifact["type"] == "weights"]


def expected(stage: StageName) -> set[str]:
    """Every curve of a stage."""
    is_imitation = stage == "imitation"
    has_prior = stage in ("rank", "grading")
    parts = (*BOTH, *(() if is_imitation else OF_VALUES), *(OF_PRIORS if has_prior else ()))
    names = {f"{split}/{part}" for split in ("train", "validation") for part in parts}
    names |= {f"train/{cost}" for cost in COSTS}
    names |= {"train/samples", "train/learning_rate", "train/skipped_steps", "validation/top1", "validation/rows"}
    names |= {f"train/gradient_norm{part}" for part in ("", "_encoder", "_decoder")}
    names |= {"calibration/error", "calibration/reliability_table"}
    names |= {f"kind/{kind}/accuracy" for kind in KINDS}
    names |= {f"kind/{kind}/recall" for kind in KINDS if kind != "discard"}
    if is_imitation:
        return names | {f"kind/{kind}/loss" for kind in KINDS}
    names |= {"validation/explained_variance"}
    return names | ({"train/encoder_learning_rate"} if stage == "grading" else set())


@pytest.mark.parametrize("stage", STAGES)
def test_every_curve_of_a_stage_is_in_its_offline_files(stage: StageName, curriculum: dict[StageName, Path]) -> None:
    assert logged(curriculum[stage]) == expected(stage)
    assert all("train/samples" in item for item in history(curriculum[stage]))


@pytest.mark.parametrize("stage", STAGES)
def test_all_scalars_are_in_the_metrics_file_too_with_one_row_for_each_validation(
    stage: StageName, curriculum: dict[StageName, Path]
) -> None:
    rows = all_rows_of(curriculum[stage])
    filled = {name for row in rows for name, value in row.items() if value}
    assert filled == logged(curriculum[stage]) - {"calibration/reliability_table"} | {"step"}
    steps = [row["step"] for row in rows if row["kind/discard/accuracy"]]
    assert steps == [row["step"] for row in rows if row["validation/loss"]] == ["2", "4"]


@pytest.mark.parametrize("stage", STAGES)
def test_the_reliability_chart_is_a_table_of_numbers(stage: StageName, curriculum: dict[StageName, Path]) -> None:
    last = [item for item in history(curriculum[stage]) if "calibration/reliability_table.path" in item][-1]
    (path,) = curriculum[stage].glob(f"wandb/offline-run-*/files/{last['calibration/reliability_table.path']}")
    table = json.loads(path.read_text())
    assert table["columns"] == ["predicted", "actual", "line", "decisions"]
    points = [row for row in table["data"] if row[2] == "network"]
    assert sum(row[3] for row in points) == 200
    error = sum(abs(row[0] - row[1]) * row[3] for row in points) / 200
    assert error == pytest.approx(float(rows_of(curriculum[stage])[-1]["calibration/error"]))
    charts = [r["config"]["update"] for r in records(curriculum[stage]) if r["type"] == "config"]
    chart = charts[-1]["_wandb.visualize.calibration/reliability"]["panel_config"]
    assert chart["panelDefId"] == "wandb/line/v0"
    unit = "probability" if stage == "imitation" else objective_class(stage).value_unit
    assert chart["stringSettings"]["title"] == f"Reliability ({unit})"


def test_settings_data_commit_and_lineage_are_in_the_config(curriculum: dict[StageName, Path]) -> None:
    *_, (last, out) = curriculum.items()
    (file,), card = offline_files(out), read_weights(out).card
    inspected = json.loads(leet(file, "--summary"))
    config = inspected["config"]
    assert inspected["state"] == "finished" and config["model"]["width"] == 16
    assert (config["commit"], config["data_card"]) == (card["commit"], card["data"])
    assert config["data_card"]["decisions"] == {"train": 200, "validation": 200}
    assert config["lineage"] == card["lineage"]
    assert [entry["stage"] for entry in config["lineage"]] == [stage for stage in STAGES if stage != last]


def test_the_artifact_of_weights_names_the_artifacts_that_they_were_made_from(
    curriculum: dict[StageName, Path],
) -> None:
    names: list[str] = []
    for out in curriculum.values():
        (own,) = weights_artifacts(out)
        assert json.loads(own["metadata"])["made_from"] == names
        names.append(own["name"])
    assert [name.rpartition("-")[0] for name in names] == list(STAGES)


def test_the_runs_of_a_curriculum_are_one_group_of_different_types(curriculum: dict[StageName, Path]) -> None:
    started = {stage: next(r["run"] for r in records(out) if r["type"] == "run") for stage, out in curriculum.items()}
    first = f"{curriculum['imitation'].parent.name}/imitation"
    assert {run["run_group"] for run in started.values()} == {first}
    assert [run["job_type"] for run in started.values()] == list(STAGES)
    assert [run["display_name"] for run in started.values()] == [
        f"{out.parent.name}/{stage}" for stage, out in curriculum.items()
    ]


def test_a_run_of_a_sweep_has_the_id_from_its_agent_and_continues_offline_if_wandb_does_not_respond(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", 40 * "0")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "2")
    monkeypatch.setenv("WANDB_SWEEP_ID", "s4e3p2")
    monkeypatch.setenv("WANDB_RUN_ID", "a1b2c3")
    out = tmp_path / "run"
    monkeypatch.delenv("WANDB_MODE", raising=False)  # Lightning sets it for runs that are offline
    wandb.teardown()  # wandb reads its environment once in a process
    assert run("imitation", shards, out, "--run.wandb", "online", "--run.steps", "3") == 0
    wandb.teardown()
    assert "wandb does not respond" in capsys.readouterr().err
    (file,) = out.glob("wandb/offline-run-*/run-*.wandb")
    assert file.name == "run-a1b2c3.wandb" and file.stat().st_size > 1000
    assert (out / "weights.safetensors").is_file()


def test_a_resumed_run_is_a_separate_offline_run_whose_steps_continue(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    offline = ("--run.wandb", "offline", "--run.group", "mine", "--run.log_every", "1")
    assert run("imitation", shards, out, *offline, "--run.steps", "2") == 0
    assert train.main(["--resume", str(out), "--run.steps", "4", "--run.wandb", "offline"]) == 0
    segments = [[json.loads(line) for line in leet(file).splitlines()] for file in offline_files(out)]
    started = [next(r["run"] for r in records if r["type"] == "run") for records in segments]
    assert len({each["run_id"] for each in started}) == 2
    assert {each["run_group"] for each in started} == {"mine"}
    rows = [[r["history"]["item"] for r in records if r["type"] == "history"] for records in segments]
    steps = [sorted(row["trainer/global_step"] for row in some if "train/loss" in row) for some in rows]
    assert sorted(steps) == [[1, 2], [3, 4]]
