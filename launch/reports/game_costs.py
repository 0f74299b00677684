"""What many games cost to play or to annotate, to store and to learn from: the last tables of docs/scaling.md.

    .venv/bin/python launch/reports/game_costs.py SHARDS --games 1500000 --cores 64 --speed 1400

A game has as many rounds, decisions and bytes as those of SHARDS have on average: games of kanachan-selfplay or of
kanachan-pack, of three or four players. GB are 10^9 bytes.
"""

import argparse
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from scaling import SHARE, batches_of, gpu_hours

from annotate.runtime.terminal import require_positive, run_cleanly
from kanachan.config import MODEL_SIZES
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from kanachan.training.throughput import training_flops

_MICRO_BATCH, _NUM_BATCHES = 64, 40
_SIZES = ("small", "base", "large")


@dataclass(frozen=True)
class Games:
    """A folder of games: what an average one has."""

    rounds: float
    decisions: float
    size: float
    """bytes"""

    @classmethod
    def of(cls, shards: Path) -> "Games":
        """Measures a folder.

        Raises:
            ValueError: it holds no shards, or no rounds; names it.
        """
        splits = splits_in(shards)
        decisions = sum(len(open_shards(shards, split)) for split in splits)
        rounds = [open_rounds(shards, split) for split in splits]
        games = sum(len(np.unique(each.game)) for each in rounds)
        if not games:
            raise ValueError(f"{shards}: no games")
        size = sum(file.stat().st_size for file in shards.rglob("*.arrow"))
        return cls(sum(len(each) for each in rounds) / games, decisions / games, size / games)


def report(shards: Path, games: float, cores: int, speed: float) -> str:
    """Formats the costs of so many games like those of `shards`, played or annotated at `speed` decisions a second of a
    core."""
    each = Games.of(shards)
    decisions, size = games * each.decisions, games * each.size
    hours = decisions / speed / cores / 3600
    batches = list(islice(batches_of(shards, _MICRO_BATCH), _NUM_BATCHES))
    lines = [
        f"a game: {each.rounds:.1f} rounds, {each.decisions:,.0f} decisions, {each.size / 1000:,.0f} kB",
        f"{games:,.0f} games: {games * each.rounds:,.3g} rounds, {decisions:,.3g} decisions",
        f"made at {speed:,.0f} decisions/s of a core: {hours * cores:,.2f} core-hours, {hours:,.2f} h on {cores} cores",
        f"stored: {size / 1e9:,.0f} GB; written by {cores} cores: {size / hours / 3600e6:,.1f} MB/s",
    ]
    for name in _SIZES:
        flops = training_flops(MODEL_SIZES[name], batches)
        lines.append(
            f"one pass of training, {name}: {flops / 1e9:,.3g} GFLOP a decision, {gpu_hours(flops, decisions):,.1f} "
            f"GPU-hours at {SHARE:.0%} of the peak"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/game_costs.py",
        description="Computes what many games cost to play or annotate, to store and to learn from.",
    )
    parser.add_argument("shards", type=Path, metavar="SHARDS", help="folder of shards with games of the kind")
    parser.add_argument("--games", type=float, default=1.5e6, help="number of games (default: %(default)g)")
    parser.add_argument("--cores", type=int, default=64, help="cores that work at once (default: %(default)s)")
    parser.add_argument(
        "--speed",
        type=float,
        required=True,
        help="decisions a second of a core, by launch/benchmark.sh selfplay or annotate",
    )
    arguments = parser.parse_args()
    require_positive(parser, arguments, "games", "cores", "speed")
    return run_cleanly(parser.prog, lambda: print(report(**vars(arguments))))


if __name__ == "__main__":
    raise SystemExit(main())
