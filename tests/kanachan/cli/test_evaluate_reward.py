"""kanachan-evaluate measures reward predictors, and uses one as the baseline of scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.evaluate import main
from kanachan.data.loader import held_out_columns
from kanachan.data.round_shards import open_rounds
from kanachan.evaluation.baselines import actor_orders
from kanachan.inference.reward_predictor import RewardPredictor
from tests.support.packed import packed
from tests.support.round_folders import round_folder, train_reward
from tests.support.tiny_weights import written

DRAWS = ["--bootstrap", "20"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return round_folder(tmp_path_factory.mktemp("data") / "shards", train=60, validation=12, test=12)


@pytest.fixture(scope="module")
def predictors(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    for name, width in (("first", "64"), ("second", "32")):
        assert train_reward(shards, folder / name, "--reward.width", width) == 0
    return {name: str(folder / name) for name in ("first", "second")}


def evaluated(arguments: list[str], out: Path) -> dict[str, Any]:
    assert main([*arguments, "--json", str(out), *DRAWS]) == 0
    content: dict[str, Any] = json.loads(out.read_text())
    return content


def test_two_predictors_are_measured_on_rounds_and_compared(
    predictors: dict[str, str], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = evaluated([*predictors.values(), str(shards)], tmp_path / "all.json")
    assert (content["games"], content["rounds"]) == (12, len(open_rounds(shards, "test")))
    first, second = content["weights"]
    groups = first["log_likelihood"]
    assert groups["all rounds"]["decisions"] == content["rounds"]
    by_round = [g["decisions"] for name, g in groups.items() if name.startswith(("East ", "South ", "West"))]
    assert sum(by_round) == content["rounds"]
    for name, gain in second["less_first"].items():
        difference = second["log_likelihood"][name]["value"] - groups[name]["value"]
        assert gain["value"] == pytest.approx(difference, abs=1e-9)
    assert not first["less_first"]
    printed = capsys.readouterr().out
    assert "gain of the log-likelihood" in printed and "B - A" in printed and "skill %" in printed


def test_the_games_that_a_predictor_has_learned_from_are_counted(
    predictors: dict[str, str], shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = predictors["first"]
    for split, number in (("train", 60), ("test", 0)):
        content = evaluated([path, str(shards), "--split", split], tmp_path / f"{split}.json")
        assert content["learned_games"] == {path: number}
        assert f"learned from: {number} of {content['games']}\n" in capsys.readouterr().out


def test_the_likelihood_is_measured_on_the_final_order_of_the_players(
    predictors: dict[str, str], shards: Path, tmp_path: Path
) -> None:
    content = evaluated([predictors["second"], str(shards)], tmp_path / "one.json")
    rounds = open_rounds(shards, "test")
    predictor = RewardPredictor.load(predictors["second"])
    log_NO = predictor.of_rounds(rounds).order_log_probability[:, 2].numpy()  # with seats counted from seat 2
    orders = predictor.network.orders.rank_OS.tolist()
    found = [log_NO[i, orders.index(np.roll(rank, -2).tolist())] for i, rank in enumerate(rounds.rank)]
    (entry,) = content["weights"]
    assert entry["log_likelihood"]["all rounds"]["value"] == pytest.approx(np.mean(found), abs=1e-5)


def test_a_predictor_is_the_baseline_of_ranks_and_grading_points(predictors: dict[str, str], tmp_path: Path) -> None:
    decisions = packed(tmp_path / "shards", train=100, test=60)
    networks = [str(written(tmp_path / stage, stage)) for stage in ("rank", "grading")]
    command = [*networks, str(decisions), "--baseline", predictors["first"]]
    content = evaluated(command, tmp_path / "all.json")
    assert content["baseline"] == predictors["first"]
    columns = held_out_columns(decisions, "test", FOUR_PLAYERS)
    outcome = RewardPredictor.load(predictors["first"]).of_observations(columns)
    log_BO, place_B = outcome.order_log_probability.numpy(), actor_orders(columns, FOUR_PLAYERS)
    rank, grading = content["weights"]
    expected = log_BO[np.arange(len(columns)), place_B].mean()
    assert rank["log_likelihood"]["order"]["scores"]["value"] == pytest.approx(expected, abs=1e-5)
    points_B = outcome.grading_points.numpy()
    target_B = columns.results[:, FOUR_PLAYERS.results.index("grading_delta")]
    error = grading["values"]["scores"]["mean_absolute_error"]["value"]
    assert error == pytest.approx(np.abs(points_B - target_B).mean(), rel=1e-5)
