"""External programs as players: the lines they receive, how they exit, and how their answers are distinguished."""

import json
import os
import resource
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from annotate.annotation import Observation
from annotate.game.engine.table import Table
from annotate.game.tiles import RED_IDS
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.play import mjai_agent
from kanachan.play.agent import ActRequest, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.mjai_agent import MjaiAgent, Program, _Seated
from tests.support.matches import arena, journal, mjai
from tests.support.mjai_table import hidden_from
from tests.support.paths import PROGRAMS
from tests.support.rounds import Script, start_of_round, wall_of_deal

QUIET = f"mjai:{sys.executable} {PROGRAMS / 'mjai_quiet.py'}"
LISTENS = "import sys; open(sys.argv[1], 'w').writelines(sys.stdin)"


def test_a_game_is_stored_although_a_program_answers_its_end_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records"
    assert arena(tmp_path, "--together", "1", "--records", str(records), players=("rule", mjai("complains"))) == 1
    printed = capsys.readouterr()
    assert "answers with an error" in printed.err and "no more" in printed.err
    assert "1 of 4 games on 1 walls" in printed.out
    assert len(journal(tmp_path)) == 2 and len(list(records.iterdir())) == 1


def test_a_program_receives_only_its_own_hand_in_rounds_without_a_request(tmp_path: Path) -> None:
    path = tmp_path / "received"
    events = simulate_game(V, 5, 0, style=0, annotated=False).events
    program = Program([sys.executable, "-c", LISTENS, str(path)], 3, 4)
    seated = _Seated(program)
    seated._new([dict(event) for event in events[:3]])
    seated.end(events)
    program.close()
    received = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = [{name: event[name] for name in event if name != "kanachan"} for event in events[3:]]
    assert received == [hidden_from(3, event) for event in wanted]
    assert sum(event["type"] == "start_kyoku" for event in received) > 2


@pytest.mark.parametrize("program", [mjai("leaves"), f"{QUIET} leaves"], ids=["answers all", "quiet"])
def test_a_program_that_exits_with_its_game_is_started_again_for_the_next(program: str, tmp_path: Path) -> None:
    assert arena(tmp_path, "--together", "1", players=(program, "rule")) == 0
    assert len(journal(tmp_path)) == 5


CALLS = """
import json, sys, time
habits, seat = sys.argv[1].split("+"), int(sys.argv[2])
for line in sys.stdin:
    event = json.loads(line)
    answer = {"type": "none"}
    can_act = event.get("actor") == (0 if event["type"] == "dahai" else seat)
    if event["type"] == "start_kyoku" and "late" in habits:
        time.sleep(6)
    if event["type"] == "tsumo" and can_act and "passes" not in habits:
        answer = {"type": "dahai", "actor": seat, "pai": event["pai"], "tsumogiri": True}
    if event["type"] == "dahai" and can_act and "pons" in habits:
        answer = {"type": "pon", "actor": seat, "target": 0, "pai": "5m", "consumed": ["5m", "5m"]}
    if event["type"] == "start_kyoku" and "chats" in habits or can_act or "all" in habits:
        print(json.dumps(answer), flush=True)
"""


def at_first_claim() -> tuple[Table, ActRequest]:
    """A table at which seat 2 may call the first discard, and the request for its action."""
    table = Table.of_round("mjsoul", start_of_round(), wall_of_deal(("5m", "", "055m"), "7z"), V, logs_events=True)
    table.step({at: choice.move for at, choice in Script("0 discard 5m").choose(table.turns).items()})
    (turn,) = [turn for turn in table.turns if turn.seat == 2]
    return table, ActRequest(GameKey(0, 0), 0, turn, Observation((), (), (), ()))


def first_claim(*habits: str) -> str:
    """Returns the kind of the first action of a program that may call the first discard."""
    player = MjaiAgent([sys.executable, "-c", CALLS, "+".join(habits)], V)
    try:
        (action,) = player.act([at_first_claim()[1]])
    finally:
        player.close()
    return V.action.describe(action.token)[0]


@pytest.mark.parametrize("move", ["pon", "skip"])
@pytest.mark.parametrize("habit", ["all", "quiet"])
def test_a_first_move_is_distinguished_from_the_answers_before_it(habit: str, move: str) -> None:
    assert first_claim(habit, *["pons"][: move == "pon"]) == move


