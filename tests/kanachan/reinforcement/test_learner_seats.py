"""Which seats in self-play belonged to a network."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kanachan.cli.selfplay import main
from kanachan.data.shards import Shards, open_shards
from kanachan.models.card import weights_hash
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.learner_seats import LearnerSeats
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two games of two networks, one of which also plays its best actions in other seats, and of rule-based players."""
    folder = tmp_path_factory.mktemp("games")
    ours, other = (str(written(folder / name, seed=seed, layers=1)) for seed, name in enumerate(("ours", "other")))
    players = [f"{ours}@2=0.3", f"{other}@3=0.3", f"{ours}=0.2", "rule=0.2"]
    options = ["--style", "east", "--fractions", "0,0,1", "-j", "1", "--seed", "2"]
    assert main([*players, "-n", "2", "-o", str(folder / "shards"), *options]) == 0
    return folder


@pytest.fixture
def shards(folder: Path) -> Shards:
    return open_shards(folder / "shards", "test", behaviour=True)


def test_the_decisions_of_a_network_are_the_ones_drawn_in_its_seats(
    folder: Path, shards: Shards, tmp_path: Path
) -> None:
    moved = shutil.copytree(folder / "ours", tmp_path / "moved")
    columns = shards.gather(np.arange(len(shards)))
    assert columns.log_probability is not None
    seats = [LearnerSeats(shards, str(path)) for path in (moved, folder / "other")]
    ours_B, others_B = (each.are_of(columns) for each in seats)

    assert [each.behaviour for each in seats] == [Behaviour(2.0), Behaviour(3.0)]
    assert not (ours_B & others_B).any() and ours_B.any() and others_B.any()
    is_drawn_B = ~np.isnan(columns.log_probability) & (columns.log_probability != 0)
    np.testing.assert_array_equal(ours_B | others_B, is_drawn_B)


@pytest.mark.parametrize(
    ("players", "words"),
    [
        (("other@3", "rule"), "and is none of the players of"),
        (("ours", "ours:int8"), "drew no actions from its scores in the games"),
        (("ours@1", "ours@2"), "played at several temperatures"),
    ],
)
def test_games_that_are_of_no_use_for_the_network_are_refused(
    players: tuple[str, ...], words: str, folder: Path, shards: Shards
) -> None:
    hash_of = {name: (weights_hash(folder / name),) for name in ("ours", "other")}
    weights = [hash_of.get(player.partition("@")[0].partition("!")[0], ()) for player in players]
    shards.made["self_play"] |= {"players": list(players), "weights": weights}
    with pytest.raises(ValueError, match=words) as error:
        LearnerSeats(shards, str(folder / "ours"))
    assert all(player in str(error.value) for player in players)


def test_games_that_do_not_follow_from_their_settings_are_refused(folder: Path, shards: Shards) -> None:
    shards.made["self_play"]["seed"] = 3
    with pytest.raises(ValueError, match="holds games that do not follow from its settings: another version"):
        LearnerSeats(shards, str(folder / "ours")).are_of(shards.gather(np.arange(5)))
