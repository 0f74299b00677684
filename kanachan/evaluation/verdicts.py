"""States in one sentence whether a network learned something, based on the intervals of its differences from chance
and, for values, from a small model that sees only scores and round."""

import math
from typing import Literal, NamedTuple

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate

Measure = Literal["nats", "squared error"]
_BASELINES = {"scores": ("the scores alone", "too few games"), "chance": ("chance", "too few steps, or games")}
"""each baseline's name in a sentence, and the likely reason if a network is no better"""


class Verdict(NamedTuple):
    """The conclusion about a network from the intervals of an evaluation."""

    result: str
    """`better_than_`, `no_better_than_` or `worse_than_`, and `scores` or `chance`; or `no_baseline`;
    or `too_few_games`"""
    is_better: bool
    """whether the interval shows that the network is better: than the scores alone (values) or chance (imitation)"""
    sentence: str
    measure: Measure
    less_scores: Estimate | None
    """advantage over the baseline, positive if the network is better: difference of log-likelihoods, or the reduction
    of the squared error as a share of the baseline's"""
    less_chance: Estimate
    """the same advantage over chance: a uniform choice of action or rank, or the mean of all outcomes"""


class GainVerdict(NamedTuple):
    """The conclusion about a policy from the interval of an estimated gain."""

    result: str
    """`gains`, `loses`, `undecided`, `too_few_games`, or `too_far` (no estimate)"""
    is_better: bool
    """whether the interval is above zero and there are enough games"""
    sentence: str


def verdict_on_imitation(less_chance: Estimate, num_games: int) -> Verdict:
    """Compares the log-likelihoods of the action taken under the network and under a uniform choice."""
    result, sentence = _against("chance", less_chance, "nats", num_games)
    return Verdict(result, result == "better_than_chance", sentence, "nats", None, less_chance)


def verdict_on_values(less_scores: Estimate | None, less_chance: Estimate, measure: Measure, num_games: int) -> Verdict:
    """Compares values with chance and with the scores alone (None: no train split to fit the baseline to). With fewer
    than `FEWEST_GAMES` games, the verdict is never "better"."""
    if less_chance.high < 0 and math.isfinite(less_chance.value):  # if all outcomes are equal, they have no variance
        result, sentence = _against("chance", less_chance, measure, num_games)
    elif less_scores is None:
        result, sentence = "no_baseline", "not compared with the scores alone: that needs a train split of two games"
    else:
        result, sentence = _against("scores", less_scores, measure, num_games)
    return Verdict(result, result == "better_than_scores", sentence, measure, less_scores, less_chance)


def verdict_on_gain(gain: Estimate, unit: str, num_games: int) -> GainVerdict:
    """Judges whether a policy gains over another one in `num_games` games; with fewer than `FEWEST_GAMES` games, the
    verdict is neither better nor worse."""
    amount = f"{gain.value:+z.4f} {unit} a game [{gain.low:+z.4f}, {gain.high:+z.4f}]"
    if num_games < FEWEST_GAMES:
        return GainVerdict("too_few_games", False, _too_few(num_games))
    if gain.low > 0:
        return GainVerdict("gains", True, f"the new policy gains {amount}")
    if gain.high < 0:
        return GainVerdict("loses", False, f"the new policy loses ({amount})")
    return GainVerdict("undecided", False, f"no gain shown ({amount}): too few games, or too small a change")


def _against(baseline: str, difference: Estimate, measure: Measure, num_games: int) -> tuple[str, str]:
    """Returns the result of a comparison with one of `_BASELINES`, and its sentence."""
    (name, lacks), amount = _BASELINES[baseline], _amount(difference, measure)
    if num_games < FEWEST_GAMES:
        return "too_few_games", _too_few(num_games)
    if difference.excludes_zero and difference.high < 0:
        return (
            f"worse_than_{baseline}",
            f"worse than {name} ({amount}): too few games to learn from, or too few or too many steps",
        )
    if difference.excludes_zero:
        return f"better_than_{baseline}", f"better than {name} by {amount}"
    return f"no_better_than_{baseline}", f"no better than {name} ({amount}): {lacks}"


def _too_few(num_games: int) -> str:
    return f"too few games for a verdict: {num_games} in this split, at least {FEWEST_GAMES} are needed"


def less_chance_of_ranks(log_likelihood: Estimate, num_ranks: int) -> Estimate:
    """Returns the log-likelihood of the rank minus that of equally probable ranks."""
    value, low, high = (number + math.log(num_ranks) for number in log_likelihood[:3])
    return Estimate(value, low, high, log_likelihood.decisions, log_likelihood.games)


def _amount(difference: Estimate, measure: Measure) -> str:
    if measure == "nats":
        value, low, high = (f"{number:z.3f}" for number in difference[:3])
        return f"{value} nats [{low}, {high}]"
    value, low, high = (f"{100 * number:z.1f}" for number in difference[:3])
    return f"{value} % [{low}, {high}] of the squared error"
