"""Gains estimated from the games of another policy: exact in the mean, and zero for the same policy."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import Columns, columns_of_annotations
from kanachan.inference.policy import Policy
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.gain import GainMeter, SeatRounds, gain_of, weighed
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

BEHAVIOUR = Behaviour(temperature=8.0, explore=0.1)
ANNOTATIONS = random_annotations(12, seed=3, games=12)
Floats = NDArray[np.float64]


@pytest.fixture(scope="module", params=["one encoder", "two encoders"])
def policies(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Policy, Policy]:
    folder = tmp_path_factory.mktemp("weights")
    new, old = (Policy.load(written(folder / str(seed), seed=seed)) for seed in (1, 2))
    if request.param == "one encoder":  # the encoder is computed once for both
        new.network.encoder.load_state_dict(old.network.encoder.state_dict())
    return new, old


def probabilities(policy: Policy) -> list[Floats]:
    """For each decision, the probabilities with which `BEHAVIOUR` samples its candidates, by the players' code."""
    weight = [np.exp(p.score.astype(np.float64) / BEHAVIOUR.temperature) for p in policy.predictions(ANNOTATIONS)]
    softmax = [weight_A / weight_A.sum() for weight_A in weight]
    return [(1 - BEHAVIOUR.explore) * p_A + BEHAVIOUR.explore / len(p_A) for p_A in softmax]


def all_actions(recorded: list[Floats]) -> Columns:
    """Every decision with each of its actions, each as if taken in a separate game, with these probabilities."""
    taken, logs = [], list[float | None]()
    for number, annotation in enumerate(ANNOTATIONS):
        for action in range(len(annotation.actions)):
            taken.append(annotation._replace(game=f"{number}-{action}", chosen=action))
            logs.append(float(np.log(recorded[number][action])))
    return columns_of_annotations(taken, FOUR_PLAYERS, logs)


def first_action_pays(columns: Columns) -> NDArray[np.float32]:
    """One point for the seat that takes the first of its actions, and a constant for the others."""
    return_BS = np.full((len(columns), 4), 7.0, np.float32)
    return_BS[np.arange(len(columns)), columns.seat] = columns.chosen == 0
    return return_BS


@pytest.mark.parametrize("precision", [0.0, 0.03])
def test_over_all_actions_the_gain_of_a_planted_reward_is_exact(
    policies: tuple[Policy, Policy], precision: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`precision`: by how much the recorded probabilities differ from the network's, as in games played in bf16."""
    (new, old), (new_p, old_p) = policies, [probabilities(policy) for policy in policies]
    recorded = [p_A * np.exp(precision * np.cos(np.arange(len(p_A)))) for p_A in old_p]
    recorded = [p_A / p_A.sum() for p_A in recorded]

    monkeypatch.setattr("kanachan.reinforcement.gain.DEFAULT_BATCH", 7)

    columns = all_actions(recorded)
    found = GainMeter(new, old, BEHAVIOUR, first_action_pays).measure(columns)

    assert columns.log_probability is not None and len(found.game_R) == len(columns)
    mean = (np.exp(columns.log_probability) * found.gain_R).sum()
    expected = sum(p_A[0] - q_A[0] for p_A, q_A in zip(new_p, old_p, strict=True))
    assert mean == pytest.approx(expected, abs=1e-5) and abs(expected) > 0.01
    divergence = [float((p_A * np.log(p_A / q_A)).sum()) for p_A, q_A in zip(new_p, old_p, strict=True)]
    first = np.cumsum([0, *(len(p_A) for p_A in old_p[:-1])])
    assert found.divergence_R[first] == pytest.approx(divergence, abs=1e-6)


def test_over_all_courses_of_a_round_the_gain_is_exact() -> None:
    """Three decisions in a round; each policy depends on the actions before."""
    rng = np.random.default_rng(0)
    returns, new, old, recorded = (
        {course[:length]: rng.dirichlet([1.0, 1.0]) for length in range(4) for course in courses()} for _ in range(4)
    )
    mean, expected = 0.0, 0.0
    for course in courses():
        steps = [(course[:place], action) for place, action in enumerate(course)]
        new_B, old_B, recorded_B = (np.log([p[seen][a] for seen, a in steps]) for p in (new, old, recorded))
        _, (gain,) = weighed(new_B - old_B, old_B - recorded_B, np.array(returns[course][:1]), np.array([0]))
        mean += np.exp(recorded_B.sum()) * gain
        expected += (np.exp(new_B.sum()) - np.exp(old_B.sum())) * returns[course][0]
    assert mean == pytest.approx(expected, abs=1e-12)
    assert abs(expected) > 0.01


def courses() -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=3))


