"""Programs that play as agents: what they are sent, and what of theirs is understood."""

import json
import os
import resource
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from annotate.game.engine.table import Table
from annotate.game.tiles import RED_IDS
from annotate.observation import Observation
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.play import mjai_agent
from kanachan.play.agent import ActRequest, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.mjai_agent import Program, _Seated
from tests.support.matches import opening_of_round
from tests.support.rounds import Script, start_of_round, wall_of_deal

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


def test_answers_are_read_beside_more_than_a_thousand_open_files() -> None:
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
    table = Table.of_round("mjsoul", start_of_round(), wall_of_deal(("5m", "", "055m"), "7z"), V)
    table.step({at: choice.move for at, choice in Script("0 discard 5m").choose(table.turns).items()})
    (turn,) = [turn for turn in table.turns if turn.seat == 2]
    request = ActRequest(GameKey(0, 0), 0, turn, Observation((), (), (), ()), opening_of_round())
    player = make_agent(parse_agent(f"mjai:{sys.executable} -c {shlex.quote(PONS)} {wanted}"), SeededSampler(0, "A"), V)
    try:
        (action,) = player.act([request])
    finally:
        player.close()
    skip = V.action["skip"].first
    table.step({other.seat: other.options[action.token if other is turn else skip][0] for other in table.turns})
    (meld,) = table.turns[0].observation.melds[2]
    assert any(tile in RED_IDS for tile in meld.tiles) == (wanted == "red")


def test_a_program_without_a_request_in_the_last_round_receives_the_end_of_the_game(tmp_path: Path) -> None:
    """After a ron on the first discard the others have no turn."""
    path = tmp_path / "received"
    program = Program(
        [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').writelines(sys.stdin)", str(path)], 3, 4
    )
    seated = _Seated(program)
    first = [{"type": "start_game"}, *({"type": kind, "actor": 0} for kind in ("start_kyoku", "tsumo", "dahai"))]
    rest = [{"type": kind, "actor": 1} for kind in ("hora", "end_kyoku")]
    last = [{"type": kind, "actor": 0} for kind in ("start_kyoku", "tsumo", "dahai", "hora", "end_kyoku", "end_game")]
    seated._new([dict(event) for event in first])
    seated.end([dict(event, pai="1m", tehais=[["1m"]] * 4) for event in (*first, *rest, *last)])
    program.close()
    received = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert received == [event["type"] for event in (*rest, *last)]
