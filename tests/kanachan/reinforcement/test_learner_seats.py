"""Which seats in self-play belonged to a network."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kanachan.cli.pack import main as pack
from kanachan.cli.selfplay import main
from kanachan.data.shard_folder import SELF_PLAY
from kanachan.data.shards import Shards, open_shards
from kanachan.models.card import weights_hash
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.learner_seats import LearnerSeats
from tests.support.tiny_weights import written


def play(folder: Path, name: str, *, seed: int) -> None:
    ours, other = folder / "ours", folder / "other"
    players = [f"{ours}@2=0.3", f"{other}@3=0.3", f"{ours}=0.2", "rule=0.2"]
    options = ["--style", "east", "--fractions", "0,0,1", "-j", "1"]
    assert main([*players, "-n", "1", "--seed", str(seed), "-o", str(folder / name), *options]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of two networks, one of which also plays its best actions in other seats, and of rule-based players."""
    folder = tmp_path_factory.mktemp("games")
    for seed, name in enumerate(("ours", "other")):
        written(folder / name, seed=seed, layers=1)
    play(folder, "shards", seed=2)
    return folder


@pytest.fixture(scope="module")
def merged(folder: Path) -> Path:
    """The games of the fixture `folder` and another of the same players, in one folder of shards."""
    play(folder, "more", seed=3)
    sources = [str(folder / "shards"), str(folder / "more")]
    assert pack([*sources, "--keep-splits", "-o", str(folder / "merged")]) == 0
    return folder / "merged"


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
    weights = [hash_of.get(player.partition("@")[0], ()) for player in players]
    shards.made[SELF_PLAY][0] |= {"players": list(players), "weights": weights}
    with pytest.raises(ValueError, match=words) as error:
        LearnerSeats(shards, str(folder / "ours"))
    assert all(player in str(error.value) for player in players)


def test_games_that_do_not_follow_from_their_settings_are_refused(folder: Path, shards: Shards) -> None:
    shards.made[SELF_PLAY][0]["seed"] = 3
    with pytest.raises(ValueError, match="holds games that do not follow from its settings: another version"):
        LearnerSeats(shards, str(folder / "ours")).are_of(shards.gather(np.arange(5)))


def test_runs_with_several_seeds_are_merged_with_the_seats_of_each(folder: Path, merged: Path) -> None:
    counted = {}
    for path in (folder / "shards", folder / "more", merged):
        opened = open_shards(path, "test", behaviour=True)
        is_own_B = LearnerSeats(opened, str(folder / "ours")).are_of(opened.gather(np.arange(len(opened))))
        counted[path.name] = (len(opened), is_own_B.sum())
    assert 0 < counted["more"][1] < counted["more"][0]
    assert counted["merged"] == tuple(map(sum, zip(counted["shards"], counted["more"], strict=True)))


def test_merged_runs_that_differ_not_only_in_the_seed_are_refused(folder: Path, merged: Path) -> None:
    shards = open_shards(merged, "test", behaviour=True)
    shards.made[SELF_PLAY][1]["style"] = 1
    with pytest.raises(ValueError, match="merged: .* differ not only in the seed: style: 0 and 1"):
        LearnerSeats(shards, str(folder / "ours"))


def test_games_that_were_split_again_are_refused(folder: Path, tmp_path: Path) -> None:
    assert pack([str(folder / "shards"), "--fractions", "0,0,1", "-o", str(tmp_path)]) == 0
    with pytest.raises(ValueError, match="kanachan-pack has made from other shards without --keep-splits"):
        LearnerSeats(open_shards(tmp_path, "test", behaviour=True), str(folder / "ours"))