def test_rounds_that_follow_each_other_are_weighed_separately() -> None:
    ratio_B, return_R = np.log([2.0, 3.0, 0.5, 4.0]), np.array([1.0, 10.0])
    weight_R, gain_R = weighed(ratio_B, np.zeros(4), return_R, np.array([0, 2]))
    assert weight_R == pytest.approx([6.0, 2.0]) and gain_R == pytest.approx([5.0, 10.0])


def test_the_same_policy_gains_exactly_nothing(policies: tuple[Policy, Policy], tmp_path: Path) -> None:
    old, again = policies[1], Policy.load(written(tmp_path, seed=2))
    columns = all_actions(probabilities(old))
    rounds = GainMeter(again, old, BEHAVIOUR, first_action_pays).measure(columns)
    gain = gain_of(rounds, replicates=10)
    assert gain.gain[:3] == (0.0, 0.0, 0.0)
    assert gain.mean_weight[:3] == (1.0, 1.0, 1.0) and gain.divergence.value == 0
    assert gain.effective_size == gain.rounds == len(columns)
    assert gain.disagreement < 1e-6


def some_rounds(num_games: int, seed: int = 0) -> SeatRounds:
    """Three rounds of each of two seats."""
    rng, num = np.random.default_rng(seed), 6 * num_games
    return SeatRounds(
        game_R=np.repeat(np.arange(num_games, dtype=np.uint64), 6)[np.random.default_rng(1).permutation(num)],
        seat_R=np.arange(num) % 2,
        weight_R=rng.lognormal(sigma=0.2, size=num),
        gain_R=rng.normal(loc=0.1, size=num),
        decisions_R=rng.integers(1, 20, size=num),
        divergence_R=rng.random(num) / 100,
        disagreement_R=np.zeros(num),
    )


def test_the_gain_is_a_mean_over_the_seats_of_games() -> None:
    rounds = some_rounds(50)
    seats = len(set(zip(rounds.game_R.tolist(), rounds.seat_R.tolist(), strict=True)))
    found = gain_of(rounds, replicates=1000)
    assert (found.games, found.seats, found.rounds, found.left_out) == (50, seats, 300, 0)
    assert found.gain.value == pytest.approx(rounds.gain_R.sum() / seats)
    assert found.divergence.value == pytest.approx(rounds.divergence_R.sum() / rounds.decisions_R.sum())
    assert found.effective_size == pytest.approx(rounds.weight_R.sum() ** 2 / (rounds.weight_R**2).sum())


def test_the_interval_agrees_with_repetitions() -> None:
    found = [gain_of(some_rounds(200, seed), replicates=400).gain for seed in range(30)]
    errors = [(gain.high - gain.low) / 3.92 for gain in found]
    assert np.std([gain.value for gain in found]) == pytest.approx(np.mean(errors), rel=0.3)


def test_rounds_without_a_known_return_are_left_out_and_counted() -> None:
    rounds = some_rounds(20)
    rounds.gain_R[:3] = np.nan
    found = gain_of(rounds, replicates=1000)
    assert found.left_out == 3
    assert found.gain.value == pytest.approx(np.nansum(rounds.gain_R) / found.seats)
