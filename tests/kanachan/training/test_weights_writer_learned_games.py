"""The games that a network has learned from, in the card of its weights."""

from pathlib import Path

import numpy as np

from kanachan.cli import train
from kanachan.data.shards import open_shards
from kanachan.models.learned_games import GAMES_KEY, LearnedGames, truncated
from kanachan.models.weights import CARD_NAME, read_weights, write_weights
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_runs import run
from tests.support.tiny_weights import written

OF_INIT, OF_TEACHER = [1, 2, 2**32 - 1], [2, 77]


def learned(path: Path) -> LearnedGames:
    return read_weights(path).learned_games


def train_games(shards: Path) -> list[int]:
    split = open_shards(shards, "train")
    return truncated(split.games(np.arange(len(split)))).tolist()


def of_games(path: Path, keys: list[int]) -> Path:
    """Weights that say that they have learned from these games."""
    weights = read_weights(path)
    entry = LearnedGames(np.array(keys, np.uint64), is_complete=True).encode()
    write_weights(path, weights.tensors, {**weights.card, GAMES_KEY: entry})
    return path


def test_a_run_from_scratch_has_learned_from_the_games_of_its_train_split(shards: Path, tmp_path: Path) -> None:
    run("imitation", shards, tmp_path / "run", "--run.steps", "1")
    games = learned(tmp_path / "run")
    assert games.is_complete and games.key_G.tolist() == sorted({*train_games(shards)})
    assert GAMES_KEY in (tmp_path / "run" / CARD_NAME).read_text()
    assert games.encode()["keys"] not in (tmp_path / "run" / CARD_NAME).read_text()


def test_the_games_of_initial_weights_and_of_a_teacher_count_in_a_resumed_run_too(shards: Path, tmp_path: Path) -> None:
    init = of_games(written(tmp_path / "init"), OF_INIT)
    teacher = of_games(written(tmp_path / "teacher"), OF_TEACHER)
    out = tmp_path / "run"
    run("imitation", shards, out, "--init", str(init), "--objective.teacher", str(teacher), "--run.steps", "1")
    init.unlink()
    assert train.main(["--resume", str(out), "--run.steps", "2"]) == 0
    games = learned(out)
    assert games.is_complete
    assert games.key_G.tolist() == sorted({*train_games(shards), *OF_INIT, *OF_TEACHER})


def test_the_games_of_the_predictor_of_labels_count(rule_games: Path, tmp_path: Path) -> None:
    reward = of_games(written_reward(tmp_path / "reward.safetensors"), OF_INIT)
    given = ("--objective.target", "round", "--objective.reward", str(reward), "--objective.prior", "null")
    assert run("rank", rule_games, tmp_path / "run", *given, "--run.steps", "1") == 0
    games = learned(tmp_path / "run")
    assert games.is_complete and games.key_G.tolist() == OF_INIT  # the games of the run itself come from no record


def test_the_games_are_incomplete_if_earlier_weights_list_none(shards: Path, tmp_path: Path) -> None:
    init = written(tmp_path / "init")
    run("round_delta", shards, tmp_path / "run", "--init", str(init), "--run.steps", "1")
    games = learned(tmp_path / "run")
    assert not games.is_complete and games.key_G.tolist() == sorted({*train_games(shards)})
    run("grading", shards, tmp_path / "next", "--init", str(tmp_path / "run"), "--run.steps", "1")
    assert not learned(tmp_path / "next").is_complete
