"""The baselines of held-out decisions."""

from pathlib import Path

import numpy as np

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ObjectiveConfig
from kanachan.evaluation.held_out import held_out_rows
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.objectives.value import RoundDelta
from tests.support.packed import packed


class WithPrior(RoundDelta):
    """A stage with a prior that does not predict grading points."""

    uses = RoundDelta.uses | {"prior"}


def test_the_baseline_of_a_stage_with_a_prior_predicts_the_target_of_the_stage(tmp_path: Path) -> None:
    shards = packed(tmp_path / "shards", 300, test=60)
    rows = held_out_rows(str(shards), "test", RewardPredictor.load("reference/reward"), None, 5, ())
    with_prior, without = (
        rows.mean_by_scores(kind(ObjectiveConfig(), FOUR_PLAYERS)) for kind in (WithPrior, RoundDelta)
    )
    assert with_prior is not None and without is not None
    np.testing.assert_array_equal(with_prior, without)
