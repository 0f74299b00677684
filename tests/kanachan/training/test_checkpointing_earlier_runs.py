"""Runs that an earlier version of the program started are resumed by this one.

tests/golden/earlier_run/ is the folder of a run that the program wrote when networks could still know single suits
(this one did not), stopped by SIGTERM after step 8, the step of a validation:

    kanachan-train --stage rank --config configs/debug.yaml --data.path SHARDS --run.out OUT --run.threads 1
        --model.width 4 --model.heads 1 --model.layers 1 --model.feedforward 4
        --model.dropout 0.1 --optim.average 0.9 --run.early_stopping 100 --run.validation_interval 128
        --run.steps 20 --objective.prior null

The shards are those of `tests.support.tiny_runs.pack_decisions`. `uninterrupted.csv` holds the metrics of the same run
by the same program, not stopped.
"""

import csv
import shutil
from pathlib import Path

import pytest

from kanachan.cli import train
from kanachan.models.learned_games import NONE
from kanachan.training.best_weights import BestCheckpoint
from kanachan.training.checkpointing import LAST_NAME, CheckpointCallback, Schedule, StopSignals, read_checkpoint
from kanachan.training.ema import EMA
from tests.support.paths import GOLDEN
from tests.support.tiny_runs import CLOCKED, rows_of

EARLIER = GOLDEN / "earlier_run"
LOSSES = {"train/loss", "train/cross_entropy", "train/baseline", "validation/loss"}
"""of what is logged: the norms of gradients and the calibration error depend far more on how a CPU rounds"""

pytestmark = pytest.mark.usefixtures("threads")


def metrics(row: dict[str, str]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items() if value and name not in CLOCKED}


def test_a_run_of_an_earlier_program_is_resumed_with_the_losses_of_its_uninterrupted_run(
    shards: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(EARLIER, tmp_path / "run"))
    assert read_checkpoint(out / "checkpoints" / LAST_NAME)["global_step"] == 8
    assert train.main(["--resume", str(out), "--data.path", str(shards), "--run.accelerator", "cpu"]) == 0
    with open(EARLIER / "uninterrupted.csv", newline="") as file:
        expected = [metrics(row) for row in csv.DictReader(file)]
    found = [metrics(row) for row in rows_of(out)]
    assert [row["step"] for row in found] == [row["step"] for row in expected]
    for row, expected_row in zip(found, expected, strict=True):
        assert row.keys() == expected_row.keys()
        for name in expected_row.keys() & LOSSES:
            assert row[name] == pytest.approx(expected_row[name], rel=1e-3), (expected_row["step"], name)


def test_callbacks_keep_the_keys_that_their_state_has_in_checkpoints_of_earlier_programs(tmp_path: Path) -> None:
    """Lightning finds the state of a callback by `state_key`, by default the name of its class, and silently ignores
    a state that it does not find: after a class is renamed, a resumed run would start a new average, lose the stages
    that it comes from, and count validations without progress from zero. So the keys are part of the format of
    checkpoints."""
    callbacks = {
        "Average": EMA(0.9),
        "Snapshots": CheckpointCallback(tmp_path, 0, 1, Schedule(16, 20), [], NONE, StopSignals()),
        "BestWeights": BestCheckpoint(tmp_path, lambda path, tensors, metrics, step: None, None),
    }
    earlier = read_checkpoint(EARLIER / "checkpoints" / LAST_NAME)["callbacks"]
    for key, callback in callbacks.items():
        assert callback.state_key == key
        assert callback.state_dict().keys() >= earlier[key].keys()
    assert earlier.keys() == callbacks.keys()
