"""Runs of all stages by many processes: one is killed, then all are stopped, and another number of them continues."""

import signal
from pathlib import Path

import pytest

from kanachan.cli import train
from kanachan.objectives.stages import POLICY, REWARD, STAGES
from tests.kanachan.conftest import PlayedGames
from tests.support.forked import Run, ended, started_by
from tests.support.paths import CONFIGS
from tests.support.round_folders import round_folder
from tests.support.stopped import wait_for_rows
from tests.support.tiny_runs import losses_of

STEPS = 8
EACH_STEP = ("--run.checkpoint_minutes", "0", "--run.log_every", "1", "--run.steps", str(STEPS))
BATCH = ("--data.batch", "48", "--data.micro_batch", "6", "--data.validation_batch", "16", "--model.dropout", "0")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("threads")]


def given(stage: str, shards: Path, imitation: Path, played: PlayedGames, folder: Path) -> list[str]:
    """Returns the settings of a run of a stage, without its folder."""
    if stage in STAGES:
        return ["--config", str(CONFIGS / "debug.yaml"), "--data.path", str(shards), *BATCH, "--init", str(imitation)]
    if stage == REWARD:
        rounds = round_folder(folder / "rounds", train=60, validation=20)
        batch = ["--data.batch", "24", "--data.micro_batch", "3", "--run.early_stopping", "null"]
        return ["--data.path", str(rounds), "--reward.width", "8", *batch]
    of_games = ["--data.path", str(played.shards), *BATCH, "--run.validate_batches", "1", "--run.precision", "fp32"]
    return [*of_games, "--init", str(played.weights), "--policy.reward", str(played.reward), "--policy.kl_limit", "100"]


@pytest.mark.parametrize("stage", [*STAGES, REWARD, POLICY])
def test_losses_depend_neither_on_the_number_of_processes_nor_on_interruptions(
    stage: str, shards: Path, imitation: Path, played: PlayedGames, tmp_path: Path
) -> None:
    settings = ["--stage", stage, *given(stage, shards, imitation, played, tmp_path), *EACH_STEP]
    settings += ["--run.wandb", "disabled", "--run.threads", "1"]
    out, whole = tmp_path / "many", tmp_path / "whole"
    assert train.main([*settings, "--run.out", str(whole)]) == 0
    argv = [*settings, "--run.out", str(out), "--resume", "auto"]

    ranks = started_by([[Run(argv)]] * 8, tmp_path)
    wait_for_rows(out, 2)
    ranks[5].kill()
    printed, statuses = ended(ranks, tmp_path)
    assert statuses[5] == -signal.SIGKILL and 0 not in statuses, "\n".join(printed)
    assert len(losses_of(out)) < STEPS

    ranks = started_by([[Run(argv)]] * 6, tmp_path)
    wait_for_rows(out, 5)
    for rank in ranks:
        assert rank.pid is not None
        rank.terminate()
    printed, statuses = ended(ranks, tmp_path)
    assert statuses == 6 * [0] and "stopped by SIGTERM after step" in printed[0], "\n".join(printed)

    printed, statuses = ended(started_by([[Run(argv)]] * 2, tmp_path), tmp_path)
    assert statuses == [0, 0] and "resumed from step" in printed[0], "\n".join(printed)
    assert losses_of(out) == pytest.approx(losses_of(whole), rel=1e-4)
    assert len(losses_of(whole)) == STEPS
