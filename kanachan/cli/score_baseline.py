"""The option --baseline: the predictor that sees only scores and round."""

from typing import TYPE_CHECKING

from kanachan.models.reference import shipped_name
from kanachan.objectives.stages import REWARD

if TYPE_CHECKING:
    from annotate.vocabulary import Vocabulary
    from kanachan.inference.reward_predictor import RewardPredictor

FITTED = "fitted"
SHIPPED_BASELINE = shipped_name(REWARD, 4)
"""of four players, for help texts; `shipped_name` knows that of others"""


def baseline_path(given: str | None, num_seats: int) -> str | None:
    """Returns the path or name of the predictor's weights; None if one is to be fitted."""
    if given is None:
        return shipped_name(REWARD, num_seats)
    return None if given == FITTED else given


def load_baseline(path: str | None, vocabulary: "Vocabulary") -> "RewardPredictor | None":
    """Loads the predictor; returns None if one is to be fitted. Raises ValueError: the weights are not a reward
    predictor, or are of another vocabulary."""
    from kanachan.inference.reward_predictor import RewardPredictor

    if path is None:
        return None
    predictor = RewardPredictor.load(path)
    if predictor.vocabulary is not vocabulary:
        raise ValueError(
            f"--baseline {path}: of the vocabulary {predictor.vocabulary.name}, the networks are of {vocabulary.name}"
        )
    return predictor
