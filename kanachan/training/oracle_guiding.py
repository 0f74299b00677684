"""Oracle guiding: a network that sees hidden tokens at first, and then fewer and fewer of them.

Suphx (Li et al. 2020, arXiv:2003.13590) trains a player with perfect information and takes it away by dropout whose
rate rises to 1, so that what was learned with it is kept. The network has an embedding with more rows than others have;
when the last hidden token is gone these are dropped, and the weights are like any others.
"""

from collections.abc import Mapping

from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import TokenLayout

_EMBEDDING = "encoder.token_embedding.weight"


class HiddenShare:
    """The probability with which a hidden token is in the batches of a step, linear from `objective.oracle` to 0.

    Args:
        total_steps: of the run.
    """

    def __init__(self, config: ObjectiveConfig, total_steps: int) -> None:
        self._start = config.oracle
        self._last = max(1, round(config.oracle_decay * total_steps))

    def __call__(self, step: int) -> float:
        return self._start * max(0.0, 1 - step / self._last)


def without_hidden_rows(tensors: Mapping[str, Tensor], vocabulary: Vocabulary) -> dict[str, Tensor]:
    """Returns the tensors of a network without the rows of hidden tokens in its embedding."""
    num_tokens = TokenLayout(vocabulary).num_tokens
    return {**tensors, _EMBEDDING: tensors[_EMBEDDING][:num_tokens]}
