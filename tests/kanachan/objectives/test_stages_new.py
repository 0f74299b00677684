"""A new stage is a class, an entry in the registry and a YAML file; every command handles it like the others."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from torch import Tensor

from annotate.annotation import format_line, parse_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import calibrate, evaluate, export, predict, train
from kanachan.data.batch import Batch
from kanachan.inference.policy import Policy
from kanachan.models.transformer import Output
from kanachan.models.weights import read_weights
from kanachan.objectives.objective import PER_CANDIDATE, Classes, Objective, PredictionField, of_chosen
from kanachan.objectives.stages import STAGES
from kanachan.objectives.targets import Results
from tests.support.graph_outputs import graph_outputs
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations
from tests.support.tiny_runs import arguments, rows_of
from tests.support.tiny_weights import written

STAGE = "deal_in"
DEALT_IN = (7, 8, 9)  # results of a round, by the seat that won
NUM_LINES = 30


class DealIn(Objective):
    """Whether the actor deals in this round, predicted given the action taken and from the summary token before it."""

    stage = STAGE
    title = "Deal-in: whether the actor deals in this round"
    meaning = "probability of dealing in, negative"
    prediction_fields = {
        "scores": PredictionField(PER_CANDIDATE, meaning),
        "deal_in_probabilities": PredictionField(PER_CANDIDATE, "that the actor deals in"),
    }
    value_unit = "probability of no deal-in"
    uses = frozenset({"baseline"})
    temperatures = ("temperature",)
    num_candidate_outputs = num_summary_outputs = 2  # logits of no and yes

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        class_B = -self.target(batch).long()
        return self._value_loss(output, batch, class_B, class_B)

    def score(self, output: Output) -> Tensor:
        return (-probability(output.candidate_BAK)).masked_fill(~output.mask_BA, -math.inf)

    def predictions(self, output: Output) -> dict[str, Tensor]:
        score_BA = self.score(output)
        return {"scores": score_BA, "deal_in_probabilities": (-score_BA).masked_fill(~output.mask_BA, 0.0)}

    def calibratable(self, output: Output, batch: Batch) -> dict[str, Classes]:
        logit_BK = of_chosen(output.candidate_BAK, batch.chosen_B).float()
        return {"temperature": Classes(logit_BK, -self.target(batch).long())}

    def situation_value(self, output: Output) -> Tensor:
        return -probability(output.summary_BK)

    def target_of(self, results: Results) -> Tensor:
        result_B = results.named("round_result")
        return -torch.isin(result_B, torch.tensor(DEALT_IN, device=result_B.device)).float()


def probability(logit_K: Tensor) -> Tensor:
    """Returns the probability of the second class, [..., K] to [...]."""
    return logit_K.float().softmax(dim=-1)[..., 1]


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STAGES, STAGE, f"{__name__}:{DealIn.__name__}")
        yield


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", 600, validation=120, test=120)


@pytest.fixture(scope="module")
def trained(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the stage, from another stage's encoder, as small as possible: the ONNX export takes seconds a block."""
    folder = tmp_path_factory.mktemp("runs")
    settings = {"stage": STAGE, "objective": {"baseline": 0.3}, "optim": {"learning_rate": 0.003}}
    (folder / f"{STAGE}.yaml").write_text(yaml.safe_dump(settings))
    given = arguments(STAGE, shards, folder / STAGE, "--config", str(folder / f"{STAGE}.yaml"))
    init = written(folder / "imitation", "imitation", layers=1)
    assert train.main([*given, "--init", str(init), "--model.dropout", "0", "--model.layers", "1"]) == 0
    return folder / STAGE


def test_a_new_stage_is_trained_with_the_settings_of_its_file(trained: Path) -> None:
    card = read_weights(trained).card
    assert card["stage"] == STAGE
    assert (card["objective"]["baseline"], card["config"]["optim"]["learning_rate"]) == (0.3, 0.003)
    assert [entry["stage"] for entry in card["lineage"]] == ["imitation"]
    assert float(rows_of(trained)[-1]["validation/cross_entropy"]) < 1


def test_a_new_stage_is_evaluated_as_a_value(
    trained: Path, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evaluation.json"
    assert evaluate.main([str(trained), str(shards), "--json", str(path), "--bootstrap", "20"]) == 0
    printed = capsys.readouterr().out
    assert DealIn.title in printed and f"{DealIn.value_unit} predicted from" in printed and "points" not in printed
    entry = json.loads(path.read_text())["weights"][0]
    assert entry["stage"] == STAGE
    assert entry["values"].keys() == {"action", "situation", "scores"}
    assert all(0 < metrics["mean_absolute_error"]["value"] < 1 for metrics in entry["values"].values())
    assert all(-1 <= tenth["predicted"] <= 0 for tenth in entry["reliability"]["points"])
    assert entry["agreement"]["top1"]["decisions"] == 120


def test_the_probabilities_of_a_new_stage_can_be_calibrated(trained: Path, shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "calibrated.safetensors"
    assert calibrate.main([str(trained), str(shards), "-o", str(out), "--bootstrap", "20"]) == 0
    card = read_weights(out).card
    assert card["calibration"]["after"]["nll"]["value"] <= card["calibration"]["before"]["nll"]["value"]


def test_a_new_stage_predicts_a_number_for_each_candidate(trained: Path, tmp_path: Path) -> None:
    annotations = random_annotations(NUM_LINES, seed=7)
    lines, out = write_lines(tmp_path / "lines.txt", annotations), tmp_path / "predicted.txt"
    assert predict.main([str(trained), lines, "-o", str(out)]) == 0
    rows = [line.rpartition("\t") for line in out.read_text().splitlines()]
    assert [parse_line(line, FOUR_PLAYERS) for line, _, _ in rows] == annotations
    scores = [[float(number) for number in numbers.split(",")] for _, _, numbers in rows]
    assert [len(row) for row in scores] == [len(annotation.actions) for annotation in annotations]
    assert all(-1 < score < 0 for row in scores for score in row)
    assert predict.main([str(trained), lines, "--explain", "-o", str(out), "--force"]) == 0
    assert out.read_text().count(DealIn.meaning) == NUM_LINES


def test_the_encoder_of_a_new_stage_is_exported_for_transformers(trained: Path, tmp_path: Path) -> None:
    assert export.main([str(trained), "-o", str(tmp_path / "hf")]) == 0
    assert json.loads((tmp_path / "hf" / "card.json").read_text())["stage"] == STAGE


def test_the_predictions_of_a_new_stage_are_outputs_of_the_exported_graph(trained: Path) -> None:
    policy, annotations = Policy.load(trained), random_annotations(NUM_LINES, seed=7)
    outputs = graph_outputs(policy, [format_line(annotation) for annotation in annotations])
    assert list(outputs) == list(DealIn.prediction_fields)
    for score_A, expected in zip(outputs["scores"], [p.score for p in policy.predictions(annotations)], strict=True):
        np.testing.assert_allclose(score_A[: len(expected)], expected, rtol=1e-4, atol=1e-4)
