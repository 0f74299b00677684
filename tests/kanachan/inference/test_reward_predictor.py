"""Predictions of a trained reward predictor at rounds and at decisions."""

import numpy as np
import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import RewardConfig
from kanachan.data.columns import columns_of_annotations
from kanachan.data.round_state import RoundState
from kanachan.inference import reward_predictor
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.objectives.reward import build_reward_predictor
from tests.support.random_annotations import random_annotations
from tests.support.random_rounds import random_rounds

ROUNDS = random_rounds(games=20, seed=0)
COLUMNS = columns_of_annotations(random_annotations(50, seed=1), FOUR_PLAYERS)


def predictor() -> RewardPredictor:
    torch.manual_seed(0)
    built, objective = build_reward_predictor(RewardConfig(width=8), FOUR_PLAYERS)
    torch.nn.init.normal_(built.head.weight, std=0.3)  # zero before training
    return RewardPredictor(built, objective, FOUR_PLAYERS, {})


def test_every_seat_has_a_prediction_whatever_the_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = predictor().of_rounds(ROUNDS)
    monkeypatch.setattr(reward_predictor, "_ROWS_AT_ONCE", 7)
    assert all(map(torch.allclose, outcome, predictor().of_rounds(ROUNDS)))
    assert outcome.order_log_probability.shape == (len(ROUNDS), 4, 24)
    assert torch.allclose(outcome.order_log_probability.exp().sum(dim=-1), torch.ones(len(ROUNDS), 4))
    assert outcome.grading_logit.shape == (len(ROUNDS), 4, 101)
    assert outcome.grading_points.shape == (len(ROUNDS), 4) and outcome.grading_points.abs().max() < 1000


def test_a_decision_is_predicted_like_a_round_that_starts_with_its_state() -> None:
    made = predictor()
    state = RoundState.of_observations(COLUMNS, FOUR_PLAYERS)
    kinds = {"score": np.int32, "grade": np.uint8, "honba": np.int32, "deposits": np.int32}
    row = {f: np.repeat(getattr(ROUNDS, f)[:1], 50, axis=0) for f in type(ROUNDS).__slots__}
    for name in ("score", "grade"):
        row[name] = getattr(state, f"{name}_XS").numpy().astype(kinds[name])
    for name in ("wind", "dealer", "honba", "deposits", "room", "style"):
        row[name] = getattr(state, f"{name}_X").numpy().astype(kinds.get(name, np.uint8))
    of_rounds = made.of_rounds(type(ROUNDS)(**row))
    of_decisions = made.of_observations(COLUMNS)
    seat_B = torch.from_numpy(COLUMNS.seat)
    expected = of_rounds.order_log_probability[torch.arange(50), seat_B]
    assert torch.allclose(of_decisions.order_log_probability, expected, atol=1e-5)
