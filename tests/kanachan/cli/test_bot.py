"""kanachan-bot as a program at the arena's tables plays as the same network does in the arena's process."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.bot import main
from tests.support.paths import ROOT
from tests.support.tiny_weights import written

SETTINGS = ["--style", "east", "--seed", "2", "--grades", "9", "--room", "3", "--processes", "1"]


def games_in(folder: Path) -> list[list[str]]:
    """Returns the events of each game, without the header, which names the players."""
    paths = sorted(folder.glob("*.jsonl.gz"), key=lambda path: path.name.split("-", 2)[2])
    return [gzip.decompress(path.read_bytes()).decode().splitlines()[1:] for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize(
    "vocabulary, modifier, games",
    [(FOUR_PLAYERS, "", 100), (FOUR_PLAYERS, "!adapt=2", 4), (THREE_PLAYERS, "", 60), (THREE_PLAYERS, "!int8", 6)],
)
def test_games_over_pipes_are_the_games_of_the_network_itself(
    vocabulary: Vocabulary, modifier: str, games: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = pytest.importorskip("kanachan.cli.arena")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    weights = f"{written(tmp_path / 'weights', vocabulary=vocabulary)}{modifier}"
    players = ["--players", str(vocabulary.num_seats)]
    program = tmp_path / "bot.py"
    program.write_text("import sys\nfrom kanachan.cli.bot import main\nsys.exit(main(sys.argv[1:]))\n")
    table = "--rules tenhou --style east --room 3 --grades 9"
    bot = f"mjai:{sys.executable} {program} {weights} {{seat}} {table}"
    for player, folder in ((bot, "bot"), (weights, "network")):
        done = ["--records", str(tmp_path / folder), "--json", str(tmp_path / f"{folder}.json")]
        assert arena.main([player, "rule", "-n", str(games), *players, *SETTINGS, *done]) == 0
    assert len(games_in(tmp_path / "bot")) == games
    assert games_in(tmp_path / "bot") == games_in(tmp_path / "network")
    assert json.loads((tmp_path / "bot.json").read_text())["illegal_actions"] == 0


@pytest.mark.parametrize(
    "weights, options, message",
    [
        ("reference!adapt=0", [], "a number of roll-outs, at least 2, expected behind !adapt="),
        ("reference!int8!adapt=8", [], "int8 matrices cannot be adapted"),
        ("reference/rank!adapt=8", [], "only weights of imitation"),
        (
            "reference/rank!adapt=8",
            ["--prior", "reference", "--temperature", "10"],
            "!adapt is for weights that play alone",
        ),
    ],
)
def test_weights_that_cannot_be_adapted_are_refused(
    weights: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([weights, "0", *options]) == 1
    assert message in capsys.readouterr().err


def test_grades_for_another_number_of_seats_than_the_weights_have_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotate.game.settings.NUMS_OF_SEATS", (3, 4))
    assert main([str(written(tmp_path)), "0", "--grades", "1,2,3"]) == 1
    assert "--grades 1,2,3: one grade, or 4 for 4 seats" in capsys.readouterr().err
