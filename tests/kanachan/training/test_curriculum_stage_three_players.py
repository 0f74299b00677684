"""The later stages on decisions of three players, end to end on tiny models."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kanachan.cli import evaluate
from kanachan.config import StageName
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.weights import read_weights
from kanachan.objectives.prior import Prior
from kanachan.training.command_line import requested
from tests.support.round_folders import train_reward
from tests.support.rounds import V3
from tests.support.three_players import packed_three
from tests.support.tiny_runs import losses_of, run

STAGES: tuple[StageName, ...] = ("round_delta", "rank", "grading")
SHORT = ("--run.steps", "8", "--run.validation_interval", "128")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_three(tmp_path_factory.mktemp("three") / "shards", games=16, fractions="0.6,0.2,0.2")


@pytest.fixture(scope="module")
def reward(shards: Path) -> Path:
    out = shards.parent / "reward"
    assert train_reward(shards, out, "--run.steps", "60", "--optim.warmup", "0") == 0
    return out


@pytest.fixture(scope="module")
def curriculum(shards: Path, reward: Path) -> dict[StageName, Path]:
    """Runs of the stages, each from the encoder of the stage before; rank and grading have a prior."""
    runs: dict[StageName, Path] = {}
    for stage in STAGES:
        init = ("--init", str(list(runs.values())[-1])) if runs else ()
        prior = () if stage == "round_delta" else ("--objective.prior", str(reward), "--objective.target", "round")
        out = shards.parent / stage
        assert run(stage, shards, out, *init, *prior, *SHORT) == 0
        runs[stage] = out
    return runs


def test_the_reward_predictor_predicts_six_orders_for_each_of_three_seats(reward: Path, shards: Path) -> None:
    losses = losses_of(reward)
    assert sum(losses[-5:]) < 0.9 * sum(losses[:5])
    rounds = open_rounds(shards, "train")
    outcome = RewardPredictor.load(reward).of_rounds(rounds)
    assert outcome.order_log_probability.shape == (len(rounds), 3, 6)
    torch.testing.assert_close(outcome.order_log_probability.exp().sum(dim=2), torch.ones(len(rounds), 3))
    assert outcome.grading_points.shape == (len(rounds), 3)


def test_rank_predicts_three_ranks_for_each_action_and_six_orders(
    curriculum: dict[StageName, Path], shards: Path
) -> None:
    weights = read_weights(curriculum["rank"])
    assert weights.vocabulary is V3 and weights.objective.rank_points == (135, 0, -135)
    sizes = [len(weights.tensors[f"{head}.bias"]) - Prior.num_points for head in ("head", "summary_head")]
    assert sizes == [3, 6]
    policy = Policy.load(curriculum["rank"])
    columns = open_shards(shards, "validation").gather(np.arange(20))
    output = policy.output(policy.batch(columns))
    found = policy.objective.predictions(output)
    probability_BAR = found["rank_probabilities"]
    assert probability_BAR.shape[2] == 3
    points = (probability_BAR * torch.tensor([135.0, 0.0, -135.0])).sum(dim=2)
    is_action = torch.isfinite(found["scores"])
    torch.testing.assert_close(found["scores"][is_action], points[is_action])


def test_every_stage_learns_and_is_evaluated(curriculum: dict[StageName, Path], shards: Path, tmp_path: Path) -> None:
    out = tmp_path / "evaluation.json"
    options = ("--split", "validation", "--bootstrap", "20", "--json", str(out))
    assert evaluate.main([*map(str, curriculum.values()), str(shards), *options]) == 0
    for (stage, folder), found in zip(curriculum.items(), json.loads(out.read_text())["weights"], strict=True):
        losses = losses_of(folder)
        assert losses[-1] < losses[0]
        assert {"action", "situation", "scores"} <= found["values"].keys()
        assert "kita/accuracy" in found["agreement"]
        if stage == "rank":
            assert set(found["log_likelihood"]) == {"rank", "order", "order/start", "order/last"}


def test_the_defaults_of_three_players_need_no_setting(shards: Path, tmp_path: Path) -> None:
    def asked(stage: str, *more: str) -> tuple[Any, str]:
        request = requested(["--stage", stage, "--data.path", str(shards), "-o", str(tmp_path), *more])
        return request.config, " ".join(request.warnings)

    rank, warnings = asked("rank")
    assert (rank.objective.rank_points, rank.objective.prior) == ((135, 0, -135), "reference/3p/reward")
    assert "prior" not in warnings
    assert asked("rank", "--objective.rank_points", "[3,1,-4]")[0].objective.rank_points == (3, 1, -4)
    assert asked("rank", "--objective.rank_points", "[.3e1,010,-4]")[0].objective.rank_points == (3, 10, -4)
    assert asked("imitation")[0].objective.rank_points == (90, 45, 0, -135)  # without effect
