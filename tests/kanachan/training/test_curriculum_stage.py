"""A stage under a real Trainer, on a tiny network."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from kanachan.config import OptimConfig, StageName
from kanachan.data.batch import Batch
from kanachan.training.curriculum_stage import StageModule
from kanachan.training.ema import EMA
from kanachan.training.optimizers import learning_rate_factor, parameter_groups
from kanachan.training.progress import Progress
from kanachan.training.seeding import DeterministicSeeding
from kanachan.training.throughput import count_flops
from tests.support.tiny_stage import MODEL, ROWS_PER_BATCH, Rows, batches, make_stage, make_trainer


@torch.no_grad()
def mean_loss(stage: StageModule, batch: Batch) -> dict[str, Tensor]:
    return stage.objective.loss(stage.network(batch), batch)


def test_every_parameter_is_in_one_group_and_only_matrices_decay() -> None:
    network = make_stage().network
    groups = parameter_groups(network, OptimConfig(weight_decay=0.1))
    name_of = {parameter: name for name, parameter in network.named_parameters()}
    decay_of = {name_of[p]: group["weight_decay"] for group in groups for p in group["params"]}
    assert sum(len(group["params"]) for group in groups) == len(decay_of) == len(name_of)
    for name, parameter in network.named_parameters():
        is_matrix = parameter.ndim == 2 and "embedding" not in name
        assert decay_of[name] == (0.1 if is_matrix else 0.0), name


def test_the_encoder_may_have_a_separate_learning_rate() -> None:
    network = make_stage().network
    groups = parameter_groups(network, OptimConfig(learning_rate=1e-3, encoder_learning_rate=1e-4))
    encoder = set(network.encoder.parameters())
    assert {(p in encoder, group["lr"]) for group in groups for p in group["params"]} == {(True, 1e-4), (False, 1e-3)}


FALL = [0.75, 0.5, 0.25, 0, 0]


@pytest.mark.parametrize(("cooldown", "last"), [(4, FALL), (0.4, FALL), (0, 5 * [1])])
def test_the_learning_rate_rises_is_constant_and_falls_to_zero(cooldown: float, last: list[float]) -> None:
    factor = learning_rate_factor(OptimConfig(warmup=4, cooldown=cooldown), total_steps=10)
    assert [factor(step) for step in range(12)] == [0.25, 0.5, 0.75, 1, 1, 1, 1, *last]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize(
    ("settings", "trained"),
    [
        ({"frozen": ("encoder", "decoder")}, {"head"}),
        ({"frozen": ("decoder", "head")}, {"encoder"}),
        ({"frozen": ("encoder",)}, {"decoder", "head"}),
    ],
)
def test_frozen_parts_keep_their_weights(optimizer: Any, settings: dict[str, Any], trained: set[str]) -> None:
    stage = make_stage(**settings, optimizer=optimizer)
    before = {name: value.clone() for name, value in stage.network.state_dict().items()}
    make_trainer().fit(stage, batches(16))
    changed = {
        name.split(".")[0] for name, value in stage.network.state_dict().items() if (value != before[name]).any()
    }
    assert changed == trained


def test_losses_are_logged_as_means_over_the_steps_since_the_last_row() -> None:
    rows, stage, loader = Rows(), make_stage(learning_rate=1e-12), batches(48)
    expected = [float(mean_loss(stage, batch)["loss"]) for batch in loader]
    make_trainer(rows, accumulate_grad_batches=2).fit(stage, loader)
    losses = rows.of("train/loss")
    assert list(losses) == [2, 4, 6]
    for step, loss in losses.items():
        assert loss == pytest.approx(sum(expected[2 * (step - 2) : 2 * step]) / 4, abs=1e-5)
    assert rows.of("train/samples") == {2: 16, 4: 32, 6: 48}
    assert all(norm > 0 for norm in rows.of("train/gradient_norm").values())
    assert rows.of("train/samples_per_second")[6] > 0


def test_a_row_has_the_learning_rates_of_its_step() -> None:
    rows, optim = Rows(), OptimConfig(learning_rate=1e-3, encoder_learning_rate=1e-4, warmup=2, cooldown=3)
    settings = {"learning_rate": 1e-3, "encoder_learning_rate": 1e-4, "warmup": 2.0, "cooldown": 3.0}
    make_trainer(rows).fit(make_stage(**settings, steps=6, log_every=1), batches(48))
    factors = [learning_rate_factor(optim, total_steps=6)(step) for step in range(6)]
    assert list(rows.of("train/learning_rate").values()) == pytest.approx([1e-3 * factor for factor in factors])
    assert list(rows.of("train/encoder_learning_rate").values()) == pytest.approx([1e-4 * f for f in factors])


@pytest.mark.parametrize("stage_name", ["imitation", "round_delta", "rank", "grading"])
def test_validation_is_the_mean_over_all_rows_whatever_their_batches(stage_name: StageName) -> None:
    rows, stage = Rows(), make_stage(stage_name)
    whole = batches(11, rows_per_batch=11).dataset[0]
    make_trainer(rows).validate(stage, batches(11), verbose=False)
    for name, part in mean_loss(stage, whole).items():
        assert rows.of(f"validation/{name}")[0] == pytest.approx(float(part), rel=1e-5), name
    with torch.no_grad():
        output = stage.network(whole)
        score_BA = stage.objective.score(output)
        assert rows.of("validation/top1")[0] == pytest.approx(
            float((score_BA.argmax(1) == whole.chosen_B).float().mean())
        )
        if stage.objective.has_value:
            target_B, value_B = stage.objective.target(whole), stage.objective.value(output, whole)
            expected = 1 - (target_B - value_B).square().mean() / target_B.var(correction=0)
            assert rows.of("validation/explained_variance")[0] == pytest.approx(float(expected), abs=1e-5)
    assert rows.of("validation/rows") == {0: 11}


class Slow:
    """Batches that are slow to arrive."""

    def __init__(self, loader: DataLoader, seconds: float) -> None:
        self.loader, self.seconds = loader, seconds

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.loader:
            time.sleep(self.seconds)
            yield batch


class ReadBacks(TorchDispatchMode):
    """Counts how often a tensor is converted to a plain number, which would wait for a GPU."""

    count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


def test_tokens_and_operations_are_counted_since_the_last_row() -> None:
    rows, loader = Rows(), batches(48)
    make_trainer(rows, accumulate_grad_batches=2).fit(make_stage(), loader)
    for step in (2, 4, 6):
        since = loader.dataset[2 * (step - 2) : 2 * step]
        tokens = sum(int((b.tile_BT != 0).sum() + (b.event_GE != 0).sum()) + 5 * len(b) for b in since)
        a_second = {name: rows.of(f"train/{name}_per_second")[step] for name in ("samples", "tokens", "flops")}
        assert a_second["tokens"] / a_second["samples"] == pytest.approx(tokens / 16)
        assert a_second["flops"] / a_second["samples"] == pytest.approx(
            sum(count_flops(MODEL, batch).flops for batch in since) / sum(map(len, since))
        )


def seconds_of(rows: Rows) -> dict[int, float]:
    """Returns the duration of each row, which covers two steps, by its own metrics."""
    return {step: 2 * ROWS_PER_BATCH / speed for step, speed in rows.of("train/samples_per_second").items()}


def waited(rows: Rows) -> float:
    return sum(seconds * rows.of("train/data_wait")[step] for step, seconds in seconds_of(rows).items())


def test_waiting_for_data_is_distinguished_from_computing() -> None:
    rows, start = Rows(), time.perf_counter()
    make_trainer(rows).fit(make_stage(), Slow(batches(24), 0.05))
    assert 6 * 0.05 <= waited(rows) < sum(seconds_of(rows).values()) <= time.perf_counter() - start
    rows = Rows()
    make_trainer(rows).fit(make_stage(), batches(24))
    assert 0 <= waited(rows) < 0.5 * sum(seconds_of(rows).values())


def test_the_time_of_a_validation_is_neither_training_nor_waiting() -> None:
    rows, start = Rows(), time.perf_counter()
    make_trainer(rows, val_check_interval=1).fit(make_stage(), batches(24), Slow(batches(4), 0.1))
    assert sum(seconds_of(rows).values()) <= time.perf_counter() - start - 6 * 0.1
    assert all(0 <= share < 1 for share in rows.of("train/data_wait").values())


def test_the_share_of_the_peak_is_logged_if_a_peak_was_measured() -> None:
    without, rows, stage = Rows(), Rows(), make_stage()
    make_trainer(without).fit(make_stage(), batches(24))
    stage.meter.peak = 1e9
    make_trainer(rows).fit(stage, batches(24))
    assert without.of("train/share_of_peak") == {}
    assert rows.of("train/share_of_peak") == {s: v / 1e9 for s, v in rows.of("train/flops_per_second").items()}


def test_between_two_rows_no_tensor_is_read_back() -> None:
    counts = []
    for steps in (5, 7):  # there is a row at 4, after which Lightning would read everything in its progress bar
        callbacks = [DeterministicSeeding(0), Progress(8), EMA(0.9, forgets=True)]
        trainer = make_trainer(Rows(), steps=steps, callbacks=callbacks, accumulate_grad_batches=2)
        with ReadBacks() as read_backs:
            trainer.fit(make_stage(steps=8, log_every=4, optimizer="muon"), batches(8 * steps))
        counts.append(read_backs.count)
    assert counts[0] == counts[1] > 0


def learnt(stage: StageModule, batch: Batch) -> tuple[Tensor, dict[str, Tensor], int]:
    """Returns loss, gradients, and the bytes that were stored for the backward pass."""
    stored = 0

    def store(tensor: Tensor) -> Tensor:
        nonlocal stored
        stored += tensor.nbytes
        return tensor

    torch.manual_seed(1)
    with torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor):
        loss = stage.objective.loss(stage.network(batch), batch)["loss"]
    loss.backward()
    return loss, {name: p.grad.clone() for name, p in stage.network.named_parameters() if p.grad is not None}, stored


def test_recomputing_gives_the_same_loss_and_gradients_and_stores_less() -> None:
    batch = batches(16, rows_per_batch=16).dataset[0]
    plain, recomputing = (make_stage("rank", model=replace(MODEL, layers=4, dropout=0.1)) for _ in range(2))
    recomputing.network.encoder.recomputes = True
    (loss, gradients, stored), (loss_again, gradients_again, stored_again) = (
        learnt(stage, batch) for stage in (plain, recomputing)
    )
    assert torch.equal(loss, loss_again) and gradients.keys() == gradients_again.keys()
    assert all(torch.equal(gradients[name], gradients_again[name]) for name in gradients)
    assert stored_again < 0.7 * stored
