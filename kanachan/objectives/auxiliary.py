"""Auxiliary targets, which the network learns to predict in addition to the target of its stage.

They come from the record and are never inputs. To predict them, the encoder must represent them; their head is separate
from the other heads and nothing else uses it. A target is a module without parameters that has the number of outputs
which predict it (`num_outputs`) and returns their loss, a mean over the decisions.

Shapes: B decisions, H other seats (next, opposite, previous), K kinds of tiles, L counts (at least 1, 2, …), O outputs.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotate.game.results import relative_winner
from annotate.vocabulary import NUM_TILES34, Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch


class HiddenHands(nn.Module):
    """Whether each other seat holds at least one, two or three tiles of each kind, counting red fives as fives.

    The loss is the mean binary cross-entropy over seats, kinds and counts. All four tiles are seldom in one hand.
    """

    NUM_COUNTS = 3
    count_L: Tensor

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.num_outputs = (vocabulary.num_seats - 1) * NUM_TILES34 * self.NUM_COUNTS
        self.register_buffer("count_L", torch.arange(1, 1 + self.NUM_COUNTS), persistent=False)

    def forward(self, output_BO: Tensor, batch: Batch) -> Tensor:
        assert batch.hand_count_BHK is not None, "a batch without hidden hands"
        is_held_BHKL = batch.hand_count_BHK[..., None] >= self.count_L
        return F.binary_cross_entropy_with_logits(output_BO.float(), is_held_BHKL.flatten(1).float())

    def probability(self, output_BO: Tensor) -> Tensor:
        """Returns probability_BHKL that a seat holds at least L tiles of a kind."""
        return output_BO.float().sigmoid().view(len(output_BO), -1, NUM_TILES34, self.NUM_COUNTS)


class RoundWinner(nn.Module):
    """The winner of the round: the actor, the next, the opposite or the previous seat, or nobody.

    With several winners, it is the actor if among them, else the winner in the results. The loss is the cross-entropy.
    """

    winner_of_result: Tensor
    """class of each round result"""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        nobody = vocabulary.num_seats
        self.num_outputs = nobody + 1
        self._place = vocabulary.results.index("round_result")
        winners = [relative_winner(result, vocabulary.num_seats) for result in range(vocabulary.num_round_results)]
        table = torch.tensor([nobody if winner is None else winner for winner in winners])
        self.register_buffer("winner_of_result", table, persistent=False)

    def forward(self, output_BO: Tensor, batch: Batch) -> Tensor:
        return F.cross_entropy(output_BO.float(), self.winner(batch))

    def probability(self, output_BO: Tensor) -> Tensor:
        """Returns probability_BO of each winner, in the order of `winner`."""
        return output_BO.float().softmax(dim=1)

    def winner(self, batch: Batch) -> Tensor:
        """Returns winner_B: 0 is the actor, then the others in turn order, and last, nobody."""
        return self.winner_of_result[batch.result_BR[:, self._place].long()]


AUXILIARY_TARGETS: Mapping[str, type[HiddenHands] | type[RoundWinner]] = {
    "hidden_hands": HiddenHands,
    "round_winner": RoundWinner,
}
"""auxiliary targets by the name of the ObjectiveConfig setting with their weight"""


class AuxiliaryTargets(nn.Module):
    """All targets that have a weight in the settings; one head has the concatenated outputs."""

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        weights = {name: getattr(config, name) for name in AUXILIARY_TARGETS}
        self.weights: dict[str, float] = {name: weight for name, weight in weights.items() if weight}
        targets = {name: AUXILIARY_TARGETS[name](vocabulary) for name in self.weights}
        self.targets = nn.ModuleDict(targets)
        self._sizes = [target.num_outputs for target in targets.values()]
        self.num_outputs = sum(self._sizes)
        self.num_outputs_of_kind = HiddenHands.NUM_COUNTS if "hidden_hands" in self.weights else 0
        """outputs for each other seat and kind of tile; these come first"""

    def losses(self, output_BO: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Returns the unweighted loss of each target by its name."""
        return {name: self.targets[name](part_BO, batch) for name, part_BO in self.outputs(output_BO).items()}

    def outputs(self, output_BO: Tensor) -> dict[str, Tensor]:
        return dict(zip(self.targets, torch.split(output_BO, self._sizes, dim=1), strict=True))
