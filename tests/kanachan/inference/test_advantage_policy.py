"""Advantage-weighted policies against the formula."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.predict import explained, main
from kanachan.data.columns import columns_of_annotations
from kanachan.evaluation.evaluator import predictions_of
from kanachan.inference.advantage_policy import AdvantagePolicy, advantages, reweighted, temperature_of_divergence
from kanachan.inference.behaviour import divergence
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights, write_weights
from tests.support.packed import packed
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(24, seed=7)
VALUE_STAGES = ("round_delta", "rank", "grading")


def made_up(rows: int = 40, candidates: int = 6) -> tuple[Tensor, Tensor]:
    """log_prior_BA, with some actions impossible, and value_BA, in hundreds of points."""
    torch.manual_seed(0)
    logit_BA = 2 * torch.randn(rows, candidates, dtype=torch.float64)
    logit_BA[::3, 1] = -math.inf
    return logit_BA.log_softmax(dim=1), 300 * torch.randn(rows, candidates, dtype=torch.float64)


def by_formula(prior: np.ndarray, value: np.ndarray, temperature: float) -> list[float]:
    expected = sum(p * v for p, v in zip(prior, value, strict=True))
    weights = [p * math.exp((v - expected) / temperature) for p, v in zip(prior, value, strict=True)]
    return [weight / sum(weights) for weight in weights]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    stages = ("imitation", *VALUE_STAGES)
    return {stage: str(written(folder / stage, stage, seed=seed)) for seed, stage in enumerate(stages)}


@pytest.fixture
def lines(tmp_path: Path) -> str:
    (tmp_path / "lines.txt").write_text("".join(f"{format_line(a)}\n" for a in ANNOTATIONS))
    return str(tmp_path / "lines.txt")


def joined(weights: dict[str, str], stage: str = "grading", temperature: float = math.inf) -> AdvantagePolicy:
    return AdvantagePolicy(Policy.load(weights["imitation"]), Policy.load(weights[stage]), temperature)


def numbers_of(path: Path) -> list[list[float]]:
    return [[float(n) for n in line.rpartition("\t")[2].split(",")] for line in path.read_text().splitlines()]


@pytest.mark.parametrize("temperature", [80.0, 300.0, 5000.0])
def test_probabilities_are_those_of_the_formula(temperature: float) -> None:
    log_prior_BA, value_BA = made_up()
    found_BA = reweighted(log_prior_BA, value_BA, temperature).exp().numpy()
    for found, prior, value in zip(found_BA, log_prior_BA.exp().numpy(), value_BA.numpy(), strict=True):
        assert found.tolist() == pytest.approx(by_formula(prior, value, temperature), abs=1e-12)


def test_the_prior_expects_no_advantage() -> None:
    log_prior_BA, value_BA = made_up()
    mean_B = (log_prior_BA.exp() * advantages(log_prior_BA, value_BA)).sum(dim=1)
    assert mean_B.abs().max() < 1e-10


def test_an_infinite_temperature_gives_the_prior() -> None:
    log_prior_BA, value_BA = made_up()
    assert torch.allclose(reweighted(log_prior_BA, value_BA, math.inf), log_prior_BA, atol=1e-12)
    assert torch.allclose(reweighted(log_prior_BA, value_BA, 1e12), log_prior_BA, atol=1e-6)


def test_a_temperature_near_zero_takes_the_highest_value_that_is_possible() -> None:
    log_prior_BA, value_BA = made_up()
    value_BA[::3, 1] = 1e6  # the best of all, if it were possible
    probability_BA = reweighted(log_prior_BA, value_BA, 1e-9).exp()
    best_B = value_BA.masked_fill(log_prior_BA.isneginf(), -math.inf).argmax(dim=1)
    assert torch.equal(probability_BA, torch.nn.functional.one_hot(best_B, value_BA.shape[1]).double())


def test_actions_of_equal_value_keep_their_proportions() -> None:
    log_prior_BA = torch.tensor([[0.2, 0.6, 0.2]]).log()
    probability_BA = reweighted(log_prior_BA, torch.tensor([[5.0, 5.0, 1.0]]), 1e-6).exp()
    assert probability_BA.tolist() == [pytest.approx([0.25, 0.75, 0.0])]


@pytest.mark.parametrize("filling", [-math.inf, 0.0, 1e9, math.nan])
def test_padding_does_not_matter(filling: float) -> None:
    log_prior_BA, value_BA = made_up()
    padded_prior_BA = torch.cat([log_prior_BA, torch.full((40, 3), -math.inf)], dim=1)
    padded_value_BA = torch.cat([value_BA, torch.full((40, 3), filling)], dim=1)
    expected_BA, found_BA = reweighted(log_prior_BA, value_BA, 200), reweighted(padded_prior_BA, padded_value_BA, 200)
    assert torch.allclose(found_BA[:, :6], expected_BA, atol=1e-12) and found_BA[:, 6:].exp().sum() == 0
    assert torch.allclose(divergence(found_BA, padded_prior_BA), divergence(expected_BA, log_prior_BA), atol=1e-12)
    found = temperature_of_divergence(padded_prior_BA, padded_value_BA, 0.05)
    assert found == pytest.approx(temperature_of_divergence(log_prior_BA, value_BA, 0.05), rel=1e-8)


@pytest.mark.parametrize("target", [1e-4, 0.05, 0.5])
def test_the_temperature_that_is_found_gives_the_divergence(target: float) -> None:
    log_prior_BA, value_BA = made_up()
    temperature = temperature_of_divergence(log_prior_BA, value_BA, target)
    sums = []
    for prior, value in zip(log_prior_BA.exp().numpy(), value_BA.numpy(), strict=True):
        policy = by_formula(prior, value, temperature)
        sums.append(sum(p * math.log(p / q) for p, q in zip(policy, prior, strict=True) if p > 0))
    assert np.mean(sums) == pytest.approx(target, rel=1e-6)


def test_divergence_falls_as_the_temperature_rises() -> None:
    log_prior_BA, value_BA = made_up()
    temperatures = [1e-6, 10.0, 100.0, 300.0, 1000.0, 1e6]
    found = [float(divergence(reweighted(log_prior_BA, value_BA, t), log_prior_BA).mean()) for t in temperatures]
    assert found == sorted(found, reverse=True) and found[0] > 1 and found[-1] < 1e-6


def test_a_divergence_out_of_reach_is_refused() -> None:
    log_prior_BA, value_BA = made_up()
    with pytest.raises(ValueError, match="50 nats is out of reach"):
        temperature_of_divergence(log_prior_BA, value_BA, 50)
    with pytest.raises(ValueError, match="same value"):
        temperature_of_divergence(log_prior_BA, torch.zeros_like(value_BA), 0.05)


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_the_joined_policy_predicts_in_the_order_of_the_annotations(weights: dict[str, str], stage: str) -> None:
    values = Policy.load(weights[stage]).scores(ANNOTATIONS)
    temperature = float(np.mean([np.ptp(value) for value in values]))
    policy = joined(weights, stage, temperature)
    priors = policy.prior.predictions(ANNOTATIONS)
    for batch in (1, 7, 24):
        found = policy.predictions(ANNOTATIONS, batch)
        for prediction, prior, value in zip(found, priors, values, strict=True):
            assert prediction.probability is not None and prior.probability is not None
            expected = by_formula(prior.probability.astype(float), value.astype(float), temperature)
            np.testing.assert_allclose(prediction.probability, expected, atol=1e-4)
            np.testing.assert_allclose(prediction.score, np.log(prediction.probability), atol=1e-4)


def test_the_joined_policy_can_be_evaluated(weights: dict[str, str]) -> None:
    policy = joined(weights, temperature=10.0)
    predictions = predictions_of(policy, columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS), 5, lambda _: None)
    probability = [p.probability for p in policy.predictions(ANNOTATIONS)]
    expected = [math.log(p[a.chosen]) for p, a in zip(probability, ANNOTATIONS, strict=True) if p is not None]
    np.testing.assert_allclose(predictions.decisions.log_probability_B, expected, atol=1e-4)


def test_the_temperature_of_the_prior_counts(weights: dict[str, str], tmp_path: Path) -> None:
    read = read_weights(weights["imitation"])
    write_weights(tmp_path / "w.safetensors", read.tensors, {**read.card, "temperature": 2.0})
    prior = Policy.load(tmp_path / "w.safetensors")
    policy = AdvantagePolicy(prior, Policy.load(weights["grading"]))
    for found, expected in zip(policy.predictions(ANNOTATIONS), prior.predictions(ANNOTATIONS), strict=True):
        assert found.shown.tolist() == pytest.approx(expected.shown.tolist(), abs=1e-6)


def test_networks_that_do_not_fit_are_refused(weights: dict[str, str], tmp_path: Path) -> None:
    prior, value = Policy.load(weights["imitation"]), Policy.load(weights["rank"])
    with pytest.raises(ValueError, match="after rank is not a prior"):
        AdvantagePolicy(value, value)
    with pytest.raises(ValueError, match="after imitation has no values"):
        AdvantagePolicy(prior, prior)
    with pytest.raises(ValueError, match="data.actor_first=False, the prior with True"):
        AdvantagePolicy(prior, Policy.load(written(tmp_path, "rank", actor_first=False)))
    for temperature in (0, -1, math.nan):
        with pytest.raises(ValueError, match="must be positive"):
            AdvantagePolicy(prior, value, temperature)
    value.vocabulary = replace(FOUR_PLAYERS, name="other")
    with pytest.raises(ValueError, match=f"{value.vocabulary.fingerprint}, the prior {FOUR_PLAYERS.fingerprint}"):
        AdvantagePolicy(prior, value)


def test_predicting_with_a_temperature(weights: dict[str, str], lines: str, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    given = [weights["grading"], lines, "-o", str(out), "--prior", weights["imitation"]]
    assert main([*given, "--temperature", "30"]) == 0
    expected = joined(weights, temperature=30).predictions(ANNOTATIONS)
    assert [line.rpartition("\t")[0] for line in out.read_text().splitlines()] == [format_line(a) for a in ANNOTATIONS]
    for numbers, prediction in zip(numbers_of(out), expected, strict=True):
        assert numbers == pytest.approx(prediction.shown.tolist(), abs=1e-6) and sum(numbers) == pytest.approx(1)
    assert main([*given, "--temperature", "inf", "--force"]) == 0
    for numbers, prior in zip(numbers_of(out), Policy.load(weights["imitation"]).predictions(ANNOTATIONS), strict=True):
        assert numbers == pytest.approx(prior.shown.tolist(), abs=1e-6)


def test_predicting_with_a_divergence(
    weights: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = packed(tmp_path / "shards", train=5, validation=60)
    lines, out, plain = tmp_path / "shards-validation.txt", tmp_path / "out.txt", tmp_path / "plain.txt"
    given = [weights["grading"], str(lines), "-o", str(out), "--prior", weights["imitation"]]
    assert main([*given, "--divergence", "0.05", "--held-out", str(shards), "--batch", "7"]) == 0
    assert "0.05 nats over 60 decisions: --temperature " in capsys.readouterr().err
    assert main([weights["imitation"], str(lines), "-o", str(plain)]) == 0
    divergences = [
        sum(p * math.log(p / q) for p, q in zip(policy, prior, strict=True) if p > 0)
        for policy, prior in zip(numbers_of(out), numbers_of(plain), strict=True)
    ]
    assert np.mean(divergences) == pytest.approx(0.05, rel=1e-3)
    assert main([*given, "--divergence", "99", "--held-out", str(shards), "--force"]) == 1
    assert "99.0 nats is out of reach" in capsys.readouterr().err


def test_the_meaning_describes_the_numbers(weights: dict[str, str]) -> None:
    policy = joined(weights, temperature=30)
    text = explained(ANNOTATIONS[0], policy.predictions(ANNOTATIONS[:1])[0], policy)
    assert "(probability: imitation re-weighted by the expected grading points, temperature 30)" in text
    assert "%" in text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--temperature", "3"], "--temperature needs --prior"),
        (["--held-out", "x"], "--held-out needs --prior"),
        (["--prior", "x"], "either --temperature or --divergence"),
        (["--prior", "x", "--temperature", "1", "--divergence", "1"], "exclude each other"),
        (["--prior", "x", "--temperature", "0"], "--temperature must be positive"),
        (["--prior", "x", "--divergence", "1"], "need each other"),
        (["--prior", "x", "--temperature", "1", "--held-out", "x"], "need each other"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["weights", "-", *options])
    assert why in capsys.readouterr().err


def test_wrong_weights_are_named(weights: dict[str, str], lines: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value, prior, why in (
        ("imitation", "imitation", "has no values"),
        ("rank", "grading", "is not a prior"),
    ):
        assert main([weights[value], lines, "--prior", weights[prior], "--temperature", "1"]) == 1
        error = capsys.readouterr().err
        assert weights[value] in error and weights[prior] in error and why in error
        assert len(error.splitlines()) == 1
