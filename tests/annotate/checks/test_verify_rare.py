"""Lines of rounds with rare events: all pass, and missing lines are found."""

from pathlib import Path
from typing import Any

import pytest

from annotate.annotation import format_line
from annotate.checks.verify import Verification, verify
from annotate.game.record import Rules
from annotate.replay.replay import annotate_game
from tests.support.rounds import DULL
from tests.support.writers.majsoul_made import made_round
from tests.support.writers.majsoul_rare import ROUNDS, THREE_WINNERS

_OF_MJSOUL = ("a closed kan that", "three winners")
"""which cannot happen by Tenhou's rules"""


def lines_of(rules: Rules, *arguments: Any, has_hidden: bool = True, **more: Any) -> list[str]:
    made = made_round(*arguments, rules=rules, **more)
    report = annotate_game(made.game, writes_hidden=has_hidden)
    assert report.left_out == []
    return [f"{format_line(annotation)}\n" for annotation in report.annotations]


def verified(lines: list[str], folder: Path) -> Verification:
    path = folder / "lines.txt"
    path.write_text("".join(lines))
    return verify([str(path)], num_processes=1)


FIRST_ROUNDS = [name for name, (*_, more) in ROUNDS.items() if "start" not in more]
"""those that a game can begin with, without honba and deposits"""


@pytest.mark.parametrize(
    ("name", "rules"),
    [(name, "mjsoul") for name in FIRST_ROUNDS]
    + [(name, "tenhou") for name in FIRST_ROUNDS if not name.startswith(_OF_MJSOUL)],
)
def test_lines_of_rare_rounds_pass(name: str, rules: Rules, tmp_path: Path) -> None:
    script, hands, draws, more = ROUNDS[name]
    # the engine leaves the tiles of a closed kan that may be robbed in the hand until all have passed
    has_hidden = not name.startswith("a closed kan that")
    assert verified(lines_of(rules, script, hands, draws, has_hidden=has_hidden, **more), tmp_path).shown == []


def test_three_winners_that_abort_the_round_pass(tmp_path: Path) -> None:
    lines = lines_of("tenhou", "0 discard 3p; 1 ron; 2 ron; 3 ron", THREE_WINNERS)
    assert verified(lines, tmp_path).shown == []


@pytest.mark.parametrize("answer", ["0 skip", "0 skip; 2 chi 56s"])
def test_a_player_in_riichi_who_lets_a_winning_tile_pass_must_have_a_line(answer: str, tmp_path: Path) -> None:
    hands = ["123m456p789s23s11z", DULL[1], "369m147p256s2345z"]
    lines = lines_of("mjsoul", f"0 riichi 8m; 1 discard 4s; {answer}", hands, "8m")
    place = next(i for i, line in enumerate(lines) if line.split("\t")[4] == "221,534")
    assert verified(lines, tmp_path).shown == []

    (found,) = verified(lines[:place] + lines[place + 1 :], tmp_path).shown
    assert found.kind == "missing line"
    assert "seat 0 has no line for ron from relative seat 0" in found.text
