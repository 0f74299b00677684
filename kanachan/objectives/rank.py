"""Rank: the actor's rank at the end of the game, and the order of all seats."""

import math
from itertools import permutations

import torch
import torch.nn.functional as F
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Output
from kanachan.objectives.objective import Objective, _expected, _of_chosen


class Rank(Objective):
    """The actor's rank at the end of the game on the action taken; the order of all seats from the summary token."""

    stage = "rank"
    uses = frozenset({"conservative", "baseline", "rank_points"})
    points_R: Tensor
    order_code_O: Tensor
    rank_OS: Tensor

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary = FOUR_PLAYERS) -> None:
        super().__init__(config, vocabulary)
        num_seats = vocabulary.num_seats
        if len(config.rank_points) != num_seats:
            raise ValueError(f"objective.rank_points needs {num_seats} numbers, one for each rank")
        points_R = torch.tensor(config.rank_points)
        if not points_R.std():
            raise ValueError("objective.rank_points are all equal: every action would have the same score")
        self.scale = float(points_R.std(correction=0))
        self.num_candidate_outputs = num_seats
        self.num_summary_outputs = math.factorial(num_seats) if config.baseline else 0
        self.register_buffer("points_R", points_R, persistent=False)
        # Order o gives seat s the rank rank_OS[o, s]; its digits in base num_seats are the key to find o by.
        rank_OS = torch.tensor(list(permutations(range(num_seats))))
        self.register_buffer("rank_OS", rank_OS, persistent=False)
        self.register_buffer("order_code_O", self._code(rank_OS), persistent=False)

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Parts: `cross_entropy` of the rank, `conservative`, `baseline` (the cross-entropy of the order)."""
        cross_entropy = F.cross_entropy(_of_chosen(output.candidate_BAK, batch.chosen_B).float(), self.rank(batch))
        parts = {"cross_entropy": cross_entropy.detach()}
        loss = cross_entropy
        if self.config.conservative:
            conservative = self.conservative(self.score(output), batch.chosen_B)
            loss = loss + self.config.conservative * conservative
            parts["conservative"] = conservative.detach()
        if self.config.baseline:
            baseline = F.cross_entropy(output.summary_BK.float(), self.order(batch))
            loss = loss + self.config.baseline * baseline
            parts["baseline"] = baseline.detach()
        return {"loss": loss, **parts}

    def score(self, output: Output) -> Tensor:
        """Expected points of the rank."""
        score_BA = _expected(output.candidate_BAK.float().softmax(dim=2), self.points_R)
        return score_BA.masked_fill(~output.mask_BA, -math.inf)

    def baseline_value(self, output: Output, batch: Batch) -> Tensor:
        return _expected(self.baseline_rank_probability(output, batch), self.points_R)

    def target(self, batch: Batch) -> Tensor:
        """Points of the rank that was reached."""
        return self.points_R[self.rank(batch)]

    def rank(self, batch: Batch) -> Tensor:
        """Returns rank_B, 0 = first: the actor's rank at the end of the game."""
        return self._result(batch, "rank").long()

    def order(self, batch: Batch) -> Tensor:
        """Returns order_B: which row of `rank_OS` the game ended with."""
        ranks = [self.vocabulary.results.index(f"rank_{seat}") for seat in range(self.vocabulary.num_seats)]
        return torch.searchsorted(self.order_code_O, self._code(batch.result_BR[:, ranks].long()))

    def rank_log_probability(self, output: Output, batch: Batch) -> Tensor:
        """Returns log_probability_BR of the actor's ranks, given the action taken."""
        return _of_chosen(output.candidate_BAK, batch.chosen_B).float().log_softmax(dim=1)

    def order_log_probability(self, output: Output) -> Tensor:
        """Returns log_probability_BO of the orders of the seats, before the action."""
        self._require_baseline()
        return output.summary_BK.float().log_softmax(dim=1)

    def baseline_rank_probability(self, output: Output, batch: Batch) -> Tensor:
        """Returns probability_BR of the actor's ranks before the action: orders in which the actor has that rank."""
        probability_BO = self.order_log_probability(output).exp()
        rank_BO = self.rank_OS.T[batch.seat_B]
        num_ranks = self.vocabulary.num_seats
        return probability_BO.new_zeros(len(batch), num_ranks).scatter_add(1, rank_BO, probability_BO)

    @staticmethod
    def _code(rank_BS: Tensor) -> Tensor:
        num_seats = rank_BS.shape[1]
        digit_S = num_seats ** torch.arange(num_seats - 1, -1, -1, device=rank_BS.device)
        return (rank_BS * digit_S).sum(dim=1)
