"""Folders of shards that hold only rounds, of games made up at random, and reward predictors trained on them."""

from pathlib import Path

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.data.round_shards import write_rounds
from tests.support.random_rounds import random_rounds


def round_folder(folder: Path, **games: int) -> Path:
    """Writes rounds of so many games in each split."""
    for seed, (split, count) in enumerate(games.items()):
        (folder / "rounds").mkdir(parents=True, exist_ok=True)
        made = {"games": games, "decisions": dict.fromkeys(games, 0)}
        write_rounds(folder, split, 0, 1, random_rounds(count, seed), FOUR_PLAYERS, made)
    return folder


def train_reward(shards: Path, out: Path, *more: str) -> int:
    """Trains a tiny reward predictor for 20 steps; returns the exit status."""
    data = ["--data.path", str(shards), "--data.batch", "8", "--data.micro_batch", "4"]
    run = ["-o", str(out), "--run.wandb", "disabled", "--run.threads", "1"]
    length = ["--run.steps", "20", "--run.validation_interval", "40", "--run.checkpoint_minutes", "0"]
    length += ["--run.log_every", "1"]
    return train.main(["--stage", "reward", *data, *run, *length, "--reward.width", "8", *more])
