"""Several processes learn the same as one, whatever starts them and whatever is sharded over them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from kanachan.cli import train
from kanachan.config import RunConfig, StageName
from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.devices import Devices, devices_of
from kanachan.training.processes import World
from kanachan.training.strategies import chosen_strategy, make_strategy
from tests.support.forked import Run, ended, made_by_two, started_by
from tests.support.stopped import signal_after_rows, wait_for_rows
from tests.support.tiny_runs import arguments, losses_of, rows_of, run

STRATEGIES = ("ddp", "zero2", "zero3")
STEPS = 12
STEPS_OF_A_ROW = 2
MICRO_BATCH = 8
"""a process takes several of these in a step"""
QUICKLY = (
    *("--run.validation_interval", str(32 * STEPS)),
    *("--run.log_every", str(STEPS_OF_A_ROW), "--data.micro_batch", str(MICRO_BATCH)),
)
WITHOUT_EFFECT = ("decoder.norm.bias", "head.bias")
"""in imitation these shift all scores equally, so that their gradient is only rounding, which Adam amplifies"""
ON_CPU = Devices(is_gpu=False, use_bf16=False, use_varlen=False, world=World(2, 1))


@pytest.fixture(scope="module")
def trained(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of imitation, then of rank with its encoder, by one process and by two; and one that was stopped."""
    folder = tmp_path_factory.mktemp("runs")
    steps = ("--run.steps", str(STEPS), *QUICKLY)
    assert run("imitation", shards, folder / "imitation-plain", *steps) == 0
    init = ("--init", str(folder / "imitation-plain"))
    assert run("rank", shards, folder / "rank-plain", *steps, *init) == 0
    released = folder / "released.json"  # by default, ZeRO 3 releases no parameter of so small a network
    released.write_text(json.dumps({"zero_optimization": {"stage3_param_persistence_threshold": 0}}))
    more = {"zero3": ("--run.deepspeed", str(released), "--run.recompute", "true")}
    of_name = {name: ("--run.strategy", name, *more.get(name, ())) for name in STRATEGIES}
    runs = [Run(arguments("rank", shards, folder / f"rank-{n}", *steps, *init, *of_name[n])) for n in STRATEGIES]
    in_bf16 = ("--run.strategy", "zero3", "--run.precision", "bf16")
    runs.append(Run(arguments("rank", shards, folder / "rank-bf16", *steps, *init, *in_bf16)))
    moved = arguments("rank", shards, folder / "moved", *moving(folder), "--run.strategy", "zero2")
    made_by_two([Run(moved, stop_after=2), *runs], folder)
    return folder


@pytest.mark.parametrize("name", STRATEGIES)
def test_two_processes_have_the_losses_and_the_weights_of_one(trained: Path, name: str) -> None:
    require_same(trained / f"rank-{name}", trained / "rank-plain")


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "name"), [("imitation", "zero3"), ("rank", "zero1")])
def test_other_strategies_also_have_the_losses_and_the_weights_of_one_process(
    stage: StageName, name: str, trained: Path, shards: Path, tmp_path: Path
) -> None:
    steps = moving(trained) if stage == "rank" else ("--run.steps", str(STEPS), *QUICKLY)
    made_by_two([Run(arguments(stage, shards, tmp_path / "run", *steps, "--run.strategy", name))], tmp_path)
    require_same(tmp_path / "run", trained / f"{stage}-plain", WITHOUT_EFFECT if stage == "imitation" else ())


