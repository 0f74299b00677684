"""The option --baseline: the predictor that sees only scores and round."""

from typing import TYPE_CHECKING

from kanachan.models.reference import NAME, shipped_weights
from kanachan.objectives.stages import REWARD

if TYPE_CHECKING:
    from annotate.vocabulary import Vocabulary
    from kanachan.inference.reward_predictor import RewardPredictor

FITTED = "fitted"
SHIPPED_BASELINE = f"{NAME}/{REWARD}"


def baseline_path(given: str | None) -> str | None:
    """Returns the path or name of the predictor's weights; None if one is to be fitted."""
    if given is None and SHIPPED_BASELINE in shipped_weights():
        return SHIPPED_BASELINE
    return None if given == FITTED else given


def load_baseline(path: str | None, vocabulary: "Vocabulary") -> "RewardPredictor | None":
    """Loads the predictor; returns None if one is to be fitted, or the package's is of another vocabulary.

    Raises:
        ValueError: the weights are not a reward predictor, are of another vocabulary, or need the rounds before.
    """
    from kanachan.inference.reward_predictor import RewardPredictor

    if path is None:
        return None
    predictor = RewardPredictor.load(path)
    if predictor.vocabulary is not vocabulary:
        if path == SHIPPED_BASELINE:
            return None
        raise ValueError(
            f"--baseline {path}: of the vocabulary {predictor.vocabulary.name}, the networks are of {vocabulary.name}"
        )
    if predictor.sees_history:
        raise ValueError(
            f"--baseline {path}: predicts from all rounds of a game, not at a decision; name one trained with "
            "reward.network=round"
        )
    return predictor
