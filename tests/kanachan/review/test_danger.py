"""The estimated danger of discards at the decisions of a review."""

from pathlib import Path

import pytest

from annotate.vocabulary import NUM_TILES34, Vocabulary
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.danger import estimate_danger
from kanachan.inference.policy import Policy
from kanachan.review.danger import dangers
from tests.support.random_annotations import random_annotations
from tests.support.rounds import V3, V
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written


@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four", "three"])
def test_dangers_are_listed_by_tile_kind_and_chances_by_seat(vocabulary: Vocabulary, tmp_path: Path) -> None:
    plain = Policy.load(written(tmp_path / "plain", vocabulary=vocabulary))
    policy = Policy.load(written(tmp_path / "with", vocabulary=vocabulary, hidden_hands=0.1, round_winner=0.1))
    annotations = random_annotations(7, seed=3) if vocabulary is V else decisions_of_three(7)
    columns, num_seats = columns_of_annotations(annotations, vocabulary), vocabulary.num_seats
    estimate = estimate_danger(policy, columns)
    for i, found in enumerate(dangers([plain, policy], annotations)):
        assert found.deal_in == pytest.approx(estimate.deal_in_BK[i].tolist(), abs=1e-5)
        seat = int(columns.seat[i])
        wins, tenpai = (
            [of[(seat + step) % num_seats] for step in range(num_seats)] for of in (found.win, found.tenpai)
        )
        assert wins == pytest.approx(estimate.win_BO[i, :num_seats].tolist(), abs=1e-5)
        assert tenpai[0] is None and tenpai[1:] == pytest.approx(estimate.tenpai_BH[i].tolist(), abs=1e-5)


def test_a_network_without_the_heads_gives_no_estimates(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, "imitation"))
    annotations = random_annotations(3, seed=1)
    assert dangers([policy], annotations) == [([None] * NUM_TILES34, [None] * 4, [None] * 4)] * len(annotations)