def require_same(several: Path, plain: Path, without: Sequence[str] = ()) -> None:
    assert len(losses_of(plain)) == STEPS // STEPS_OF_A_ROW
    assert losses_of(several) == pytest.approx(losses_of(plain), rel=1e-5)
    norms = [[float(row["train/gradient_norm"]) for row in rows_of(o) if row["train/loss"]] for o in (plain, several)]
    assert norms[1] == pytest.approx(norms[0], rel=1e-4)
    weights, expected = (load_file(out / "weights.safetensors") for out in (several, plain))
    assert weights.keys() == expected.keys()
    for key, tensor in expected.items():
        if key not in without:
            torch.testing.assert_close(weights[key], tensor, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_checkpoint_of_several_processes_equals_one_of_a_single_process(trained: Path, name: str) -> None:
    """The weights have the same keys. The optimiser's states are there in full, with nearly the same numbers."""
    plain, several = (read_checkpoint(trained / f"rank-{n}" / "checkpoints" / "last.ckpt") for n in ("plain", name))
    assert plain["state_dict"].keys() == several["state_dict"].keys()
    assert plain["lr_schedulers"][0]["last_epoch"] == several["lr_schedulers"][0]["last_epoch"] == STEPS
    (optimizer,), (expected,) = several["optimizer_states"], plain["optimizer_states"]
    assert [g["params"] for g in optimizer["param_groups"]] == [g["params"] for g in expected["param_groups"]]
    assert optimizer["state"].keys() == expected["state"].keys()
    for number, state in expected["state"].items():
        for key, tensor in state.items():
            assert_near(optimizer["state"][number][key], tensor)


def test_weights_that_are_written_after_a_validation_in_bf16_are_whole(trained: Path) -> None:
    """ZeRO 3 gathers weights for each product."""
    expected = read_checkpoint(trained / "rank-bf16" / "checkpoints" / "last.ckpt")["state_dict"]
    weights = load_file(trained / "rank-bf16" / "weights.safetensors")
    assert weights and all(torch.equal(tensor, expected[f"network.{name}"]) for name, tensor in weights.items())


def assert_near(found: Tensor, expected: Tensor) -> None:
    scale = float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3 * scale + 1e-9)


