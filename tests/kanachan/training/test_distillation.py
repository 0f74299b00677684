"""A network that learns from a teacher, and starts with some of the teacher's blocks."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.cli.evaluate import main as evaluate
from kanachan.config import DataConfig, ObjectiveConfig, StageName, TrainConfig
from kanachan.data.batch import Batch
from kanachan.models.weights import read_weights, write_weights
from kanachan.objectives.imitation import Imitation
from kanachan.objectives.networks import load_network
from kanachan.training.tempered_network import TemperedNetwork, open_teacher
from tests.support.tiny_runs import assert_resumable, rows_of, run
from tests.support.tiny_stage import Rows, batches, make_stage, make_trainer
from tests.support.tiny_weights import written


def teacher_at(path: Path, stage: StageName = "imitation") -> TemperedNetwork:
    config = TrainConfig(stage=stage, data=DataConfig(path="."), objective=ObjectiveConfig(teacher=str(path)))
    teacher = open_teacher(config, FOUR_PLAYERS)
    assert teacher is not None
    return teacher


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return written(tmp_path / "teacher")


def with_another_action(batch: Batch) -> Batch:
    assert batch.labels is not None
    chosen_B = (batch.chosen_B + 1) % (batch.candidate_BA != 0).sum(dim=1)
    return replace(batch, labels=replace(batch.labels, chosen_B=chosen_B))


def probabilities(path: Path, batch: Batch) -> Tensor:
    network, objective, _ = load_network(path)
    with torch.no_grad():
        return objective.predictions(network(batch))["probabilities"]


def test_a_network_learns_the_probabilities_of_its_teacher_and_not_the_actions_taken(weights: Path) -> None:
    learnt = []
    for change in (lambda batch: batch, with_another_action):
        data, rows = [change(batch) for batch in batches(16)], Rows()
        loader = DataLoader(data, batch_size=None)
        stage = make_stage(steps=80, log_every=1, teacher=teacher_at(weights), learning_rate=0.02)
        make_trainer(rows, steps=80, max_epochs=-1).fit(stage, loader)
        divergence = rows.of("train/teacher_divergence")
        assert divergence[80] < 0.1 * divergence[1]
        with torch.no_grad():
            learnt.append(stage.objective.predictions(stage.network.eval()(data[0]))["probabilities"])
    assert torch.equal(*learnt)
    torch.testing.assert_close(learnt[0], probabilities(weights, data[0]), atol=0.15, rtol=0)


def test_the_loss_mixes_teacher_and_actions_taken_by_the_teachers_share(weights: Path) -> None:
    (batch,) = batches(1)
    stage = make_stage()
    labelled = teacher_at(weights).labelled(batch)

    def loss(batch: Batch, share: float) -> Tensor:
        objective = Imitation(ObjectiveConfig(teacher=str(weights), teacher_share=share), FOUR_PLAYERS)
        return objective.loss(stage.network(batch), batch)["loss"]

    mixed = 0.2 * loss(labelled, 1.0) + 0.8 * loss(batch, 1.0)
    torch.testing.assert_close(loss(labelled, 0.2), mixed)
    assert loss(labelled, 1.0) != loss(batch, 1.0)


def test_the_soft_labels_are_the_teachers_calibrated_probabilities(weights: Path) -> None:
    (batch,) = batches(4)
    given = read_weights(weights)
    write_weights(weights, given.tensors, {**given.card, "temperature": 2.0})
    labelled = teacher_at(weights).labelled(batch)
    network, objective, _ = load_network(weights)
    with torch.no_grad():
        expected_BA = (objective.score(network(batch)) / 2.0).softmax(dim=1)
    assert labelled.label_BL is not None
    torch.testing.assert_close(labelled.label_BL, expected_BA)
    assert not labelled.label_BL[batch.candidate_BA == 0].any() and batch.label_BL is None


def test_the_teacher_does_not_change_and_is_in_no_checkpoint(weights: Path) -> None:
    teacher = teacher_at(weights)
    before = {name: tensor.clone() for name, tensor in teacher.network.state_dict().items()}
    stage = make_stage(teacher=teacher)
    make_trainer().fit(stage, batches(24))
    assert all(torch.equal(tensor, before[name]) for name, tensor in teacher.network.state_dict().items())
    assert not any("teacher" in name for name in stage.state_dict())


def test_the_teacher_is_not_disturbed_by_dropout(tmp_path: Path) -> None:
    weights = written(tmp_path / "teacher", dropout=0.5)
    stage, (batch,) = make_stage(teacher=(teacher := teacher_at(weights))), batches(4)
    make_trainer().fit(stage, batches(24))
    one, other = teacher.labelled(batch).label_BL, teacher.labelled(batch).label_BL
    assert one is not None and other is not None and torch.equal(one, other)


def test_a_shallower_network_is_trained_evaluated_and_names_its_teacher(shards: Path, tmp_path: Path) -> None:
    teacher = written(tmp_path / "teacher", layers=3)
    out = tmp_path / "run"
    given = ("--init", str(teacher), "--model.layers", "2", "--objective.teacher", str(teacher))
    run("imitation", shards, out, *given, "--run.steps", "6", "--run.checkpoint_minutes", "0")
    card = read_weights(out).card
    assert (card["model"]["layers"], card["lineage"][-1]["encoder_blocks"]) == (2, [1, 3])
    assert card["teacher"]["sha256"] == card["lineage"][-1]["sha256"] and card["objective"]["teacher"] == str(teacher)
    rows = rows_of(out)
    assert all(row["train/teacher_divergence"] for row in rows if row["train/loss"])
    assert evaluate([str(out), str(shards), "--split", "validation", "--bootstrap", "10"]) == 0
    assert_resumable(out, tmp_path / "half")


def test_a_resumed_run_needs_the_same_teacher_but_it_may_have_moved(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teacher, out = written(tmp_path / "teacher"), tmp_path / "run"
    run("imitation", shards, out, "--objective.teacher", str(teacher), "--run.steps", "2")
    before = read_weights(out).card["teacher"]["sha256"]
    teacher.rename(moved := tmp_path / "moved.safetensors")
    written(tmp_path / "teacher", seed=1)
    assert train.main(["--resume", str(out), "--run.steps", "3"]) == 1
    assert f"objective.teacher: the run was started with the weights {before}, now" in capsys.readouterr().err
    assert train.main(["--resume", str(out), "--run.steps", "3", "--objective.teacher", str(moved)]) == 0
    assert read_weights(out).card["objective"]["teacher"] == str(moved)
