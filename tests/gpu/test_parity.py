"""A GPU computes what the CPU computes in fp32: outputs, losses, gradients, runs, games. `pytest -m gpu`."""

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from annotate.runtime.signals import StopRequest
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.config import WEIGHTS_NAME, StageName
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.data.played_games import PlayedGame
from kanachan.models.weights import read_weights
from kanachan.objectives.stages import POLICY, REWARD, STAGES
from kanachan.play.agent import GameKey
from kanachan.play.game import Precision
from kanachan.play.inference_server import inference_servers
from kanachan.play.playing import Execution, GameStream
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import stream_of
from kanachan.training.checkpointing import LAST_NAME, PREVIOUS_NAME
from kanachan.training.run_folder import CHECKPOINTS
from tests.support.on_device import Trainee, logged, packed, relative, trained
from tests.support.random_annotations import random_annotations

pytestmark = pytest.mark.gpu
MOST = {"fp32": 1e-3, "tf32": 0.01, "bf16": 0.05}
"""relative difference from the CPU in fp32"""
SHORT = ("--run.steps", "6", "--run.log_every", "1", "--run.validation_interval", "192")


@pytest.fixture(scope="module")
def batch() -> Batch:
    return batch_of_annotations(random_annotations(32, seed=4, games=4), FOUR_PLAYERS)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("use_bf16", "is_packed"),
    [(False, False), (True, False), (True, True)],
    ids=["fp32", "bf16", "bf16 packed"],
)
def test_outputs_losses_and_gradients(
    device: torch.device, stage: StageName, use_bf16: bool, is_packed: bool, batch: Batch
) -> None:
    if device.type == "cpu" and not use_bf16:
        pytest.skip("the CPU in fp32 is what is compared with")
    expected = Trainee(torch.device("cpu"), "tiny", stage, use_bf16=False).measured(batch)
    trainee = Trainee(device, "tiny", stage, use_bf16=use_bf16)
    found = trainee.measured(packed(batch) if is_packed else batch)
    for of_device, exact in zip(found, expected, strict=True):
        assert relative(of_device, exact) < MOST["bf16" if use_bf16 else "fp32"]


def settings(stage: str) -> list[str]:
    """Returns settings of a short run of a stage."""
    if stage == REWARD:
        return [*SHORT, "--data.batch", "1", "--data.micro_batch", "1"]
    given = [*SHORT, "--data.batch", "32", "--data.micro_batch", "16", "--data.validation_batch", "32"]
    if stage == POLICY:
        given += ["--init", "reference", "--policy.reward", "reference/reward"]
        return [*given, "--policy.kl_limit", "10"]
    given += ["--model.size", "tiny", "--optim.optimizer", "adamw"]
    return given


@pytest.mark.parametrize("stage", [*STAGES, REWARD, POLICY])
def test_losses_of_runs(gpu: torch.device, stage: str, games: Path, tmp_path: Path) -> None:
    """Policies need games of a network."""
    shards = played_by_reference(tmp_path) if stage == POLICY else games
    losses = {}
    for accelerator, precision in (("cpu", "fp32"), *(("gpu", precision) for precision in MOST)):
        given = [*settings(stage), "--run.accelerator", accelerator, "--run.precision", precision]
        run = trained(tmp_path / f"{accelerator}-{precision}", shards, stage, *given)
        losses[accelerator, precision] = torch.tensor(logged(run, "train/loss"))
    expected = losses.pop(("cpu", "fp32"))
    for (_, precision), found in losses.items():
        assert relative(found, expected) < MOST[precision]


def played_by_reference(folder: Path) -> Path:
    from kanachan.cli.selfplay import main

    given = ["reference@0.7", "-n", "12", "--style", "east", "--fractions", "0.5,0.5,0", "--device", "cpu"]
    assert main([*given, "-o", str(folder / "played")]) == 0
    return folder / "played"


@pytest.mark.parametrize("first, second", [("gpu", "cpu"), ("cpu", "gpu")])
def test_a_checkpoint_moves_between_devices(
    gpu: torch.device, first: str, second: str, shards: Path, tmp_path: Path
) -> None:
    given = [*settings("imitation"), "--optim.cooldown", "3", "--run.precision", "fp32"]
    whole = trained(tmp_path / "whole", shards, "imitation", *given, "--run.accelerator", first)
    half = tmp_path / "half"
    shutil.copytree(whole, half)
    (half / WEIGHTS_NAME).unlink()
    (half / CHECKPOINTS / PREVIOUS_NAME).replace(half / CHECKPOINTS / LAST_NAME)
    assert train.main(["--resume", str(half), "--run.accelerator", second]) == 0
    mine, others = (read_weights(run).tensors for run in (half, whole))
    # the loss does not depend on these biases: their gradients are rounding, which AdamW scales up
    names = mine.keys() - {"head.bias", "decoder.norm.bias"}
    assert all(relative(mine[name].float(), others[name].float()) < 0.01 for name in names)


@pytest.mark.skipif(find_spec("deepspeed") is None, reason="DeepSpeed is not installed")
@pytest.mark.parametrize("strategy", ["zero1", "zero2", "zero3"])
def test_zero(gpu: torch.device, strategy: str, shards: Path, tmp_path: Path) -> None:
    """Each run is a process of its own, as DeepSpeed changes the process that it is in."""
    losses = []
    for name in ("ddp", strategy):
        given = ["--stage", "imitation", "--data.path", str(shards), "-o", str(tmp_path / name), *settings("imitation")]
        given += ["--run.wandb", "disabled", "--run.devices", "1", "--run.precision", "bf16", "--run.strategy", name]
        done = subprocess.run([sys.executable, "-m", "kanachan", "train", *given], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        losses.append(torch.tensor(logged(tmp_path / name, "train/loss")))
    assert relative(losses[1], losses[0]) < 0.01


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_compiled_run(gpu: torch.device, precision: str, shards: Path, tmp_path: Path) -> None:
    losses = []
    for compiles in ("false", "true"):
        given = [*settings("imitation"), "--run.precision", precision, "--run.compile", compiles]
        run = trained(tmp_path / compiles, shards, "imitation", *given)
        losses.append(torch.tensor(logged(run, "train/loss")))
    assert relative(losses[1], losses[0]) < MOST[precision]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_games_by_a_server_are_those_by_a_network_of_the_process(gpu: torch.device, precision: Precision) -> None:
    """On CPUs tests/kanachan/play/test_inference_server.py compares them."""
    players, shares = ("reference@0.7", "rule"), (0.5, 0.5)
    selfplay = SelfPlay(
        vocabulary=FOUR_PLAYERS, players=players, shares=shares, style=0, precision=precision, device="cuda"
    )
    stream = stream_of(selfplay, Execution(device="cuda"))

    def played(of: GameStream[PlayedGame]) -> dict[int, int]:
        """Returns the size of each game: rows of decisions at the same time come in any order."""
        return {key.wall: len(game.rows) for key, game in of((GameKey(n, 0) for n in range(8)), StopRequest())}

    with inference_servers(["cuda:0"]) as (address,):
        assert played(replace(stream, server=address)) == played(stream)
