"""The metrics of a validation in addition to the loss, against plain loops and the metrics of kanachan-evaluate."""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig, StageName
from kanachan.data.batch import Batch
from kanachan.evaluation.calibration import reliability
from kanachan.evaluation.decision_metrics import DecisionMeter, DecisionRows, decision_metrics
from kanachan.models.weights import make_card, write_weights
from kanachan.training.distributed_sums import DistributedSums
from kanachan.training.forgetting import INIT_NAME, PreviousStage, open_previous_stage
from kanachan.training.module import StageModule
from kanachan.training.validation_metrics import MAX_BATCHES_OF_PREVIOUS, Values, kind_metrics, kind_sums
from kanachan.training.wandb_run import ReliabilityPoint
from tests.support.tiny_stage import MODEL, Rows, batches, make_stage, make_trainer
from tests.support.two_ranks import ALONE, Ranks

NUM_ROWS = 211


def validated(stage: StageModule, previous: PreviousStage | None = None) -> Rows:
    """The rows of a validation in unequal batches."""
    rows = Rows()
    stage.metrics.previous = previous
    make_trainer(rows).validate(stage, batches(NUM_ROWS, rows_per_batch=25), verbose=False)
    return rows


@torch.no_grad()
def predictions(stage: StageModule) -> tuple[DecisionRows, Batch, Tensor]:
    """Rows of decisions, all of them as one batch, and their predicted values if there are any."""
    whole = batches(NUM_ROWS, rows_per_batch=NUM_ROWS).dataset[0]
    output = stage.network.eval()(whole)
    value_B = stage.objective.value(output, whole) if stage.objective.has_value else torch.zeros(0)
    return DecisionMeter(FOUR_PLAYERS).rows(stage.objective.score(output), whole), whole, value_B


def weights_of(stage: StageModule, name: StageName, path: Path) -> Path:
    card = make_card(name, MODEL, ObjectiveConfig(), FOUR_PLAYERS, lineage=[], steps=1, samples=1, metrics={})
    write_weights(path, stage.network.state_dict(), card)
    return path


@pytest.fixture
def imitated(tmp_path: Path) -> Path:
    """The weights file of an imitation stage."""
    torch.manual_seed(3)
    return weights_of(make_stage(), "imitation", tmp_path / "imitation.safetensors")


@pytest.mark.parametrize("name", ["imitation", "rank"])
def test_metrics_by_kind_are_those_of_an_evaluation(name: StageName) -> None:
    stage = make_stage(name)
    rows, _, _ = predictions(stage)
    is_imitation = name == "imitation"
    metrics = decision_metrics(rows, has_probability=is_imitation, replicates=1)
    expected = {
        f"kind/{key.replace('nll', 'loss')}": metric.value
        for key, metric in metrics.items()
        if "/" in key and key.rpartition("/")[2] in ("accuracy", "nll", "recall")
    }
    ((_, logged),) = validated(stage).rows
    found = {key: value for key, value in logged.items() if key.startswith("kind/")}
    assert found == pytest.approx(expected, rel=1e-5)
    assert ("kind/chi/loss" in found) == is_imitation and len(found) >= 12


def test_the_calibration_error_of_imitation_is_that_of_an_evaluation() -> None:
    stage = make_stage()
    expected = decision_metrics(predictions(stage)[0], replicates=1)["ece"].value
    assert validated(stage).of("calibration/error")[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["round_delta", "rank", "grading"])
def test_the_calibration_error_of_a_value_is_the_mean_distance_over_its_tenths(name: StageName) -> None:
    stage = make_stage(name)
    rows, whole, value_B = predictions(stage)
    bins = reliability(rows.game_B, value_B.double().numpy(), stage.objective.target(whole).double().numpy())
    expected = sum(abs(b.predicted - b.actual.value) * b.actual.decisions for b in bins) / NUM_ROWS
    assert validated(stage).of("calibration/error")[0] == pytest.approx(expected, rel=1e-5)


def test_tenths_are_taken_over_the_decisions_of_all_ranks() -> None:
    value_N, target_N = torch.randn(2, 73, generator=torch.Generator().manual_seed(0))

    def work(rank: int, trainer: L.Trainer) -> list[ReliabilityPoint]:
        values = Values()
        mine = slice(0, 20) if rank == 0 else slice(20, None)
        values.add(value_N[mine], target_N[mine])
        return values.tenths(trainer)

    whole = Values()
    whole.add(value_N, target_N)
    expected = whole.tenths(ALONE)
    for points in Ranks().run(work):
        assert np.allclose(points, expected)
        assert [point.decisions for point in points] == [8, 8, 8, 7, 7, 7, 7, 7, 7, 7]


