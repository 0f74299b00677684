"""States in one sentence whether a network learned something: by the intervals of its differences from chance and, for
values, from a small model that sees scores and round only."""

import math
from typing import Literal, NamedTuple

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate

Measure = Literal["nats", "squared error"]
Result = Literal[
    "better_than_scores",
    "no_better_than_scores",
    "worse_than_scores",
    "better_than_chance",
    "no_better_than_chance",
    "worse_than_chance",
    "no_baseline",
    "too_few_games",
]
_TOO_FEW = "too few games to learn from, or too many steps on them"


class Verdict(NamedTuple):
    """What the intervals of an evaluation say of a network."""

    result: Result
    is_better: bool
    """values: better than the scores alone; imitation: better than chance; the interval excludes zero"""
    sentence: str
    measure: Measure
    less_scores: Estimate | None
    """network minus baseline, positive where the network is better: log-likelihood, or the share of the baseline's
    squared error by which that of the network is smaller"""
    less_chance: Estimate
    """the same against chance: a uniform choice of action or rank, or the mean of all outcomes"""


def verdict_on_imitation(less_chance: Estimate, num_games: int) -> Verdict:
    """Compares the log-likelihood of the action taken with that of a uniform choice."""
    amount = _amount(less_chance, "nats")
    result: Result
    if less_chance.high < 0:
        result, sentence = "worse_than_chance", f"worse than chance ({amount}): {_TOO_FEW}"
    elif num_games < FEWEST_GAMES:
        result, sentence = "too_few_games", _no_verdict(num_games)
    elif less_chance.low > 0:
        result, sentence = "better_than_chance", f"better than chance by {amount}"
    else:
        result, sentence = "no_better_than_chance", f"no better than chance ({amount}): too few steps, or games"
    return Verdict(result, result == "better_than_chance", sentence, "nats", None, less_chance)


def verdict_on_values(less_scores: Estimate | None, less_chance: Estimate, measure: Measure, num_games: int) -> Verdict:
    """Compares values with the scores alone and with chance.

    Args:
        less_scores: None: the evaluation had no train split to fit the baseline to.
        num_games: of the split; with fewer than `FEWEST_GAMES` nothing is called better.
    """
    result: Result
    if less_chance.high < 0:
        result, sentence = "worse_than_chance", f"worse than chance ({_amount(less_chance, measure)}): {_TOO_FEW}"
    elif less_scores is None:
        result, sentence = "no_baseline", "not compared with the scores alone: that needs a train split of two games"
    elif less_scores.high < 0:
        amount = _amount(less_scores, measure)
        result, sentence = "worse_than_scores", f"worse than the scores alone ({amount}): {_TOO_FEW}"
    elif num_games < FEWEST_GAMES:
        result, sentence = "too_few_games", _no_verdict(num_games)
    elif less_scores.low > 0:
        result, sentence = "better_than_scores", f"better than the scores alone by {_amount(less_scores, measure)}"
    else:
        amount = _amount(less_scores, measure)
        result, sentence = "no_better_than_scores", f"no better than the scores alone ({amount}): too few games"
    return Verdict(result, result == "better_than_scores", sentence, measure, less_scores, less_chance)


def less_chance_of_ranks(log_likelihood: Estimate, num_ranks: int) -> Estimate:
    """Returns the log-likelihood of the rank minus that of equally probable ranks."""
    value, low, high = (number + math.log(num_ranks) for number in log_likelihood[:3])
    return Estimate(value, low, high, log_likelihood.decisions)


def _no_verdict(num_games: int) -> str:
    return f"too few games for a verdict: {num_games} in this split, at least {FEWEST_GAMES} are needed"


def _amount(difference: Estimate, measure: Measure) -> str:
    """Formats a difference with its interval and unit."""
    if measure == "nats":
        value, low, high = (f"{number:z.3f}" for number in difference[:3])
        return f"{value} nats [{low}, {high}]"
    value, low, high = (f"{100 * number:z.1f}" for number in difference[:3])
    return f"{value} % [{low}, {high}] of the squared error"
