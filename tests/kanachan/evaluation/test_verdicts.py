"""A verdict on a network in one sentence, from the intervals of its differences."""

import pytest

from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate
from kanachan.evaluation.verdicts import verdict_on_gain, verdict_on_imitation, verdict_on_values

MANY = 30
BETTER, EQUAL, WORSE = (Estimate(value, value - 0.02, value + 0.02, 100, 10) for value in (0.05, 0.0, -0.05))


@pytest.mark.parametrize(
    ("less_scores", "less_chance", "result", "sentence"),
    [
        (BETTER, BETTER, "better_than_scores", "better than the scores alone by 0.050 nats [0.030, 0.070]"),
        (EQUAL, BETTER, "no_better_than_scores", "no better than the scores alone (0.000 nats [-0.020, 0.020]): too"),
        (WORSE, BETTER, "worse_than_scores", "worse than the scores alone (-0.050 nats [-0.070, -0.030])"),
        (WORSE, WORSE, "worse_than_chance", "worse than chance (-0.050 nats [-0.070, -0.030]): too few games"),
        (None, BETTER, "no_baseline", "not compared with the scores alone"),
    ],
)
def test_values_are_compared_with_the_score_baseline_and_with_chance(
    less_scores: Estimate | None, less_chance: Estimate, result: str, sentence: str
) -> None:
    verdict = verdict_on_values(less_scores, less_chance, "nats", MANY)
    assert (verdict.result, verdict.is_better) == (result, result == "better_than_scores")
    assert verdict.sentence.startswith(sentence)


@pytest.mark.parametrize("less", [BETTER, WORSE])
def test_a_few_games_are_enough_for_no_verdict(less: Estimate) -> None:
    few = FEWEST_GAMES - 1
    assert verdict_on_values(less, less, "nats", few).result == "too_few_games"
    assert verdict_on_imitation(less, few).result == "too_few_games"


@pytest.mark.parametrize(
    ("less_chance", "result"),
    [(BETTER, "better_than_chance"), (EQUAL, "no_better_than_chance"), (WORSE, "worse_than_chance")],
)
def test_imitation_is_compared_with_chance(less_chance: Estimate, result: str) -> None:
    verdict = verdict_on_imitation(less_chance, MANY)
    assert (verdict.result, verdict.is_better) == (result, result == "better_than_chance")


@pytest.mark.parametrize(
    ("gain", "result", "sentence"),
    [
        (BETTER, "gains", "the new policy gains +0.0500 ranks a game [+0.0300, +0.0700]"),
        (EQUAL, "undecided", "no gain shown (+0.0000 ranks a game [-0.0200, +0.0200]): too few games"),
        (WORSE, "loses", "the new policy loses (-0.0500 ranks a game [-0.0700, -0.0300])"),
    ],
)
def test_the_verdict_on_a_gain_follows_from_its_interval(gain: Estimate, result: str, sentence: str) -> None:
    verdict = verdict_on_gain(gain, "ranks", MANY)
    assert (verdict.result, verdict.is_better) == (result, result == "gains")
    assert verdict.sentence.startswith(sentence)
    assert verdict_on_gain(gain, "ranks", FEWEST_GAMES - 1).result == "too_few_games"
