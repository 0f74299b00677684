"""The estimated danger of discards at the decisions of a review."""

from pathlib import Path

import pytest

from annotate.vocabulary import tile34_of
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import danger_inputs, estimate_danger
from kanachan.inference.policy import Policy
from kanachan.review.danger import dangers
from kanachan.review.rounds import value_of
from tests.support.random_annotations import random_annotations
from tests.support.rounds import V3, V
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written


def test_discards_have_the_danger_of_their_kind_and_seats_their_chance_to_win(tmp_path: Path) -> None:
    plain = Policy.load(written(tmp_path / "plain", "imitation"))
    policy = Policy.load(written(tmp_path / "with", "imitation", hidden_hands=0.1, round_winner=0.1))
    annotations = random_annotations(7, seed=3)
    columns = columns_of_annotations(annotations, V)
    estimate = estimate_danger(policy, columns)
    for i, found in enumerate(dangers([plain, policy], annotations, chunk=3)):
        for token, deal_in in zip(annotations[i].actions, found.deal_in, strict=True):
            name, values = V.action.describe(token)
            if name != "discard":
                assert deal_in is None
            else:
                assert deal_in == pytest.approx(float(estimate.deal_in_BK[i, tile34_of(values["tile"])]), abs=1e-5)
        seat = int(columns.seat[i])
        wins = [found.win[(seat + step) % 4] for step in range(4)]
        assert wins == pytest.approx(estimate.win_BO[i, :4].tolist(), abs=1e-5)


def test_of_three_players_only_the_chances_to_win_are_known(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, "imitation", vocabulary=V3, hidden_hands=0.1, round_winner=0.1))
    annotations = decisions_of_three(9)
    inputs = danger_inputs(policy, columns_of_annotations(annotations, V3))
    for annotation, found, win_O in zip(annotations, dangers([policy], annotations, 4), inputs.win_BO, strict=True):
        assert found.deal_in == [None] * len(annotation.actions)
        seat = value_of(annotation, V3, "seat")
        assert [found.win[(seat + step) % 3] for step in range(3)] == pytest.approx(win_O[:3].tolist(), abs=1e-5)


def test_without_the_heads_nothing_is_known(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, "imitation"))
    annotations = random_annotations(3, seed=1)
    for found, annotation in zip(dangers([policy], annotations, 2), annotations, strict=True):
        assert found.deal_in == [None] * len(annotation.actions)
        assert found.win == [None] * 4
