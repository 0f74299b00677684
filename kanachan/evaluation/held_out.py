"""The decisions on which networks are evaluated, and the baselines of their predictions.

Shapes: B decisions, O orders of the seats, X games.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.config import StageName
from kanachan.data.columns import Columns, token_value
from kanachan.data.loader import open_held_out
from kanachan.data.sampler import by_round
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from kanachan.evaluation.baselines import predicted_from_scores
from kanachan.evaluation.bootstrap import Estimate, Floats
from kanachan.evaluation.calibration import Mask, is_last_round
from kanachan.evaluation.decision_metrics import chance_metrics
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.learned_games import LearnedGames, any_learned
from kanachan.objectives.objective import Objective
from kanachan.objectives.reward import Outcome
from kanachan.objectives.targets import Results
from kanachan.objectives.value import Grading

MOST_TRAIN_ROWS = 1_000_000  # for fitting the baseline; rows of shards are in random order


@dataclass(eq=False)
class HeldOut:
    """The decisions on which networks are evaluated, and the baselines, which see only scores and round."""

    columns: Columns
    """as annotated, sorted so that rows of similar length are together"""
    folder: str | None
    """folder of shards, to whose train split the baseline of points of the round is fitted when needed; None: there is
    no such baseline"""
    vocabulary: Vocabulary
    replicates: int
    baseline: RewardPredictor
    """the baseline of ranks and grading points"""
    game_X: NDArray[np.uint64]
    """keys of all available games, including games that are left out"""
    _means: dict[StageName, Floats] = field(default_factory=dict, init=False)

    @cached_property
    def num_games(self) -> int:
        return len(np.unique(self.columns.game))

    @cached_property
    def train(self) -> Columns | None:
        """The decisions to which the baseline is fitted; None without a train split of at least two games."""
        if self.folder is None or "train" not in splits_in(Path(self.folder)):
            return None
        shards = open_shards(self.folder, "train")
        shards.require(self.vocabulary, "the weights")
        train = shards.gather(np.arange(min(len(shards), MOST_TRAIN_ROWS)))
        return train if len(np.unique(train.game)) > 1 else None

    @property
    def game_B(self) -> NDArray[np.int64]:
        return self.columns.game.view(np.int64)

    def mean_by_scores(self, objective: Objective) -> Floats | None:
        """Returns the baseline's prediction [B] of the target of a stage with points; None without a baseline."""
        if isinstance(objective, Grading):
            return self._outcome.grading_points.double().numpy()
        if self.train is None:
            return None
        if objective.stage not in self._means:
            target_B = objective.target_of(Results.of_columns(self.train, self.vocabulary)).double().numpy()
            predicted_B = predicted_from_scores(self.train, target_B, self.columns, self.vocabulary)
            self._means[objective.stage] = predicted_B
        return self._means[objective.stage]

    @cached_property
    def chance(self) -> dict[str, Estimate]:
        """The metrics of a uniform choice among the possible actions."""
        return chance_metrics(self.columns, self.vocabulary, self.replicates)

    @cached_property
    def starts(self) -> dict[str, Mask]:
        """The decisions at which the predicted order of the seats is evaluated [B]: `order/start`, the first decision
        of each round, and `order/last`, the first decision of each last round."""
        start_B = self.columns.progression.lengths == 1  # nothing has happened yet: the dealer's first decision
        return {"order/start": start_B, "order/last": start_B & self.is_last_B}

    @cached_property
    def is_last_B(self) -> Mask:
        """The decisions in last rounds."""
        sparse, vocabulary = self.columns.sparse, self.vocabulary
        wind_B, dealer_B, style_B = (token_value(sparse, vocabulary, name) for name in ("wind", "round", "style"))
        return is_last_round(wind_B, dealer_B, style_B, vocabulary.num_seats)

    @cached_property
    def order_by_scores(self) -> Floats:
        """The baseline's probabilities of the orders of `actor_orders`, [B, O]."""
        return self._outcome.order_log_probability.double().exp().numpy()

    @cached_property
    def _outcome(self) -> Outcome:
        return self.baseline.of_observations(self.columns)


def held_out_rows(
    folder: str,
    split: str,
    baseline: RewardPredictor,
    limit: int | None,
    replicates: int,
    without: Sequence[LearnedGames],
) -> HeldOut:
    """Reads the first `limit` decisions of a split of a folder of shards, except for the games `without`. Raises
    ValueError if the split is missing or empty, a shard is damaged or of another vocabulary than the baseline, or all
    games are left out."""
    vocabulary = baseline.vocabulary
    shards = open_held_out(folder, split, vocabulary)
    game_B = shards.games(np.arange(len(shards)))
    rows = np.flatnonzero(~any_learned(without, game_B))
    if not len(rows):
        raise ValueError(f"{folder}: all games of the split {split!r} are left out")
    if limit is not None and limit < len(rows):
        rows, game_B = rows[:limit], game_B[: rows[limit]]
    columns = shards.gather(rows[by_round(shards, rows, len(rows))])
    return HeldOut(columns, folder, vocabulary, replicates, baseline, np.unique(game_B))