@pytest.mark.parametrize(
    "habits, message",
    [
        (["quiet", "chats"], "answers some of the lines at which it cannot act"),
        (["all", "passes"], 'after a draw a move is expected, not {"type": "none"}'),
    ],
)
def test_a_program_whose_answers_cannot_be_distinguished_is_refused(habits: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        first_claim(*habits)


ANSWERS_WHEN_IT_ACTS = """
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "tsumo" and event["actor"] == int(sys.argv[1]):
        print(json.dumps({"type": "dahai", "pai": event["pai"]}), flush=True)
"""


def test_a_program_that_answers_only_where_it_can_act_is_understood() -> None:
    program = Program([sys.executable, "-c", ANSWERS_WHEN_IT_ACTS], 2, 4, answers_all=False)
    try:
        program.send([{"type": "start_game"}, {"type": "tsumo", "actor": 2, "pai": "5m"}])
        assert program.answer()["pai"] == "5m"
        dahai = {"type": "dahai", "actor": 2, "pai": "5m"}
        program.send([dahai, {"type": "tsumo", "actor": 1, "pai": "?"}, {"type": "tsumo", "actor": 2, "pai": "6m"}])
        assert program.answer()["pai"] == "6m"
    finally:
        program.close()


def test_answers_are_read_with_more_than_a_thousand_open_files() -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1200:
        pytest.skip("the limit of open files is lower")
    with ExitStack() as held:
        for _ in range(1024):
            held.enter_context(open(os.devnull))
        program = Program([sys.executable, "-c", ANSWERS_WHEN_IT_ACTS], 2, 4, answers_all=False)
        held.callback(program.close)
        program.send([{"type": "tsumo", "actor": 2, "pai": "5m"}])
        assert program.answer()["pai"] == "5m"


def test_a_program_that_closes_its_output_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mjai_agent, "_END_SECONDS", 0.5)
    program = Program(["bash", "-c", "exec 1>&-; sleep 60"], 3, 4, answers_all=False)
    try:
        program.send([{"type": "start_game"}])
        with pytest.raises(ValueError, match="bash .* has closed its input or output, but has not ended"):
            program.answer()
    finally:
        program.close(0.5)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("cat /dev/zero", "an answer of one line expected, not b'.x00"),
        ("printf '%0100000d\\n' 0 | tr 0 '['; sleep 60", "an mjai event expected as answer"),
        ("printf '\\xff\\n'; sleep 60", "an mjai event expected as answer"),
    ],
    ids=["without end", "nested deeply", "no text"],
)
def test_answers_that_are_no_events_are_refused_and_all_processes_of_the_program_ended(
    answers: str, message: str, tmp_path: Path
) -> None:
    script = f"sh -c '{answers}' {tmp_path} & wait" if "'" not in answers else f'sh -c "{answers}" {tmp_path} & wait'
    program = Program(["bash", "-c", script], 3, 4, answers_all=False)
    try:
        program.send([{"type": "start_game"}])
        with pytest.raises(ValueError, match=message):
            program.answer()
    finally:
        program.close(0.5)
    assert subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True).stdout == b""


PONS = """
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    answer = {"type": "none"}
    if event["type"] == "dahai" and event["actor"] == 0:
        consumed = {"plain": ["5m", "5m"], "red": ["5mr", "5m"]}[sys.argv[1]]
        answer = {"type": "pon", "actor": 2, "target": 0, "pai": "5m", "consumed": consumed}
    if event["type"] == "tsumo" and event["actor"] == 2:
        answer = {"type": "dahai", "actor": 2, "pai": event["pai"], "tsumogiri": True}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("wanted", ["plain", "red"])
def test_a_program_has_the_pon_that_it_wants(wanted: str) -> None:
    table, request = at_first_claim()
    turn = request.turn
    player = make_agent(parse_agent(f"mjai:{sys.executable} -c {shlex.quote(PONS)} {wanted}"), SeededSampler(0, "A"), V)
    try:
        (action,) = player.act([request])
    finally:
        player.close()
    skip = V.action["skip"].first
    table.step({other.seat: other.options[action.token if other is turn else skip][0] for other in table.turns})
    (meld,) = table.turns[0].observation.melds[2]
    assert any(tile in RED_IDS for tile in meld.tiles) == (wanted == "red")