def test_a_run_is_resumed_with_one_process_and_then_with_two_again(
    shards: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under ZeRO 2, then by one process, then under ZeRO 2: the losses are the same as without these moves."""
    out = trained / "moved"
    assert 1 <= len(losses_of(out)) < STEPS // STEPS_OF_A_ROW - 2
    same = trained / ".." / trained.name  # the folder of --init may be spelled otherwise
    alone = arguments("rank", shards, out, *moving(same), "--resume", "auto", "--run.strategy", "auto")
    signal_after_rows(out, 4, signal.SIGTERM)
    assert train.main(alone) == 0
    printed = capsys.readouterr().out
    assert "1 x CPU, plain (one process)" in printed and "stopped by SIGTERM after step" in printed
    again = arguments("rank", shards, out, *moving(trained), "--resume", "auto", "--run.strategy", "zero2")
    assert "2 x CPU, zero2" in made_by_two([Run(again)], tmp_path)
    assert losses_of(out) == pytest.approx(losses_of(trained / "rank-plain"), rel=1e-5)


def test_a_sharded_run_that_lacks_only_its_weights_file_is_finished_by_one_process(
    shards: Path, trained: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(trained / "rank-zero2", tmp_path / "run"))
    (out / "weights.safetensors").unlink()
    (tmp_path / "zero.json").write_text("{}")
    zero = ("--run.strategy", "zero2", "--run.deepspeed", str(tmp_path / "zero.json"), "--run.devices", "2")
    assert run("rank", shards, out, *moving(trained), *zero, "--resume", "auto") == 0
    weights, expected = (load_file(folder / "weights.safetensors") for folder in (out, trained / "rank-zero2"))
    assert all(tensor.equal(weights[name]) for name, tensor in expected.items())


def moving(folder: Path) -> tuple[str, ...]:
    return ("--run.steps", str(STEPS), *QUICKLY, "--init", str(folder / "imitation-plain"))


def test_a_run_ends_soon_if_a_process_is_killed_and_can_be_resumed_to_the_same_weights(
    shards: Path, trained: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    settings = (*moving(trained), "--run.strategy", "ddp", "--run.checkpoint_minutes", "0")
    ranks = started_by([[Run(arguments("rank", shards, out, *settings))]] * 2, tmp_path)
    wait_for_rows(out, 2)
    ranks[1].kill()
    (printed, _), statuses = ended(ranks, tmp_path)
    assert statuses[0] == 1 and "has lost another process" in printed
    assert len(losses_of(out)) < STEPS // STEPS_OF_A_ROW
    again = arguments("rank", shards, out, *settings, "--resume", "auto")
    assert "resumed from step" in made_by_two([Run(again)], tmp_path)
    weights, expected = (load_file(folder / "weights.safetensors") for folder in (out, trained / "rank-ddp"))
    assert all(tensor.equal(weights[name]) for name, tensor in expected.items())


@pytest.mark.slow
def test_processes_that_torchrun_has_started_find_each_other(shards: Path, tmp_path: Path, trained: Path) -> None:
    out = tmp_path / "torchrun"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "kanachan", "train", *arguments("imitation", shards, out, "--run.steps", str(STEPS), *QUICKLY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 x CPU, ddp (it fits: " in done.stdout
    assert losses_of(out) == pytest.approx(losses_of(trained / "imitation-plain"), rel=1e-5)


def test_processes_that_chose_differently_say_so_and_do_not_wait_for_each_other(shards: Path, tmp_path: Path) -> None:
    argv = arguments("imitation", shards, tmp_path / "unlike", "--run.steps", str(STEPS), "--data.batch", "16")
    ranks = [[Run([*argv, "--data.micro_batch", at_once])] for at_once in ("4", "8")]
    printed, statuses = ended(started_by(ranks, tmp_path), tmp_path)
    assert statuses == [1, 1]
    for rank in printed:
        assert "its processes have chosen 4 and 8: give --data.micro_batch, for instance" in rank


def test_one_process_is_plain_and_several_that_fit_are_ddp() -> None:
    alone = Devices(is_gpu=False, use_bf16=False, use_varlen=False, world=World(1, 1))
    assert chosen_strategy(RunConfig(), alone, 10**12)[0] == "plain"
    assert chosen_strategy(RunConfig(), ON_CPU, 10**6)[0] == "ddp"


def test_a_network_that_does_not_fit_is_sharded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 2 * 10**10}[name])
    chosen = {n: chosen_strategy(RunConfig(), ON_CPU, n)[0] for n in (10**8, 5 * 10**8, 10**9)}
    assert chosen == {10**8: "ddp", 5 * 10**8: "zero2", 10**9: "zero3"}


@pytest.mark.parametrize(
    "config, message",
    [
        ({"bf16": {"enabled": True}}, "remove bf16: it is set by run.precision"),
        ({"optimizer": {"type": "Adam"}}, "remove optimizer: it is set by optim"),
        ({"train_batch_size": 4}, "remove train_batch_size: it is set by data.batch"),
        ({"zero_optimization": {"stage": 3}}, "stage is 3, and --run.strategy is zero2"),
        ({"zero_optimization": True}, "zero_optimization: an object is expected"),
        ({"zero_optimization": {"offload_param": {}}}, "remove zero_optimization.offload_param"),
        ([], "a JSON object is expected"),
    ],
)
def test_deepspeed_settings_that_belong_to_the_run_are_refused(config: object, message: str, tmp_path: Path) -> None:
    (tmp_path / "deepspeed.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        make_strategy("zero2", RunConfig(deepspeed=str(tmp_path / "deepspeed.json")), ON_CPU, 16)


def test_deepspeed_settings_of_the_user_are_merged(tmp_path: Path) -> None:
    from deepspeed.utils.config import get_timers_config

    path = tmp_path / "deepspeed.json"
    path.write_text('{"zero_optimization": {"reduce_bucket_size": 1234}}')
    config = make_strategy("zero2", RunConfig(deepspeed=str(path)), ON_CPU, 16).config
    assert config["zero_optimization"]["reduce_bucket_size"] == 1234
    assert config["zero_optimization"]["stage"] == 2
    assert not get_timers_config(config).enabled  # it would wait for the GPU in each micro-batch


def test_packed_attention_needs_bf16_on_a_gpu_that_supports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for has_units in (True, False):  # NVIDIA's GPUs from 2020 on, then earlier ones
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has=has_units: has)
        assert devices_of(RunConfig(precision="bf16")).use_varlen is has_units
        assert not devices_of(RunConfig(precision="fp32")).use_varlen
    for precision in ("fp32", "bf16"):
        with pytest.raises(ValueError, match="--run.attention packed: the GPU's kernels for it need"):
            devices_of(RunConfig(precision=precision, attention="packed"))


@pytest.mark.parametrize(("unit", "use_bf16"), [("avx512_f", False), ("avx512_bf16", True), ("amx_bf16", True)])
def test_a_cpu_with_bf16_units_multiplies_in_bf16(unit: str, use_bf16: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {unit: True, "amx_tile": False})
    assert devices_of(RunConfig(accelerator="cpu")).use_bf16 is use_bf16
    assert not devices_of(RunConfig(accelerator="cpu", precision="fp32")).use_bf16
