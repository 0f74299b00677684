"""The mean of a network's outputs under the suit permutations."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.evaluate import main as evaluate
from kanachan.config import StageName
from kanachan.data.columns import columns_of_annotations
from kanachan.data.symmetry import suit_permutations
from kanachan.inference.policy import Policy
from kanachan.inference.suit_averaging import SuitAverage
from kanachan.models.weights import read_weights, write_weights
from tests.support.packed import packed
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

TABLES = suit_permutations(FOUR_PLAYERS)


@pytest.mark.parametrize("stage", ["imitation", "rank"])
@torch.inference_mode()
def test_outputs_are_the_mean_over_the_permutations_of_the_annotations(stage: StageName, tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, stage))
    columns = columns_of_annotations(random_annotations(20, seed=1), FOUR_PLAYERS)
    outputs = [
        policy.network(policy.batch(TABLES.apply(columns, np.full(20, number))))
        for number in range(len(FOUR_PLAYERS.suit_orders))
    ]
    found = SuitAverage(policy.network, FOUR_PLAYERS)(policy.batch(columns))
    mask_BA = found.mask_BA
    assert mask_BA.equal(outputs[0].mask_BA)
    expected = torch.stack([output.candidate_BAK for output in outputs]).mean(dim=0)
    torch.testing.assert_close(found.candidate_BAK[mask_BA], expected[mask_BA], rtol=0, atol=1e-5)
    torch.testing.assert_close(
        found.summary_BK, torch.stack([output.summary_BK for output in outputs]).mean(dim=0), rtol=0, atol=1e-5
    )
    assert float((found.candidate_BAK - outputs[0].candidate_BAK)[mask_BA].abs().max()) > 1e-3


def test_a_network_that_was_trained_without_suit_permutations_is_refused(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = read_weights(written(tmp_path))
    config = {"data": {**weights.card["config"]["data"], "exchange_suits": False}}
    write_weights(weights.path, weights.tensors, {**weights.card, "config": config})
    assert evaluate([str(weights.path), str(shards), "--split", "validation", "--average-suits"]) == 1
    assert f"{weights.path}: trained with data.exchange_suits=false" in capsys.readouterr().err


def test_the_mean_is_measured_and_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shards, weights = packed(tmp_path / "shards", train=60, test=40), written(tmp_path / "network")
    likelihoods = []
    for more in ((), ("--average-suits",)):
        metrics_path = tmp_path / f"metrics{len(more)}.json"
        assert evaluate([str(weights), str(shards), "--json", str(metrics_path), "--bootstrap", "5", *more]) == 0
        content = json.loads(metrics_path.read_text())
        assert content["average_suits"] is bool(more)
        assert ("averaged over the suit permutations" in capsys.readouterr().out) is bool(more)
        likelihoods.append(content["weights"][0]["agreement"]["nll"]["value"])
    assert likelihoods[0] != pytest.approx(likelihoods[1], abs=1e-4)
