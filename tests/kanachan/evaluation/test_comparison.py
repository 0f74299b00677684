"""kanachan-evaluate --compare: differences of networks against a plain bootstrap over games."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kanachan.cli.evaluate import main
from kanachan.evaluation.bootstrap import _levels
from kanachan.evaluation.comparison import compared
from kanachan.evaluation.decision_metrics import KINDS, DecisionRows
from kanachan.evaluation.evaluator import Predictions
from tests.support.packed import packed
from tests.support.tiny_weights import written

NUM_GAMES, NUM_ROWS, DRAWS = 30, 600, 120
GAME_B = np.sort(np.random.default_rng(0).integers(NUM_GAMES, size=NUM_ROWS)) * 7
OFFERED_BK = np.random.default_rng(1).random((NUM_ROWS, len(KINDS))) < 0.3
TAKEN_BK = OFFERED_BK & (np.random.default_rng(2).random(OFFERED_BK.shape) < 0.5)
TARGET_B = np.random.default_rng(3).normal(size=NUM_ROWS) + np.random.default_rng(4).normal(size=NUM_GAMES)[GAME_B // 7]


def predictions(seed: int, *, own: float = 0.3, has_value: bool = False, **numbers: Any) -> Predictions:
    """Returns predictions of a network that errs mostly where all networks do; `own` scales its individual error."""
    common_B, own_B = np.random.default_rng(5).normal(size=NUM_ROWS), np.random.default_rng(seed).normal(size=NUM_ROWS)
    ease_B = 0.5 + TARGET_B + common_B + own * own_B
    log_probability_B = -np.logaddexp(0, -ease_B).astype(np.float32)
    predicted_BK = OFFERED_BK & (np.random.default_rng(seed).random(OFFERED_BK.shape) < 0.5)
    rows = DecisionRows(
        GAME_B, ease_B > 0, ease_B > -0.3, log_probability_B, log_probability_B / 2, np.exp(log_probability_B),
        OFFERED_BK, TAKEN_BK, predicted_BK,
    )  # fmt: skip
    values = {"target": TARGET_B, "action": TARGET_B + common_B + own * own_B} if has_value else {}
    return Predictions(rows, {**values, **numbers})


def rows_of_draws() -> list[np.ndarray]:
    """Returns the rows of each resample of games that the program draws, each as often as its game was drawn."""
    games = np.unique(GAME_B)
    draws = np.random.default_rng(0).multinomial(len(games), [1 / len(games)] * len(games), size=DRAWS)
    rows_of = [np.flatnonzero(GAME_B == game) for game in games]
    return [np.concatenate([rows_of[g] for g, n in enumerate(draw) for _ in range(n)]) for draw in draws]


def accuracy(found: Predictions, rows: np.ndarray) -> float:
    return float(found.decisions.is_top_B[rows].mean())


def loss_of_riichi(found: Predictions, rows: np.ndarray) -> float:
    rows = rows[OFFERED_BK[rows, KINDS.index("riichi")]]
    return -float(found.decisions.log_probability_B[rows].astype(np.float64).mean())


def recall_of_chi(found: Predictions, rows: np.ndarray) -> float:
    return float(found.decisions.is_top_B[rows[TAKEN_BK[rows, KINDS.index("chi")]]].mean())


def explained(found: Predictions, rows: np.ndarray) -> float:
    target_B = TARGET_B[rows]
    return float(1 - ((found.numbers["action"][rows] - target_B) ** 2).mean() / target_B.var())


def absolute_error(found: Predictions, rows: np.ndarray) -> float:
    return float(np.abs(found.numbers["action"][rows] - TARGET_B[rows]).mean())


@pytest.mark.parametrize(
    ("name", "plain", "has_value"),
    [
        ("agreement/top1", accuracy, False),
        ("agreement/riichi/nll", loss_of_riichi, False),
        ("agreement/chi/recall", recall_of_chi, False),
        ("agreement/top1", accuracy, True),
        ("values/action/explained_variance", explained, True),
        ("values/action/mean_absolute_error", absolute_error, True),
    ],
)
def test_intervals_equal_a_plain_bootstrap_over_games(
    name: str, plain: Callable[[Predictions, np.ndarray], float], has_value: bool
) -> None:
    a, b = (predictions(seed, has_value=has_value) for seed in (10, 11))
    found = compared(a, b, GAME_B, {}, DRAWS)[name]
    drawn = [plain(b, rows) - plain(a, rows) for rows in rows_of_draws()]
    everything = np.arange(NUM_ROWS)
    assert (found.reference, found.other) == pytest.approx((plain(a, everything), plain(b, everything)))
    assert found.difference.value == pytest.approx(plain(b, everything) - plain(a, everything), abs=1e-12)
    assert found.difference[1:3] == pytest.approx(tuple(np.quantile(drawn, _levels(found.games))), rel=1e-4)


def test_ranks_are_compared_by_likelihood_even_if_their_points_differ() -> None:
    gain_B = np.random.default_rng(6).random(NUM_ROWS)
    a = predictions(10, has_value=True, **{"rank/action": -gain_B})
    b = predictions(11, has_value=True, **{"rank/action": gain_B, "target": 2 * TARGET_B})
    found = compared(a, b, GAME_B, {}, DRAWS)
    assert found["log_likelihood/rank/action"].difference.value == pytest.approx(2 * gain_B.mean())
    assert {name.partition("/")[0] for name in found} == {"agreement", "log_likelihood"}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=40, test=60)


def test_the_command_shows_and_writes_the_differences_from_the_first_network(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (written(tmp_path / name, seed=seed) for seed, name in enumerate("ab"))
    rank = written(tmp_path / "rank", "rank")
    out = tmp_path / "out.json"
    arguments = [*map(str, ["--compare", a, b, rank, a, shards]), "--json", str(out), "--bootstrap", "50"]
    assert main(arguments) == 0
    first, second, third, again = json.loads(out.read_text())["weights"]
    assert "comparison" not in first
    assert {entry["comparison"]["reference"] for entry in (second, third, again)} == {str(a)}
    for name, found in second["comparison"]["differences"].items():
        group, _, metric = name.partition("/")
        sides = [entry[group][metric]["value"] for entry in (first, second)]
        assert [found["reference"], found["other"]] == pytest.approx(sides)
        assert found["difference"]["value"] == pytest.approx(sides[1] - sides[0])
        assert set(found["difference"]) == {"value", "low", "high", "decisions", "games"}
    assert {"agreement/top1", "questions/pon/accuracy"} <= second["comparison"]["differences"].keys()
    assert "agreement/top1" in third["comparison"]["differences"]
    assert "agreement/nll" not in third["comparison"]["differences"]
    whole = again["comparison"]["differences"]["agreement/nll"]
    assert [whole["difference"][name] for name in ("value", "low", "high")] == [0, 0, 0]
    assert not whole["excludes_zero"]
    _, _, text = capsys.readouterr().out.partition("Differences from A, on the same decisions")
    assert all(f"{letter} - A" in text for letter in "BCD")
    assert "few games" in text and max(map(len, text.splitlines())) <= 100
    is_clear = second["comparison"]["differences"]["agreement/nll"]["excludes_zero"]
    (line,) = [line for line in text.split("C - A")[0].splitlines() if line.startswith("NLL") and " all " in line]
    assert line.endswith("*") == is_clear


def test_differences_on_several_shards_are_shown_for_each(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (written(tmp_path / name, seed=seed) for seed, name in enumerate("ab"))
    others = packed(tmp_path / "others", train=40, test=60)
    assert main([*map(str, ["--compare", a, b, shards, others]), "--bootstrap", "50"]) == 0
    text = capsys.readouterr().out
    for folder in (shards, others):
        assert f"{folder}\n\nDifferences from A, on the same decisions" in text