def test_kinds_are_taken_over_the_decisions_of_all_ranks() -> None:
    stage, meter = make_stage(), DecisionMeter(FOUR_PLAYERS)
    parts = batches(50, rows_per_batch=30).dataset
    with torch.no_grad():
        scores = [stage.objective.score(stage.network(part)) for part in parts]

    def of(numbers: list[int], trainer: Any) -> dict[str, float]:
        sums = DistributedSums()
        for number in numbers:
            sums.add({"kinds": kind_sums(meter.measure(scores[number], parts[number]))})
        return kind_metrics(sums.totals(trainer)["kinds"], has_probability=True)

    expected = of([0, 1], ALONE)
    for metrics in Ranks().run(lambda rank, trainer: of([rank], trainer)):
        assert metrics == pytest.approx(expected)


@torch.no_grad()
def test_the_old_loss_is_that_of_the_previous_decoder_over_the_current_encoder(imitated: Path, tmp_path: Path) -> None:
    stage = make_stage("rank")
    logged = validated(stage, PreviousStage(imitated, tmp_path / "copy")).of("old/imitation_loss")
    together = make_stage()
    own = {name: tensor for name, tensor in stage.network.state_dict().items() if name.startswith("encoder.")}
    together.network.load_state_dict({**load_file(imitated), **own})
    parts = batches(NUM_ROWS, rows_per_batch=25).dataset[::3]
    assert len(parts) == 3 <= MAX_BATCHES_OF_PREVIOUS
    losses = [float(together.objective.loss(together.network.eval()(part), part)["loss"]) for part in parts]
    expected = sum(loss * len(part) for loss, part in zip(losses, parts, strict=True)) / sum(map(len, parts))
    assert logged == {0: pytest.approx(expected, rel=1e-5)}


def test_drift_is_one_less_the_cosine_of_each_part(imitated: Path, tmp_path: Path) -> None:
    stage = make_stage("rank")
    row = validated(stage, PreviousStage(imitated, tmp_path / "copy")).rows[-1][1]
    then, now = load_file(imitated), stage.network.state_dict()
    of_part = {
        "block_01": [name for name in then if name.startswith("encoder.blocks.0.")],
        "embeddings": [name for name in then if name.startswith("encoder.") and "embedding" in name]
        + ["encoder.number_weight"],
    }
    for part, names in of_part.items():
        a, b = (torch.cat([tensors[name].flatten().double() for name in names]) for tensors in (then, now))
        assert row[f"drift/{part}"] == pytest.approx(float(1 - a @ b / (a.norm() * b.norm())), abs=1e-7), part
    assert {name for name in row if name.startswith("drift/")} == {f"drift/{part}" for part in of_part}


def test_a_run_starts_with_the_curves_of_its_previous_stage(imitated: Path, tmp_path: Path) -> None:
    rows, stage = Rows(), make_stage("rank", previous=PreviousStage(imitated, tmp_path / INIT_NAME))
    stage.network.encoder.load_state_dict(
        {n.removeprefix("encoder."): t for n, t in load_file(imitated).items() if n.startswith("encoder.")}
    )
    trainer = make_trainer(rows, steps=4, val_check_interval=2)
    trainer.fit(stage, batches(24), batches(40))
    assert list(rows.of("old/imitation_loss")) == list(rows.of("drift/block_01")) == [0, 2, 4]
    drift = rows.of("drift/block_01")
    assert drift[0] == pytest.approx(0, abs=1e-12) and 0 < drift[2] < drift[4]
    assert stage.network.training and (tmp_path / INIT_NAME).read_bytes() == imitated.read_bytes()


def test_a_previous_stage_draws_no_random_numbers_and_uses_the_encoder_without_moving_it(
    imitated: Path, tmp_path: Path
) -> None:
    network, before = make_stage("rank").network, torch.get_rng_state()
    previous = PreviousStage(imitated, tmp_path / "copy")
    assert torch.equal(torch.get_rng_state(), before)
    weight = network.encoder.token_embedding.weight
    previous.join(network, torch.device("cpu"))
    previous.join(network.double(), torch.device("cpu"))
    assert network.encoder.token_embedding.weight is weight and weight.dtype == torch.float64


def test_a_resumed_run_uses_its_own_copy_and_reports_if_it_is_gone(
    imitated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = open_previous_stage(str(imitated), tmp_path, is_resumed=False)
    assert fresh is not None and fresh.stage == "imitation" and fresh.lineage[-1]["stage"] == "imitation"
    assert open_previous_stage(str(imitated), tmp_path, is_resumed=True) is None
    assert f"{tmp_path / INIT_NAME} is gone" in capsys.readouterr().err
    fresh.save_copy()
    imitated.unlink()
    resumed = open_previous_stage(str(imitated), tmp_path, is_resumed=True)
    assert resumed is not None and resumed.lineage == fresh.lineage
    assert open_previous_stage(None, tmp_path, is_resumed=False) is None
