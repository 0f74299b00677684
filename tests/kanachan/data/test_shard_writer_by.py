"""Shards of the decisions of some players, with the rounds of their whole games."""

from pathlib import Path

import numpy as np
import pytest

from kanachan.cli.annotate import main
from kanachan.cli.pack import main as pack
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards, open_shards
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import simulated

OPTIONS = ["-j", "1", "--fractions", "1,0,0"]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("records")
    for seed in (1, 2):
        made = of_tenhou(simulated(seed, style=0, rules="tenhou"))
        (folder / f"{seed}.mjlog").write_bytes(WRITERS["mjlog"](made))
    return str(folder)


def rows(shards: Shards) -> list[tuple[object, ...]]:
    columns = shards.gather(np.arange(len(shards)))
    return sorted(zip(columns.game.tolist(), columns.results.tolist(), columns.seat.tolist(), strict=True))


def test_shards_by_a_player_hold_only_the_decisions_of_that_player_but_all_rounds(records: str, tmp_path: Path) -> None:
    assert main([records, "--pack", str(tmp_path / "all"), *OPTIONS]) == 0
    assert main([records, "--pack", str(tmp_path / "some"), "--by", "誰1", *OPTIONS]) == 0

    everything, some = (open_shards(tmp_path / name, "train") for name in ("all", "some"))
    assert rows(some) == [row for row in rows(everything) if row[2] == 1]
    assert some.made["by"] == ["誰1"] and "by" not in everything.made
    assert "players named 誰1" in (tmp_path / "some" / "README.md").read_text()
    assert pack([str(tmp_path / "some"), "--keep-splits", "-o", str(tmp_path / "again")]) == 0
    assert open_shards(tmp_path / "again", "train").made["by"] == ["誰1"]
    assert pack(["--train", str(tmp_path / "some"), "--test", str(tmp_path / "all"), "-o", str(tmp_path / "both")]) == 1
    rounds_of_all, rounds_of_some = (open_rounds(tmp_path / name, "train") for name in ("all", "some"))
    for name in type(rounds_of_all).__slots__:
        assert (getattr(rounds_of_some, name) == getattr(rounds_of_all, name)).all(), name
