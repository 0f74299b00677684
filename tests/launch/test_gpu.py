"""launch/gpu.sh: what it measures works on a CPU too, and what it cannot measure has a reason."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.launched import LAUNCH, program_of
from tests.support.paths import ROOT

PROGRAM = LAUNCH / "gpu"
PARTS = (
    *("parity", "packing", "compiling", "training", "profile", "sharding", "checkpoints"),
    *("inference", "arena", "selfplay"),
)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """The program in this process, which it forks for each part, on a machine without a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with program_of(PROGRAM, ()) as modules:

        def main(*arguments: str) -> int:
            monkeypatch.setattr(sys, "argv", ["gpu", *arguments])
            status: int = modules["main"].main()
            return status

        yield main


def result(part: str, **more: Any) -> str:
    rows = [
        {"what": "base, packed", "decisions/s": 12345.6, "memory, GB": None},
        {"what": "base, zero2", "not measured": "DeepSpeed is not installed"},
        {"what": "large", "failed": "OutOfMemoryError: 80 GB"},
    ]
    machine = {"device": "GPU", "cores": 16, "versions": {"torch": "2.13"}}
    about = {"part": part, "tiny": False, "started": "2026-11-23 06:00", "seconds": 61.2, "machine": machine}
    return json.dumps({**about, "complete": True, "rows": rows, **more})


def test_complete_parts_are_not_measured_again_and_the_table_has_all_results(
    measured: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "packing.json").write_text(result("packing"))
    (tmp_path / "training.json").write_text(result("training", rows=[], complete=False, failed="status -9: killed"))
    (tmp_path / "profile.json").write_text(result("profile", rows=[], complete=False, failed="status 1", machine={}))
    assert measured("packing", "-o", str(tmp_path)) == 1  # one of its rows has failed
    table = (tmp_path / "table.md").read_text()
    assert capsys.readouterr().out.strip() == table.strip()
    assert "GPU, 16 cores, torch 2.13, 2026-11-23 06:00, 61 s." in table
    assert "| what | decisions/s |\n| --- | ---: |\n| base, packed | 12,346 |\n\n" in table
    assert "- base, zero2: not measured: DeepSpeed is not installed\n" in table
    assert "- large: failed: OutOfMemoryError: 80 GB\n" in table
    assert "- the part did not end: status -9: killed\n" in table
    assert "an unknown machine, 2026-11-23 06:00, 61 s.\n\n- the part did not end: status 1\n" in table


def test_a_part_that_breaks_is_reported_and_can_be_repeated(measured: Callable[..., int], tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "tiny-shards").write_text("no folder")  # of the games
    (tmp_path / "out").mkdir()
    (tmp_path / "out/profile.json").write_text(result("profile"))  # of whole networks: no result of tiny ones
    assert measured("profile", "--tiny", "-o", str(tmp_path / "out"), "--work", str(work)) == 1
    found = json.loads((tmp_path / "out/profile.json").read_text())
    assert found["tiny"] and [sorted(row) for row in found["rows"]] == [["failed", "what"]]
    assert found["machine"]["versions"]["torch"]


def test_a_part_that_does_not_exist_is_refused(
    measured: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        measured("nothing")
    assert ended.value.code == 2
    assert f"nothing: no such part; there are {', '.join(PARTS)}" in capsys.readouterr().err


def test_games_are_measured_by_device_and_size_of_the_batch(
    measured: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured("arena", "selfplay", "--tiny", "-o", str(tmp_path)) == 0, capsys.readouterr().err
    arena, selfplay = (json.loads((tmp_path / f"{part}.json").read_text())["rows"] for part in ("arena", "selfplay"))
    assert [row["games together"] for row in arena] == [8, 32, 8, 32]
    assert all(row["decisions/s"] > 0 for row in (*arena, selfplay[0]))
    assert selfplay[1]["not measured"] == "torch sees no GPU"


@pytest.mark.slow
def test_everything_is_measured_on_a_cpu_or_has_a_reason(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), "--tiny", "-o", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {part: json.loads((tmp_path / f"out/{part}.json").read_text()) for part in PARTS}
    for part, found in results.items():
        assert found["complete"] and found["rows"], part
    missing = [row for found in results.values() for row in found["rows"] if "not measured" in row]
    assert [row["not measured"] for row in missing] == ["torch sees no GPU"]
    (moved,) = results["checkpoints"]["rows"]
    assert moved["difference of the losses"] == moved["difference of the weights"] == 0
    for row in (*results["packing"]["rows"], *results["sharding"]["rows"]):
        assert row.get("relative difference", row.get("difference of the losses", 0)) < 0.05
    exact = [row for row in results["parity"]["rows"] if "difference of the scores" in row]
    assert len(exact) == 8 and all(row["difference of the gradient"] < 0.05 for row in exact)
    shares = {name: share for name, share in results["profile"]["rows"][0].items() if name not in ("what", "ms a step")}
    assert sum(shares.values()) == pytest.approx(1)


def test_without_internet_the_environment_is_made_of_wheels(tmp_path: Path) -> None:
    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        script = (
            f"source {LAUNCH}/setup.sh && set_up && python -c 'import kanachan, kanachan_of_wheel as k; print(k.X)'"
        )
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**inherited, "PYTHON": sys.executable, "KANACHAN_VENV": str(tmp_path / "venv"), **variables}
        return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)

    (tmp_path / "wheels").mkdir()
    refused = run(KANACHAN_WHEELS=str(tmp_path / "wheels"))
    assert refused.returncode == 1
    assert "has no wheel of this program: pip wheel --no-deps" in refused.stderr
    with zipfile.ZipFile(tmp_path / "wheels/kanachan-0.1.0-py3-none-any.whl", "w") as wheel:
        info = "kanachan-0.1.0.dist-info"
        wheel.writestr("kanachan_of_wheel.py", "X = 'from the wheel'")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: kanachan\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    made = run(KANACHAN_WHEELS=str(tmp_path / "wheels"))
    assert made.stdout.strip().endswith("from the wheel"), made.stderr
