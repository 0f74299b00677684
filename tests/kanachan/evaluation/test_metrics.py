"""The figures against plain loops over the decisions."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from torch import Tensor

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS as V
from annotate.vocabulary import tile34_of
from kanachan.data.batch import batch_of_annotations
from kanachan.evaluation.bootstrap import Estimate, cluster_bootstrap, cluster_bootstrap_of_sums, ratio_estimates
from kanachan.evaluation.calibration import calibration_statistic, reliability
from kanachan.evaluation.decision_metrics import KINDS, DecisionMeter, DecisionRows, decision_metrics
from kanachan.evaluation.value_metrics import log_likelihood_metrics, value_metrics
from tests.support.random_annotations import random_annotations

NUM_ROWS = 400


@pytest.fixture(scope="module")
def annotations() -> list[Annotation]:
    return random_annotations(NUM_ROWS, seed=5, games=20)


@pytest.fixture(scope="module")
def scores(annotations: list[Annotation]) -> list[list[float]]:
    generator = torch.Generator().manual_seed(0)
    return [(2 * torch.randn(len(a.actions), generator=generator)).tolist() for a in annotations]


def measured(annotations: list[Annotation], scores: list[list[float]]) -> DecisionRows:
    """In two batches, so that they are padded differently."""
    meter, half = DecisionMeter(V), len(annotations) // 3
    parts = []
    for rows in (slice(0, half), slice(half, None)):
        batch = batch_of_annotations(annotations[rows], V)
        score_BA = torch.full(batch.candidate_BA.shape, -math.inf)
        for row, values in enumerate(scores[rows]):
            score_BA[row, : len(values)] = Tensor(values)
        parts.append(meter.rows(score_BA, batch))
    return DecisionRows.concatenate(parts)


@pytest.fixture(scope="module")
def figures(annotations: list[Annotation], scores: list[list[float]]) -> dict[str, Estimate]:
    return decision_metrics(measured(annotations, scores))


def kind_of(action: int) -> str:
    block, factors = V.action.describe(action)
    if block == "discard":
        return "riichi" if factors["riichi"] else "discard"
    return "kan" if block in ("ankan", "kakan", "daiminkan") else block


def tile_of(action: int) -> int | None:
    block, factors = V.action.describe(action)
    return tile34_of(factors["tile"]) if block == "discard" else None


def expected_figures(annotations: list[Annotation], scores: list[list[float]]) -> dict[str, tuple[float, int]]:
    values = defaultdict(list)
    for annotation, row in zip(annotations, scores, strict=True):
        actions, chosen = annotation.actions, annotation.chosen
        top = max(range(len(row)), key=row.__getitem__)
        total = sum(math.exp(s) for s in row)
        probability = [math.exp(s) / total for s in row]
        hit, nll = float(top == chosen), -math.log(probability[chosen])
        values["top1"].append(hit)
        values["nll"].append(nll)
        tiles = [tile_of(action) for action in actions]
        if len({tile for tile in tiles if tile is not None}) >= 2:
            alike = [
                i for i in range(len(row)) if i == chosen or (tiles[chosen] is not None and tiles[i] == tiles[chosen])
            ]
            values["discard/accuracy"].append(float(top in alike))
            values["discard/exact"].append(hit)
            values["discard/nll"].append(-math.log(sum(probability[i] for i in alike)))
        for kind in set(map(kind_of, actions)) - {"discard", "skip"}:
            taken, predicted = kind_of(actions[chosen]) == kind, kind_of(actions[top]) == kind
            values[f"{kind}/accuracy"].append(float(taken == predicted))
            values[f"{kind}/exact"].append(hit)
            values[f"{kind}/nll"].append(nll)
            values[f"{kind}/taken"].append(float(taken))
            values[f"{kind}/predicted"].append(float(predicted))
            if taken:
                values[f"{kind}/recall"].append(hit)
    return {name: (sum(v) / len(v), len(v)) for name, v in values.items()}


def test_figures_by_kind_equal_a_plain_loop(
    annotations: list[Annotation], scores: list[list[float]], figures: dict[str, Estimate]
) -> None:
    expected = expected_figures(annotations, scores)
    assert set(expected) == set(figures) - {"ece"}
    assert {name.split("/")[0] for name in figures} >= {"discard", "riichi", "chi", "pon", "kan", "ron", "tsumo"}
    for name, (value, decisions) in expected.items():
        assert figures[name].value == pytest.approx(value, abs=1e-5), name
        assert figures[name].decisions == decisions, name


def test_every_action_but_skip_is_of_a_kind() -> None:
    assert {kind_of(action) for action in range(V.action.size)} - {"skip"} == set(KINDS)


def test_the_calibration_error_equals_a_plain_loop(
    annotations: list[Annotation], scores: list[list[float]], figures: dict[str, Estimate]
) -> None:
    bins = defaultdict(list)
    for annotation, row in zip(annotations, scores, strict=True):
        confidence = math.exp(max(row)) / sum(math.exp(s) for s in row)
        bins[min(int(confidence * 15), 14)].append((confidence, row[annotation.chosen] == max(row)))
    expected = sum(abs(sum(c for c, _ in b) - sum(h for _, h in b)) for b in bins.values()) / NUM_ROWS
    assert figures["ece"].value == pytest.approx(expected, abs=1e-5)


def test_the_calibration_error_of_some_decisions_is_that_of_them_alone() -> None:
    rng = np.random.default_rng(4)
    game_B, confidence_B = rng.integers(0, 8, 500), rng.random(500)
    is_right_B, where_B = rng.random(500) < confidence_B**2, rng.random(500) < 0.3
    some = cluster_bootstrap(game_B, {"ece": calibration_statistic(confidence_B, is_right_B, where_B)})["ece"]
    alone = {"ece": calibration_statistic(confidence_B[where_B], is_right_B[where_B])}
    assert some == pytest.approx(cluster_bootstrap(game_B[where_B], alone)["ece"])
    assert some.decisions == where_B.sum() and some.value > 0.05


def test_without_probabilities_there_is_no_likelihood(
    annotations: list[Annotation], scores: list[list[float]], figures: dict[str, Estimate]
) -> None:
    without = decision_metrics(measured(annotations, scores), has_probability=False)
    assert set(without) == {name for name in figures if not name.endswith(("nll", "ece"))}


def test_red_fives_and_tsumogiri_are_one_discard() -> None:
    discard = V.action["discard"]
    actions = sorted([discard.token(0, 0, 0), discard.token(5, 0, 0), discard.token(5, 1, 0), discard.token(6, 0, 0)])
    base = random_annotations(1, seed=0)[0]
    annotation = Annotation(
        base.game, base.sparse, base.numeric, base.progression, tuple(actions), actions.index(discard.token(0, 0, 0)),
        base.results,
    )  # fmt: skip
    figures = decision_metrics(measured([annotation, annotation, annotation], [[0.0, 1.0, 2.0, 0.0]] * 3))
    assert figures["discard/exact"].value == 0
    assert figures["discard/accuracy"].value == 1
    assert figures["discard/nll"].value == pytest.approx(-math.log(1 - 1 / (2 + math.e + math.e**2)), abs=1e-5)


def test_intervals_come_from_drawing_games_anew() -> None:
    rng = np.random.default_rng(1)
    game_B = np.repeat(np.arange(30), 10)
    value_B = np.repeat(rng.normal(size=30), 10)  # all of a game alike: 300 rows tell no more than 30
    figure = ratio_estimates(game_B, {"mean": (value_B, np.ones(300))})["mean"]
    error = value_B.std() / math.sqrt(30)
    assert figure.value == pytest.approx(value_B.mean())
    assert figure.high - figure.low == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_a_bootstrap_replicate_weighs_each_game_by_how_often_it_was_drawn() -> None:
    game_B, value_B = np.array([7, 7, 3, 9]), np.array([1.0, 2.0, 4.0, 8.0])
    seen = []

    def total(sums_RC: np.ndarray) -> np.ndarray:
        seen.append(sums_RC.copy())
        return sums_RC[:, 0]

    cluster_bootstrap_of_sums(game_B, [value_B], [total], [4], replicates=60, seed=3)
    draws = np.concatenate(
        [np.random.default_rng(3).multinomial(3, [1 / 3] * 3, size=60)]
    )  # games in ascending order: 3, 7, 9
    assert seen[0].tolist() == [[15.0]]
    assert seen[1][:, 0].tolist() == (draws @ np.array([4.0, 3.0, 8.0])).tolist()


@pytest.mark.parametrize("games", [30, 333, 997])
@pytest.mark.parametrize("width", [1, 3, 5, 7, 21, 33])
def test_equal_columns_have_equal_draws_to_the_last_bit(games: int, width: int) -> None:
    columns = list(np.random.default_rng(games).normal(size=(width, games)))

    def difference(sums_RC: np.ndarray) -> np.ndarray:
        return np.abs(sums_RC[:, :width] - sums_RC[:, width:]).max(axis=1)

    (figure,) = cluster_bootstrap_of_sums(np.arange(games), [*columns, *columns], [difference], [games], replicates=50)
    assert figure[:3] == (0, 0, 0)


def test_value_figures_equal_their_definitions() -> None:
    rng = np.random.default_rng(2)
    game_B, target_B = np.repeat(np.arange(50), 8), rng.normal(2000, 4000, 400)
    value_B, baseline_B = target_B + rng.normal(100, 1000, 400), target_B + rng.normal(0, 3000, 400)
    figures = value_metrics(game_B, value_B, target_B, baseline_B)
    error, baseline_error = ((value_B - target_B) ** 2).mean(), ((baseline_B - target_B) ** 2).mean()
    assert figures["explained_variance"].value == pytest.approx(1 - error / target_B.var())
    assert figures["baseline/explained_variance"].value == pytest.approx(1 - baseline_error / target_B.var())
    assert figures["skill"].value == pytest.approx(1 - error / baseline_error)
    assert figures["bias"].value == pytest.approx((value_B - target_B).mean())
    assert all(f.low < f.value < f.high and f.decisions == 400 for f in figures.values())


def test_reliability_groups_predictions_by_decile() -> None:
    value_B = np.random.default_rng(3).permutation(100).astype(float)
    bins = reliability(np.arange(100), value_B, 2 * value_B)
    assert [b.predicted for b in bins] == [10 * i + 4.5 for i in range(10)]
    assert [b.actual.value for b in bins] == [20 * i + 9 for i in range(10)]


def test_log_likelihoods_are_means_over_decisions() -> None:
    log_probability = {"network": np.log([0.5, 0.25, 0.5]), "baseline": np.log([0.25] * 3)}
    figures = log_likelihood_metrics(np.array([1, 1, 2]), log_probability)
    assert figures["network"].value == pytest.approx(math.log(0.5 * 0.25 * 0.5) / 3)
    assert figures["baseline"].value == pytest.approx(-math.log(4))
