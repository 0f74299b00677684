"""kanachan-bot as a program at the arena's tables plays as the same network does in the arena's process."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from kanachan.cli.bot import main
from tests.support.paths import ROOT
from tests.support.tiny_weights import written

GAMES = 100
SETTINGS = ["-n", str(GAMES), "--style", "east", "--seed", "2", "--grades", "9", "--room", "3", "--processes", "1"]


def games_in(folder: Path) -> list[list[str]]:
    """Returns the events of each game, without the header, which names the players."""
    paths = sorted(folder.glob("*.jsonl.gz"), key=lambda path: path.name.split("-", 2)[2])
    return [gzip.decompress(path.read_bytes()).decode().splitlines()[1:] for path in paths]


@pytest.mark.slow
def test_a_hundred_games_over_pipes_are_the_games_of_the_network_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = pytest.importorskip("kanachan.cli.arena")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    weights = written(tmp_path / "weights")
    program = tmp_path / "bot.py"
    program.write_text("import sys\nfrom kanachan.cli.bot import main\nsys.exit(main(sys.argv[1:]))\n")
    table = "--rules mjsoul --style east --room 3 --grades 9"
    bot = f"mjai:{sys.executable} {program} {weights} {{seat}} {table}"
    for player, folder in ((bot, "bot"), (str(weights), "network")):
        done = ["--records", str(tmp_path / folder), "--json", str(tmp_path / f"{folder}.json")]
        assert arena.main([player, "rule", *SETTINGS, *done]) == 0
    assert len(games_in(tmp_path / "bot")) == GAMES
    assert games_in(tmp_path / "bot") == games_in(tmp_path / "network")
    assert json.loads((tmp_path / "bot.json").read_text())["illegal_actions"] == 0


def test_grades_for_another_number_of_seats_than_the_weights_have_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotate.game.settings.NUMS_OF_SEATS", (3, 4))
    assert main([str(written(tmp_path)), "0", "--grades", "1,2,3"]) == 1
    assert "--grades 1,2,3: one grade, or 4 for 4 seats" in capsys.readouterr().err
