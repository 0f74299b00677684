"""The networks' predictions for the decisions of a game, as a review shows them.

Shapes: B decisions, A candidates, R ranks, K kinds of decision.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.annotation import Annotation
from annotate.vocabulary import Vocabulary
from kanachan.data.batch import batch_of_annotations
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.decision_metrics import KINDS, DecisionMeter
from kanachan.inference.choice import Prediction
from kanachan.inference.policy import Policy
from kanachan.objectives.rank import Rank
from kanachan.review.choices import Choices, choices_of

Numbers = NDArray[np.float32]
FLOOR = 0.01
"""least probability, predicted by imitation, of actions whose values are compared"""


@dataclass(frozen=True, slots=True)
class ReviewedPrediction:
    """One network's prediction for one decision; candidates are the choices of the decision."""

    chosen: int
    """the action taken"""
    shown: Numbers
    """[A] probabilities after imitation, otherwise the stage's expected points"""
    best: int
    """the candidate with the highest score among the compared candidates"""
    loss: float
    """the action taken: after imitation its negative log-likelihood, otherwise its points lost against the best"""
    gap: float
    """the action taken: difference between the highest probability and its own; for values, its loss"""
    spread: float
    """difference between the highest and the lowest of `shown` among the compared candidates"""
    rank_probability: Numbers | None
    """[A, R] after rank: the probability of each final rank after the action"""
    expected: float | None
    """expected points before the action, for stages with values"""
    expected_ranks: Numbers | None
    """[R] after rank: the probability of each final rank before the action"""


class Reviewed(NamedTuple):
    """The networks' predictions for the decisions of a game."""

    predictions: list[list[ReviewedPrediction]]
    """predictions by network and decision"""
    plausible: list[list[bool]]
    """by decision and candidate: whether its probability by imitation is at least FLOOR; True without imitation"""
    choices: list[Choices]
    """choices of each decision"""


def reviewed_predictions(policies: Sequence[Policy], annotations: Sequence[Annotation]) -> Reviewed:
    """Returns the predictions of each policy for the choices of each of `annotations` (kanachan.review.choices).

    Values are compared among the action taken and the actions to which the first policy with probabilities assigns at
    least FLOOR: the values of actions that people do not take were learnt from almost no examples.

    The expectation before the action comes from the summary token.
    """
    observations = [annotation.observation for annotation in annotations]
    choices = [choices_of(annotation, policies[0].vocabulary) for annotation in annotations]
    predictions = [
        [of.of(one) for of, one in zip(choices, policy.evaluate(observations), strict=True)] for policy in policies
    ]
    situations, annotations = annotations, [of.annotation for of in choices]
    plausible = [np.ones(len(annotation.actions), bool) for annotation in annotations]
    index = policy_index(policies)
    if index is not None:
        plausible = [action.probability >= FLOOR for action in predictions[index] if action.probability is not None]
    found = []
    for policy, predicted in zip(policies, predictions, strict=True):
        before = _expected_ranks(policy, situations)
        rows = zip(predicted, annotations, plausible, before, strict=True)
        found.append([_reviewed(*row) for row in rows])
    return Reviewed(found, [row.tolist() for row in plausible], choices)


def _reviewed(
    prediction: Prediction,
    annotation: Annotation,
    plausible: NDArray[np.bool_],
    expected_ranks: Numbers | None,
) -> ReviewedPrediction:
    """Compares the action taken with all others; for values, only with the `plausible` ones [A]."""
    chosen, shown = annotation.chosen, prediction.shown
    is_compared = np.ones_like(plausible)
    if prediction.probability is None:
        is_compared = plausible | (np.arange(len(plausible)) == chosen)
    highest, lowest = shown[is_compared].max(), shown[is_compared].min()
    loss = gap = float(highest - shown[chosen])
    if prediction.probability is not None:
        loss = -math.log(max(float(shown[chosen]), float(np.finfo(np.float32).tiny)))
    return ReviewedPrediction(
        chosen=chosen,
        shown=shown,
        best=int(np.where(is_compared, prediction.score, -np.inf).argmax()),
        loss=loss,
        gap=gap,
        spread=float(highest - lowest),
        rank_probability=prediction.rank_probability,
        expected=prediction.value,
        expected_ranks=expected_ranks,
    )


def policy_index(policies: Sequence[Policy]) -> int | None:
    """Returns the index of the first policy with probabilities, or None if all policies have only values."""
    return next((i for i, policy in enumerate(policies) if not policy.objective.has_value), None)


def kinds_offered(annotations: Sequence[Annotation], vocabulary: Vocabulary) -> list[list[str]]:
    """Returns the kinds of each decision, by the actions offered (see kanachan.evaluation.decision_metrics)."""
    batch = batch_of_annotations(annotations, vocabulary)
    score_BA = torch.zeros(batch.candidate_BA.shape)
    offered_BK = DecisionMeter(vocabulary).measure(score_BA, batch).is_offered_BK.tolist()
    return [[kind for kind, is_offered in zip(KINDS, row, strict=True) if is_offered] for row in offered_BK]


@torch.inference_mode()
def _expected_ranks(policy: Policy, annotations: Sequence[Annotation]) -> Sequence[Numbers | None]:
    """Predicts ranks [R] of each decision from the summary token; None of each by other stages than rank."""
    objective = policy.objective
    if not isinstance(objective, Rank):
        return [None] * len(annotations)
    ranks = []
    for batch in policy.batches(columns_of_annotations(annotations, policy.vocabulary)):
        ranks.append(objective.situation_rank_probability(policy.output(batch)).cpu())
    return list(torch.cat(ranks).numpy())
