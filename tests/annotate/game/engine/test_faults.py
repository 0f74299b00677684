"""Faults of the engine: play is right in spite of them, and a test fails as soon as the engine has fixed one."""

import pytest

import annotate.game.engine.table as table_module
from annotate.game.engine.table import Table
from annotate.game.record import Rules
from annotate.vocabulary import Vocabulary
from tests.support.rare_rounds import ROUNDS
from tests.support.rounds import (
    V3,
    Script,
    V,
    play_round,
    start_of_round,
    start_of_three,
    wall_of_deal,
    words,
    writer_of,
)

MENDED = "the engine has mended this fault: remove it from annotate/game/engine/faults.py"
FIRST_TURN_WINS = {
    "four concealed triplets": ("222p333p444s6688s", "6s", 3),
    "four concealed triplets, the pair last": ("222p333p444s6668s", "8s", 3),
    "nine gates, the tile of nine waits last": ("1112345678999p", "4p", 3),
    "nine gates": ("1112345678899p", "9p", 3),
    "nine gates, another suit": ("1122345678999s", "1s", 3),
    "thirteen orphans": ("19m19p19s1123456z", "7z", 3),
    "honours in four concealed triplets": ("1112223334455z", "5z", 5),
    "no other yaku": ("234p567p234s567s1z", "1z", 1),
}
"""hand, tile drawn last, and yakuman by Mahjong Soul's rules"""


def dealer_gain(hand: str, drawn: str, rules: Rules, vocabulary: Vocabulary) -> int:
    start = start_of_three() if vocabulary is V3 else start_of_round()
    played = play_round(
        "0 tsumo", [hand], drawn, rules=rules, start=start, writer=writer_of(vocabulary=vocabulary), dora="9m"
    )
    return played.events[-1]["deltas"][0]


@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four players", "three players"])
@pytest.mark.parametrize("name", FIRST_TURN_WINS)
def test_any_dealt_tile_may_complete_a_dealers_first_turn_win(name: str, vocabulary: Vocabulary) -> None:
    hand, drawn, num_yakuman = FIRST_TURN_WINS[name]
    share = 16_000 * (vocabulary.num_seats - 1)
    assert dealer_gain(hand, drawn, "mjsoul", vocabulary) == num_yakuman * share


def test_without_double_yakuman_four_concealed_triplets_are_paid_as_two_yakuman() -> None:
    assert dealer_gain(*FIRST_TURN_WINS["four concealed triplets"][:2], "tenhou", V) == 2 * 48_000


@pytest.mark.parametrize("name", ["four concealed triplets", "nine gates"])
def test_the_engine_still_treats_the_drawn_tile_as_the_winning_tile(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "best_win_of_first_turn", lambda env, seat, action: action)
    assert dealer_gain(*FIRST_TURN_WINS[name][:2], "mjsoul", V) == 2 * 48_000, MENDED


@pytest.mark.parametrize("is_mended", [True, False])
def test_the_engine_still_reveals_the_indicator_of_a_kan_before_the_next_kan_is_robbed(is_mended: bool) -> None:
    script, hands, wall = ROUNDS["the second of two kans robbed"]
    table = Table.of_round("tenhou", start_of_round(), wall_of_deal(hands, **wall), V)
    scripted, num_kans = Script(script), 0
    while not table.done:
        choices = scripted.choose(table.turns)
        num_kans += any(words(choice.token).startswith("kakan") for choice in choices.values())
        if num_kans == 2 and is_mended:
            table.withhold_dora()
        table.step({seat: choice.move for seat, choice in choices.items()})
    assert table.winners == {3}
    assert table.num_dora == (1 if is_mended else 2), MENDED
