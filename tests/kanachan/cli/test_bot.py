"""kanachan-bot as a program of its own: it plays the same games as its network does in the arena's process, answers
each line at once, and imports no slow modules."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from annotate.game.record import Event
from annotate.simulation.simulate import rounds_of, simulate_game
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli import arena
from kanachan.config import StageName
from tests.support.bots import stream
from tests.support.paths import ROOT
from tests.support.tiny_weights import written

SETTINGS = ["--style", "east", "--seed", "2", "--grades", "9", "--room", "3", "--processes", "1"]


@pytest.fixture(scope="module")
def rounds() -> list[list[Event]]:
    return rounds_of(simulate_game(FOUR_PLAYERS, 5, 0, style=0, annotated=False).events)


def games_in(folder: Path) -> list[list[str]]:
    """Returns the events of each game, without the header, which names the players."""
    paths = sorted(folder.glob("*.jsonl.gz"), key=lambda path: path.name.split("-", 2)[2])
    return [gzip.decompress(path.read_bytes()).decode().splitlines()[1:] for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize(
    "vocabulary, modifier, games",
    [(FOUR_PLAYERS, "", 100), (THREE_PLAYERS, "", 60), (THREE_PLAYERS, ":int8", 6)],
)
def test_the_bot_plays_the_same_games_over_pipes_as_its_network_in_the_arena(
    vocabulary: Vocabulary, modifier: str, games: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.slow
def test_each_line_is_answered_at_once_and_the_end_of_input_ends_the_program(
    weights: dict[StageName, Path], rounds: list[list[Event]]
) -> None:
    program = "import sys; from kanachan.cli.bot import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, str(weights["imitation"]), "2", "--rules", "mjsoul"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None and process.stdout is not None
        for event in stream(2, rounds[:1]):
            process.stdin.write(json.dumps(event) + "\n")
            assert json.loads(process.stdout.readline())["type"] != "error"
        process.stdin.close()
        assert process.wait(60) == 0 and process.stdout.read() == ""


def test_the_bot_imports_no_slow_modules() -> None:
    code = "import sys, kanachan.play.mjai_bot; sys.exit(str({'torch._dynamo', 'sympy', 'lightning'} & {*sys.modules}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.strip() == "set()"
