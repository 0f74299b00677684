"""Folders of shards of self-play, and policies trained on them."""

from pathlib import Path

from kanachan.cli import train
from kanachan.cli.selfplay import main as selfplay

COMMAND = """
import sys
from kanachan.data.shard_writer import ShardOutput
from kanachan.cli.selfplay import main
ShardOutput.seconds_between_saves = 0.0
sys.exit(main(sys.argv[1:]))
"""
"""kanachan-selfplay, saving after every game"""


def num_saves(folder: Path) -> int:
    """How often a run into a folder has saved."""
    journal = folder / ".kanachan-selfplay.part" / "journal"
    return journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0


def played_folder(folder: Path, *players: str, games: int = 4, fractions: str = "0.5,0.5,0") -> Path:
    """Plays short games into shards: with rule-based players if no players are given."""
    options = ("-n", str(games), "-o", str(folder), "-j", "1", "--style", "east", "--fractions", fractions)
    assert selfplay([*(players or ("rule",)), *options]) == 0
    return folder


def train_policy(shards: Path, weights: Path, reward: Path, out: Path, *more: str) -> int:
    """Trains the policy of these weights for 8 steps; returns the exit status."""
    data = ["--data.path", str(shards), "--data.batch", "32", "--data.micro_batch", "16"]
    run = ["-o", str(out), "--run.wandb", "disabled", "--run.threads", "1", "--run.precision", "fp32"]
    length = ["--run.steps", "8", "--run.validation_interval", "128", "--run.checkpoint_minutes", "0"]
    length += ["--run.log_every", "1", "--run.validate_batches", "2"]
    given = ["--stage", "policy", "--init", str(weights), "--policy.reward", str(reward)]
    return train.main([*given, *data, *run, *length, *more])
