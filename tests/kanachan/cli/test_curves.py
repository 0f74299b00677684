"""kanachan-curves on metrics files of several stages."""

import csv
from pathlib import Path

import pytest

from kanachan.cli.curves import main
from kanachan.training.curves import find_runs, panels_of, read_runs


def write_run(folder: Path, stage: str, rows: list[dict[str, float]], *, ended: bool = True) -> Path:
    folder.mkdir(parents=True)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with open(folder / "metrics.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    (folder / "config.yaml").write_text(f"stage: {stage}\n")
    if ended:
        (folder / "weights.safetensors").touch()
    return folder


def rows_of(loss: float) -> list[dict[str, float]]:
    rows: list[dict[str, float]] = []
    for step in range(1, 5):
        seen = {"step": step, "train/samples": 32 * step}
        of_batch = {"train/loss": loss / step, "train/cross_entropy": loss / step, "train/skipped_steps": 0}
        rows.append({**seen, **of_batch, "train/learning_rate": 1e-3 / step})
        rows.append({**seen, "validation/loss": loss / step, "validation/top1": 0.1 * step})
    return rows


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs" / "imitation", "imitation", rows_of(2.0))
    write_run(tmp_path / "runs" / "rank", "rank", [*rows_of(3.0), {"step": 4, "train/samples": 128, "new/column": 1}])
    write_run(tmp_path / "runs" / "other", "rank", rows_of(4.0), ended=False)
    return tmp_path / "runs"


@pytest.fixture(autouse=True)
def pictures() -> None:
    pytest.importorskip("matplotlib", reason="the extra `pictures` is not installed")


def test_the_picture_has_the_panels_and_the_runs_by_stage(runs: Path, tmp_path: Path) -> None:
    titles = [panel.title for panel in panels_of(read_runs(find_runs([str(runs)])))]
    assert titles[:2] == ["loss (imitation)", "loss (rank)"]
    assert {"learning rate", "accuracy: top choice is the action taken", "new/column"} <= set(titles)
    # no curve that repeats the loss under another name, and no constant line
    assert not any("cross-entropy" in title or "skipped" in title for title in titles)
    assert main([str(runs), "-o", str(tmp_path / "curves.svg")]) == 0
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_runs_are_found_at_any_depth_and_ones_without_rows_are_left_out(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = write_run(runs / "curriculum" / "grading", "grading", rows_of(1.0))
    write_run(deep / "iteration-000" / "update", "policy", rows_of(1.0))
    empty = write_run(runs / "new", "rank", rows_of(1.0)) / "metrics.csv"
    empty.write_text(empty.read_text().splitlines()[0] + "\n")
    assert main([str(runs), "-o", str(tmp_path / "curves.png")]) == 0
    output = capsys.readouterr()
    assert "4 runs: grading, imitation, other, rank" in output.out
    assert "left out, without metrics so far: 1 runs" in output.err


def test_a_row_that_is_being_written_is_left_out(runs: Path, tmp_path: Path) -> None:
    with open(runs / "rank" / "metrics.csv", "a") as file:
        file.write("5,16")
    assert main([str(runs / "rank"), "-o", str(tmp_path / "curves.png")]) == 0


def test_an_existing_file_is_replaced_with_force_only(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "curves.png"
    out.write_text("mine")
    assert main([str(runs), "-o", str(out)]) == 1
    assert "--force" in capsys.readouterr().err and out.read_text() == "mine"
    assert main([str(runs), "-o", str(out), "--force"]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no metrics.csv in it"),
        ("", "no metrics yet"),
        ("step,train/samples,train/loss\n", "no metrics yet"),
        ("step,train/samples,train/loss\n1,2,three\n", "line 2 is damaged"),
    ],
    ids=["missing", "empty", "no rows", "damaged"],
)
def test_a_run_without_readable_metrics_is_named_in_the_error(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    if content is not None:
        (run / "metrics.csv").write_text(content)
    assert main([str(run), "-o", str(tmp_path / "curves.png")]) == 1
    error = capsys.readouterr().err
    assert message in error and str(run) in error
