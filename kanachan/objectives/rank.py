"""Rank: predicts the actor's rank at the end of the game, and the order of all seats."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.models.seat_orders import SeatOrders
from kanachan.models.transformer import Output
from kanachan.objectives.objective import PER_CANDIDATE, Classes, Objective, PredictionField, expected, of_chosen
from kanachan.objectives.targets import Results, final_rank, final_ranks_from_actor


class Rank(Objective):
    """The actor's rank at the end of the game given the action taken; the order of all seats from the summary token."""

    stage = "rank"
    title = "Rank: points of the actor's rank at the end of the game"
    meaning = "expected points of the rank; probability of each rank"
    prediction_fields = {
        "scores": PredictionField(PER_CANDIDATE, "expected points of the final rank"),
        "rank_probabilities": PredictionField(f"{PER_CANDIDATE} × ranks", "of the final ranks, the first one first"),
    }
    temperatures = ("temperature", "summary_temperature")
    uses = frozenset({"baseline", "rank_points", "prior", "target", "reward"})

    points_R: Tensor

    def __init__(self, config: ObjectiveConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        num_seats = vocabulary.num_seats
        if len(config.rank_points) != num_seats:
            raise ValueError(f"objective.rank_points needs {num_seats} numbers, one for each rank")
        points_R = torch.tensor(config.rank_points)
        if not points_R.std():
            raise ValueError("objective.rank_points are all equal: every action would have the same score")
        self.scale = float(points_R.std(correction=0))
        self.num_candidate_outputs = num_seats
        self.register_buffer("points_R", points_R, persistent=False)
        self.orders = SeatOrders(num_seats)
        self.num_summary_outputs = self.orders.num_orders

    def loss(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns the loss and its parts: `cross_entropy` of the rank, and `baseline`, of the order."""
        return self._value_loss(output, batch, *self._targets(batch))

    def _targets(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns the targets of the actor's rank and of the order: classes [B], or probabilities from soft labels."""
        if batch.label_BL is None:
            return self.rank(batch), self.order(batch)
        return self.orders.rank_probability(batch.label_BL), batch.label_BL

    def prior_outputs(self, order_BO: Tensor, grading_BK: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the log probabilities of the actor's ranks, and of the orders."""
        return self.orders.rank_log_probability(order_BO), order_BO

    def label_of_prediction(self, order_XO: Tensor, grading_XK: Tensor) -> Tensor:
        """Returns the probabilities of the orders counted from the actor."""
        return order_XO.exp()

    def label_of_results(self, results: Results) -> Tensor:
        """Returns 1 for the order counted from the actor with which the game ended, 0 for the others."""
        order_B = self.orders.number(final_ranks_from_actor(results))
        return F.one_hot(order_B, self.orders.num_orders).float()

    def score(self, output: Output) -> Tensor:
        """Returns the expected points of the rank, -inf at padding."""
        score_BA = expected(output.candidate_BAK.float().softmax(dim=2), self.points_R)
        return score_BA.masked_fill(~output.mask_BA, -math.inf)

    def situation_value(self, output: Output) -> Tensor:
        return expected(self.situation_rank_probability(output), self.points_R)

    def predictions(self, output: Output) -> dict[str, Tensor]:
        return {"scores": self.score(output), "rank_probabilities": output.candidate_BAK.float().softmax(dim=2)}

    def calibratable(self, output: Output, batch: Batch) -> dict[str, Classes]:
        """Returns as classes the ranks given the action taken, and the orders of the seats before the action."""
        return {
            "temperature": Classes(self.rank_log_probability(output, batch), self.rank(batch)),
            "summary_temperature": Classes(self.order_log_probability(output), self.order(batch)),
        }

    def measured(self, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Returns in addition the probabilities `rank_probability/action` and `rank_probability/situation` [B, R], and
        the log probabilities [B] of the outcomes `rank/action`, `rank/situation` and `order/situation`."""
        found = super().measured(output, batch)
        rank_B1 = self.rank(batch)[:, None]
        log_BR = self.rank_log_probability(output, batch)
        found["rank_probability/action"] = log_BR.exp()
        found["rank/action"] = log_BR.gather(1, rank_B1)[:, 0]
        before_BR = self.situation_rank_probability(output)
        found["rank_probability/situation"] = before_BR
        found["rank/situation"] = before_BR.gather(1, rank_B1)[:, 0].log()
        found["order/situation"] = self.order_log_probability(output).gather(1, self.order(batch)[:, None])[:, 0]
        return found

    def target_of(self, results: Results) -> Tensor:
        """Returns the points of the final rank."""
        return self.points_R[final_rank(results)]

    def rank(self, batch: Batch) -> Tensor:
        """Returns rank_B, 0 = first: the actor's rank at the end of the game."""
        return final_rank(Results.of_batch(batch, self.vocabulary))

    def order(self, batch: Batch) -> Tensor:
        """Returns order_B: the number of the order in `orders`, counted from seat 0, with which the game ended."""
        return self.orders.number(final_ranks_from_actor(Results.of_batch(batch, self.vocabulary)))

    def rank_log_probability(self, output: Output, batch: Batch) -> Tensor:
        """Returns log_probability_BR of the actor's ranks, given the action taken."""
        return of_chosen(output.candidate_BAK, batch.chosen_B).float().log_softmax(dim=1)

    def order_log_probability(self, output: Output) -> Tensor:
        """Returns log_probability_BO of the orders of the seats, before the action."""
        return output.summary_BK.float().log_softmax(dim=1)

    def situation_rank_probability(self, output: Output) -> Tensor:
        """Returns probability_BR of the actor's ranks before the action: sums over the orders that give each rank."""
        return self.orders.rank_probability(self.order_log_probability(output).exp())
