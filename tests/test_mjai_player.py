"""External programs at the table: what they are told, how they end, and how their answers are told apart."""

import json
import sys
from pathlib import Path

import pytest
from mjai_table import hidden_from
from test_arena import arena, journal
from test_player_contract import mjai

from annotate.simulate import simulate_game
from kanachan.mjai_player import Program, _Seated

QUIET = f"mjai:{sys.executable} {Path(__file__).parent / 'mjai_quiet.py'}"
LISTENS = "import sys; open(sys.argv[1], 'w').writelines(sys.stdin)"


def test_a_game_is_kept_though_a_program_complains_of_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records"
    assert arena(tmp_path, "--together", "1", "--records", str(records), players=("rule", mjai("complains"))) == 1
    said = capsys.readouterr()
    assert "answers with an error" in said.err and "no more" in said.err
    assert "1 of 4 games on 1 walls" in said.out
    assert len(journal(tmp_path)) == 2 and len(list(records.iterdir())) == 1


def test_of_rounds_in_which_it_was_not_asked_a_program_is_told_no_hand_but_its_own(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    events = simulate_game(5, 0, style=0, annotated=False).events
    program = Program([sys.executable, "-c", LISTENS, str(heard)], 3)
    seated = _Seated(program)
    seated._new([dict(event) for event in events[:3]])
    seated.end(events)
    program.close()
    told = [json.loads(line) for line in heard.read_text().splitlines()]
    wanted = [{name: event[name] for name in event if name != "kanachan"} for event in events[3:]]
    assert told == [hidden_from(3, event) for event in wanted]
    assert sum(event["type"] == "start_kyoku" for event in told) > 2


@pytest.mark.parametrize("program", [mjai("leaves"), f"{QUIET} leaves"], ids=["answers all", "quiet"])
def test_a_program_that_ends_with_its_game_is_started_again_for_the_next(program: str, tmp_path: Path) -> None:
    assert arena(tmp_path, "--together", "1", players=("rule", program)) == 0
    assert len(journal(tmp_path)) == 5
