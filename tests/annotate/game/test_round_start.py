"""The end of a round determines the start of the next one."""

from collections.abc import Sequence

import pytest

from annotate.game.record import Rules
from annotate.game.round_start import start_after, start_of
from tests.support.rare_rounds import TENPAI, THREE_WINNERS
from tests.support.rounds import DULL, play_round, start_of_round

TERMINALS = "1m 9m 1p 9p 1s 9s 1z 2z 3z 4z 5z 6z 7z 1m 9m 1p 9p 1s".split()


def moved(scores: Sequence[int]) -> tuple[int, ...]:
    return (scores[0] - 1000, scores[1] + 1000, *scores[2:])


@pytest.mark.parametrize(
    "script, hands, draws, number, honba, deposits, rules",
    [
        ("0 riichi 8m; 0 tsumo", [TENPAI, *DULL[1:]], "8m...1z", 0, 3, 0, "mjsoul"),
        ("0 discard 3p; 1 ron", THREE_WINNERS, "", 1, 0, 0, "mjsoul"),
        ("1 riichi 8m; 0 discard 2z; 1 ron", [DULL[3], TENPAI, *DULL[1:3]], "5z8m", 1, 0, 0, "mjsoul"),
        ("0 discard 3p; 1 ron; 2 ron; 3 ron", THREE_WINNERS, "", 0, 3, 1, "tenhou"),
        ("0 kyushu", ["19m19p19s1234z258p"], "5m", 0, 3, 1, "tenhou"),
        ("0 riichi 8m", [TENPAI, *DULL[1:]], "8m", 0, 3, 2, "mjsoul"),
        ("1 riichi 8m", [DULL[1], TENPAI, "369m147p258s3345z"], "7z8m", 1, 3, 2, "mjsoul"),
        ("", DULL, "", 1, 3, 1, "mjsoul"),
        ("", ["3m2468m2468p2468s"] * 4, "".join(f"{tile}..." for tile in TERMINALS), 1, 3, 1, "mjsoul"),
    ],
)
def test_the_next_round_begins_as_this_one_ended(
    script: str, hands: Sequence[str], draws: str, number: int, honba: int, deposits: int, rules: Rules
) -> None:
    played = play_round(script, hands, draws, start=start_of_round(honba=2, kyotaku=1), rules=rules)
    start = start_of(played.events)
    after = start_after(start, played.events)
    assert (after.number, after.honba, after.deposits) == (number, honba, deposits)
    assert after.points == start.points
    shifted = start._replace(scores=moved(start.scores), deposits=0)
    assert start_after(shifted, played.events).scores == moved(after.scores)


@pytest.mark.parametrize("is_waiting", [True, False])
@pytest.mark.parametrize("reason", ["exhaustive_draw", "nagashimangan", None, "fanpai"])
def test_at_an_exhaustive_draw_the_dealer_stays_if_its_hand_waits(reason: str | None, is_waiting: bool) -> None:
    hands = ["123456789m1122z" if is_waiting else DULL[0], *DULL[1:]]
    events = play_round("", hands, "").events
    nobody_paid = {"type": "ryukyoku", "reason": reason, "deltas": [0] * 4}
    after = start_after(start_of(events), [*events[:-1], nobody_paid])
    assert (after.number, after.honba) == (0 if is_waiting else 1, 1)
