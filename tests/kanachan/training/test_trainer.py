"""kanachan-train from shards to weights."""

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import yaml
from torch._dynamo.utils import counters

from kanachan.cli import train
from kanachan.config import RunConfig, StageName
from kanachan.models.learned_games import GAMES_KEY
from kanachan.models.weights import lineage_of, read_weights
from kanachan.objectives.stages import STAGES
from kanachan.training.checkpointing import read_checkpoint
from kanachan.training.command_line import saved_config
from kanachan.training.devices import devices_of
from tests.support.processes import contents
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_runs import CONFIGS, LOSSES, all_rows_of, losses_of, rows_of, run

pytestmark = pytest.mark.usefixtures("threads")


RunOf = Callable[[StageName], Path]


@pytest.mark.parametrize("stage", STAGES)
def test_the_losses_of_a_stage_are_the_recorded_ones(stage: StageName, run_of: RunOf) -> None:
    recorded = [float(line) for line in (LOSSES / f"{stage}.txt").read_text().split()]
    assert losses_of(run_of(stage)) == pytest.approx(recorded, rel=1e-4)


def test_a_run_folder_holds_all_files_of_the_run(imitation: Path) -> None:
    names = {str(path.relative_to(imitation)) for path in imitation.rglob("*") if path.is_file()}
    checkpoints = {"last.ckpt", "previous.ckpt", "before-cooldown.ckpt", "best.safetensors", ".lock"}
    assert names == {
        *("config.yaml", "metrics.csv", "weights.safetensors", "card.json"),
        *(f"checkpoints/{name}" for name in checkpoints),
    }


def test_a_run_keeps_the_precision_that_was_chosen_for_it(shards: Path, tmp_path: Path) -> None:
    given = ("--run.precision", "auto", "--run.steps", "2", "--data.verify", "true")
    assert run("rank", shards, tmp_path / "run", *given) == 0
    chosen = saved_config(tmp_path / "run" / "config.yaml").run.precision
    assert chosen == ("bf16" if devices_of(RunConfig(accelerator="cpu")).use_bf16 else "fp32")
    assert read_weights(tmp_path / "run").card["config"]["run"]["precision"] == chosen


