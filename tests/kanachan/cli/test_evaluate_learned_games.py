"""Games that the networks have learned from are counted, and left out on request."""

import json
from pathlib import Path

import numpy as np
import pytest

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.evaluate import main as evaluate
from kanachan.cli.pack import main as pack
from kanachan.cli.predict import main as predict
from kanachan.cli.review import main as review
from kanachan.data.columns import columns_of_annotations
from kanachan.data.shards import open_shards
from kanachan.models.learned_games import GAMES_KEY, LearnedGames, truncated
from kanachan.models.weights import read_weights, write_weights
from tests.support.packed import write_lines
from tests.support.random_annotations import random_annotations
from tests.support.review_runs import SEAT, Reviewed
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(12, seed=3)
GAME_X = np.unique(columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS).game)


def having_learned(folder: Path, game_X: np.ndarray, *, is_complete: bool = True) -> str:
    """Returns the path of weights that have learned from these games."""
    weights = read_weights(written(folder))
    entry = LearnedGames(np.unique(truncated(game_X)), is_complete).encode()
    write_weights(weights.path, weights.tensors, {**weights.card, GAMES_KEY: entry})
    return str(weights.path)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return Path(write_lines(tmp_path / "lines.txt", ANNOTATIONS))


def test_learned_games_in_shards_are_counted_and_can_be_left_out(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split = open_shards(shards, "validation")
    game_X = np.unique(split.games(np.arange(len(split))))
    first = having_learned(tmp_path / "a", game_X[:2])
    second = having_learned(tmp_path / "b", game_X[1:3], is_complete=False)
    given = [first, second, str(shards), "--split", "validation", "--bootstrap", "10"]
    assert evaluate([*given, "--json", str(tmp_path / "all.json")]) == 0
    words = f"recorded games that it has learned from: A 2, B 2 of {len(game_X)}"
    assert f"{words}; maybe more: not all are known (B)\n" in capsys.readouterr().out
    assert evaluate([*given, "--json", str(tmp_path / "unseen.json"), "--unseen"]) == 0
    assert f"{words}, left out; maybe more: not all are known (B)\n" in capsys.readouterr().out
    found = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("all", "unseen")}
    assert found["all"]["games"] == len(game_X) and found["unseen"]["games"] == len(game_X) - 3
    assert found["unseen"]["learned_games"] == {first: 2, second: 2}


def test_learned_games_in_lines_can_be_left_out_too(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = having_learned(tmp_path / "weights", GAME_X[:1])
    report = tmp_path / "report.json"
    assert evaluate([weights, str(lines), "--bootstrap", "10", "--unseen", "--json", str(report)]) == 0
    kept = [a for a in ANNOTATIONS if columns_of_annotations([a], FOUR_PLAYERS).game[0] != GAME_X[0]]
    assert 0 < len(kept) == json.loads(report.read_text())["decisions"] < len(ANNOTATIONS)
    assert predict([weights, str(lines)]) == 0
    output = capsys.readouterr()
    assert f"recorded games that it has learned from: 1 of {len(GAME_X)}\n" in output.err
    assert predict([weights, str(lines), "--unseen"]) == 0
    output = capsys.readouterr()
    assert [line.rpartition("\t")[0] for line in output.out.splitlines()] == [format_line(a) for a in kept]
    assert f"recorded games that it has learned from: 1 of {len(GAME_X)}, left out\n" in output.err


@pytest.mark.parametrize("kind", ["lines", "shards"])
def test_a_limit_counts_only_what_is_measured(kind: str, lines: Path, tmp_path: Path) -> None:
    weights, report = having_learned(tmp_path / "weights", GAME_X[:1]), tmp_path / "report.json"
    folder = tmp_path / "packed"
    assert pack([str(lines), "-o", str(folder), "--fractions", "0,0,1"]) == 0
    given = [weights, str(lines if kind == "lines" else folder), "--bootstrap", "10", "--json", str(report), "--force"]
    assert evaluate([*given, "--limit", "1"]) == 0
    assert json.loads(report.read_text())["games"] == 1
    assert evaluate([*given, "--limit", "2", "--unseen"]) == 0
    assert json.loads(report.read_text())["decisions"] == 2


def test_lines_made_from_shards_keep_the_keys_of_their_games(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = having_learned(tmp_path / "weights", GAME_X[:2])
    assert pack([str(lines), "-o", str(tmp_path / "packed"), "--fractions", "0,0,1"]) == 0
    assert "split is empty" not in capsys.readouterr().err  # as was asked for
    assert pack(["--unpack", str(tmp_path / "packed"), "-o", str(tmp_path / "again.txt")]) == 0
    assert evaluate([weights, str(tmp_path / "again.txt"), "--bootstrap", "10"]) == 0
    assert f"recorded games that it has learned from: 2 of {len(GAME_X)}\n" in capsys.readouterr().out


def test_it_is_an_error_if_no_game_is_left(
    lines: Path, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split = open_shards(shards, "validation")
    of_shards = split.games(np.arange(len(split)))
    weights = having_learned(tmp_path / "weights", np.concatenate([GAME_X, of_shards]))
    for path, split_of in ((lines, []), (shards, ["--split", "validation"])):
        assert evaluate([weights, str(path), *split_of, "--unseen"]) == 1
        assert f"{path}: all games" in capsys.readouterr().err


def test_several_shards_are_measured_side_by_side(
    lines: Path, shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = [str(written(tmp_path / stage, stage)) for stage in ("imitation", "rank")]
    split = ["--split", "validation"]
    for number, (folders, of) in enumerate((([lines], []), ([shards], split), ([lines, shards], split))):
        given = [*of, "--bootstrap", "10", "--json", str(tmp_path / f"{number}.json")]
        assert evaluate([*weights, *map(str, folders), *given]) == 0
    alone, both = [json.loads((tmp_path / f"{i}.json").read_text()) for i in range(2)], tmp_path / "2.json"
    assert json.loads(both.read_text())["evaluations"] == alone
    shown = capsys.readouterr().out
    for folder in (lines, shards):
        for letter in "AB":
            assert f"\n{folder} {letter} " in shown


def test_a_review_says_which_networks_have_learned_from_its_game(
    reviewed: Reviewed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game_X = columns_of_annotations(reviewed.annotations, FOUR_PLAYERS).game
    weights = [having_learned(tmp_path / "a", game_X), having_learned(tmp_path / "b", GAME_X)]
    page = ["--seat", str(SEAT), "-o", str(tmp_path / "page.html")]
    assert review([str(reviewed.record), *weights, *page]) == 0
    error = capsys.readouterr().err
    assert "kanachan-review: a has learned from this game" in error and "b has learned" not in error
