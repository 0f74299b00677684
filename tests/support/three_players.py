"""Decisions of three players, also in shards, from games that rule-based players have played."""

from pathlib import Path

from annotate.annotation import Annotation
from annotate.simulation.simulate import simulate_game
from kanachan.cli import annotate
from tests.support.rounds import V3
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import simulated


def decisions_of_three(count: int, seed: int = 3) -> list[Annotation]:
    """The first decisions of a game that rule-based players have played."""
    return list(simulate_game(V3, seed=seed).annotations[:count])


def write_records(folder: Path, games: int = 8) -> Path:
    """Writes so many games of three players as records of Tenhou."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(games):
        made = of_tenhou(simulated(seed, rules="tenhou", vocabulary=V3))
        (folder / f"2021070100gm-00b1-0000-{seed:08x}.mjlog").write_bytes(WRITERS["mjlog"](made))
    return folder


def packed_three(folder: Path, games: int = 8, fractions: str = "0.5,0.25,0.25") -> Path:
    """Annotates such games into shards, with hidden hands and rounds."""
    records = write_records(folder.parent / f"{folder.name}-records", games)
    options = ("-j", "1", "--hidden", "--fractions", fractions)
    assert annotate.main([str(records), "--pack", str(folder), *options]) == 0
    return folder