def test_a_run_in_bf16_without_bf16_units_warns_that_it_is_slow(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert run("imitation", shards, tmp_path / "run", "--run.precision", "bf16", "--run.steps", "1") == 0
    assert "warning: no bf16 units here" in capsys.readouterr().out


def test_the_card_holds_stage_data_length_and_metrics(imitation: Path) -> None:
    card = read_weights(imitation).card
    assert (card["stage"], card["steps"], card["samples"], card["lineage"]) == ("imitation", 20, 640, [])
    assert card["data"]["decisions"] == {"train": 600, "validation": 80}
    assert card["metrics"]["loss"] == pytest.approx(float(rows_of(imitation)[-1]["validation/loss"]), rel=1e-6)
    assert card["config"]["run"]["seed"] == 0
    for_people = {**card, GAMES_KEY: {name: value for name, value in card[GAMES_KEY].items() if name != "keys"}}
    assert json.loads((imitation / "card.json").read_text()) == for_people


def test_metrics_that_a_validation_cannot_show_are_left_out_of_the_card(shards: Path, tmp_path: Path) -> None:
    few = ("--data.validation_batch", "1", "--run.validate_batches", "1")
    assert run("round_delta", shards, tmp_path / "run", "--run.steps", "1", *few) == 0
    assert "NaN" not in (tmp_path / "run" / "card.json").read_text()


def test_a_later_stage_starts_from_the_encoder_of_the_earlier_one(
    imitation: Path, shards: Path, tmp_path: Path
) -> None:
    frozen = ("--optim.frozen", "[encoder]", "--run.steps", "3")
    assert run("rank", shards, tmp_path / "rank", "--init", str(imitation), *frozen) == 0
    earlier, later = read_weights(imitation), read_weights(tmp_path / "rank")
    encoder = [name for name in earlier.tensors if name.startswith("encoder.")]
    assert encoder and all(torch.equal(earlier.tensors[name], later.tensors[name]) for name in encoder)
    assert later.card["lineage"] == lineage_of(earlier)


@pytest.mark.parametrize("stage", ["rank", "grading"])
def test_a_stage_has_the_reward_predictor_of_the_package_as_prior_unless_it_is_turned_off(
    stage: StageName, shards: Path, tmp_path: Path, run_of: RunOf
) -> None:
    assert run(stage, shards, tmp_path / "without", "--run.steps", "1", "--objective.prior", "null") == 0
    shipped, trained = read_weights("reference/reward"), read_weights(run_of(stage))
    assert trained.card["prior"]["name"] == "reference/reward"
    assert all(torch.equal(trained.tensors[f"prior.network.{n}"], t.float()) for n, t in shipped.tensors.items())
    assert "prior" not in read_weights(tmp_path / "without").card


def test_a_run_killed_before_its_last_validation_is_validated_when_resumed(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    short = ("--run.steps", "3", "--run.early_stopping", "5")
    assert run("imitation", shards, out, *short) == 0
    card = read_weights(out).card
    for name in ("weights.safetensors", "checkpoints/best.safetensors"):
        (out / name).unlink()
    assert run("imitation", shards, out, *short, "--resume", "auto") == 0
    assert read_weights(out).card["metrics"] == card["metrics"] and card["metrics"]


def test_a_run_that_stops_early_ends_with_its_best_weights(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    # The rate is so high that the loss soon rises.
    hasty = ("--optim.learning_rate", "0.5", "--optim.warmup", "0", "--run.validation_interval", "32")
    assert run("imitation", shards, out, *hasty, "--run.early_stopping", "2", "--run.steps", "200") == 0
    losses = [float(row["validation/loss"]) for row in rows_of(out) if row["validation/loss"]]
    card = read_weights(out).card
    assert len(losses) < 200 and card["metrics"]["loss"] == pytest.approx(min(losses), rel=1e-6)
    assert card["steps"] == 1 + losses.index(min(losses)) == len(losses) - 2
    best, final = read_weights(out / "checkpoints" / "best.safetensors"), read_weights(out)
    assert all(torch.equal(best.tensors[name], tensor) for name, tensor in final.tensors.items())


def test_a_run_that_has_stopped_early_says_so_and_can_be_trained_further(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    still = ("--optim.learning_rate", "1e-12", "--run.validation_interval", "32", "--run.steps", "100")
    assert run("imitation", shards, out, *still, "--run.early_stopping", "2") == 0
    assert (
        "no lower validation loss in 2 validations (run.early_stopping): the run ends here" in capsys.readouterr().out
    )
    assert run("imitation", shards, tmp_path / "whole", *still, "--run.early_stopping", "4") == 0
    assert train.main(["--resume", str(out), "--run.early_stopping", "4"]) == 0
    assert [row["step"] for row in rows_of(out)] == [row["step"] for row in rows_of(tmp_path / "whole")]
    stopped = rows_of(out)
    assert train.main(["--resume", str(out), "--optim.cooldown", "2", "--run.steps", "100"]) == 0
    cooled = rows_of(out)
    assert train.main(["--resume", str(out), "--run.steps", "200"]) == 0
    assert len(stopped) < len(cooled) < len(rows_of(out))


def test_a_run_that_stopped_early_and_was_killed_before_it_wrote_its_weights_writes_them_when_resumed(
    shards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    still = ("--optim.learning_rate", "1e-12", "--run.validation_interval", "32", "--run.steps", "100")
    assert run("imitation", shards, out, *still, "--run.early_stopping", "2") == 0
    rows, weights = rows_of(out), (out / "weights.safetensors").read_bytes()
    (out / "weights.safetensors").unlink()
    assert train.main(["--resume", str(out)]) == 0
    assert (out / "weights.safetensors").read_bytes() == weights
    assert [row["step"] for row in rows_of(out)] == [row["step"] for row in rows]


def test_a_cooled_run_can_end_where_its_cooldown_began_with_the_weights_of_that_step(
    shards: Path, tmp_path: Path
) -> None:
    whole, cooled = tmp_path / "whole", tmp_path / "cooled"
    assert run("imitation", shards, whole, "--optim.cooldown", "0", "--run.steps", "4") == 0
    assert run("imitation", shards, cooled, "--optim.cooldown", "0.5", "--run.steps", "8") == 0
    assert train.main(["--resume", str(cooled), "--optim.cooldown", "0", "--run.steps", "4"]) == 0
    expected, found = read_weights(whole), read_weights(cooled)
    assert found.card["steps"] == 4 and found.card["metrics"] == expected.card["metrics"]
    assert all(torch.equal(tensor, found.tensors[name]) for name, tensor in expected.tensors.items())


def test_a_prior_may_move_while_a_run_is_interrupted_but_not_change(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, prior = tmp_path / "run", written_reward(tmp_path / "prior.safetensors")
    assert run("rank", shards, out, "--objective.prior", str(prior), "--run.steps", "2") == 0
    prior.rename(moved := tmp_path / "moved.safetensors")
    other = written_reward(tmp_path / "other.safetensors", seed=1)
    before = contents(out)
    longer = ["--resume", str(out), "--run.steps", "3", "--objective.prior"]
    assert train.main([*longer, str(other)]) == 1
    assert contents(out) == before
    assert "objective.prior: the run was started with the weights" in capsys.readouterr().err
    assert train.main([*longer, str(moved)]) == 0


@pytest.mark.parametrize("log_every", [1, 20])
def test_gradients_that_stay_infinite_end_the_run_and_spare_the_checkpoint(
    log_every: int, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    wild = ("--optim.learning_rate", "1e30", "--run.log_every", str(log_every))
    wild += ("--run.validation_interval", "640")
    assert run("round_delta", shards, out, *wild, "--run.checkpoint_minutes", "0") == 1
    assert "not finite in 10 optimiser steps in a row before step 11, and these" in capsys.readouterr().err
    last = read_checkpoint(out / "checkpoints" / "last.ckpt")
    assert last["skipped"] == {"total": 9, "in_a_row": 9}
    assert all(bool(tensor.isfinite().all()) for tensor in last["state_dict"].values())


def test_a_validation_loss_that_is_not_finite_ends_the_run(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild = ("--optim.learning_rate", "1e20", "--run.validation_interval", "64")
    assert run("round_delta", shards, tmp_path / "run", *wild) == 1
    assert "error: the validation loss after step 2 is not finite (nan): lower optim" in capsys.readouterr().err
    assert not (tmp_path / "run" / "weights.safetensors").exists()


def test_all_gradient_norms_of_a_row_are_of_the_same_step(shards: Path, tmp_path: Path) -> None:
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "5", "--run.log_every", "3") == 0
    rows = [row for row in rows_of(tmp_path / "run") if row["train/loss"]]
    assert [row["step"] for row in rows] == ["3", "5"]
    for row in rows:
        encoder, decoder, whole = (float(row[f"train/gradient_norm{part}"]) for part in ("_encoder", "_decoder", ""))
        assert whole == pytest.approx((encoder**2 + decoder**2) ** 0.5, rel=1e-5)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling needs a C++ compiler")
@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(), reason="compiling needs the headers of Python"
)
def test_a_compiled_run_has_the_losses_of_an_uncompiled_one_and_compiles_once_for_all_shapes(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ("--model.dropout", "0", "--run.steps", "10")
    assert run("imitation", shards, tmp_path / "plain", *settings) == 0
    before = counters["stats"]["unique_graphs"]
    assert run("imitation", shards, tmp_path / "compiled", *settings, "--run.compile", "true") == 0
    assert counters["stats"]["unique_graphs"] - before == 2, "one for training, one for validation"
    assert "compiling the network" in capsys.readouterr().out
    plain, compiled = (
        [float(row["train/loss"] or row["validation/loss"]) for row in rows_of(tmp_path / name)]
        for name in ("plain", "compiled")
    )
    assert compiled == pytest.approx(plain, rel=1e-4)


def test_the_metric_of_the_sweep_is_logged_by_validations(imitation: Path) -> None:
    name = yaml.safe_load((CONFIGS / "sweep.yaml").read_text())["metric"]["name"]
    assert name.startswith("validation/") and float(rows_of(imitation)[-1][name]) > 0


def test_a_run_with_wandb_disabled_does_not_import_it(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)  # an import fails now
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "1") == 0


def test_other_processes_of_a_run_inherit_its_number_of_threads(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert run("imitation", shards, tmp_path / "run", "--run.steps", "1", "--run.threads", "2") == 0
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_missing_tensorboard_is_an_error_before_training(
    shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kanachan.extras.find_spec", lambda name: None if name == "tensorboard" else find_spec(name))
    assert run("imitation", shards, tmp_path / "run", "--run.tensorboard", "true") == 1
    error = capsys.readouterr().err
    assert "run.tensorboard needs tensorboard: pip install 'kanachan[tensorboard]" in error
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_every_metric_of_this_attempt_if_it_is_enabled(shards: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra `tensorboard` is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    out = tmp_path / "run"
    with SummaryWriter(str(out / "tensorboard")) as killed:  # before its first checkpoint
        killed.add_scalar("train/loss", 9.0, 1)
    assert run("imitation", shards, out, "--run.tensorboard", "true", "--run.steps", "4") == 0
    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    for column in ("train/loss", "validation/loss", "train/samples"):
        rows = [row for row in all_rows_of(out) if row[column]]
        found = events.Scalars(column)
        assert rows and [event.step for event in found] == [int(row["step"]) for row in rows]
        assert [event.value for event in found] == pytest.approx([float(row[column]) for row in rows], rel=1e-6)


def test_packed_rows_give_the_same_losses_as_padded_ones(shards: Path, tmp_path: Path) -> None:
    losses, settings = {}, ("--model.dropout", "0", "--run.steps", "4")
    for attention in ("padded", "packed"):
        out = tmp_path / attention
        assert run("round_delta", shards, out, *settings, "--run.attention", attention) == 0
        losses[attention] = losses_of(out)
    assert losses["padded"] == pytest.approx(losses["packed"], rel=1e-5)
    assert len(set(losses["padded"])) == 4


def test_a_damaged_shard_is_named_before_training_if_shards_are_verified(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied = Path(shutil.copytree(shards, tmp_path / "shards"))
    content = bytearray((copied / "train-00000.arrow").read_bytes())
    content[len(content) // 2] ^= 1
    (copied / "train-00000.arrow").write_bytes(content)
    assert run("imitation", copied, tmp_path / "run", "--data.verify", "true") == 1
    assert "train-00000.arrow: the data differ from their checksum" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
