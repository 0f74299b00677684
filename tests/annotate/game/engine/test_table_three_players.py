"""Rounds of three players: Norths set aside, walls without 2m ... 8m, and what a tsumo is paid."""

from annotate.game.engine.table import Table
from tests.support.rounds import V3, choice, options, play_three, start_of_three, wall_of_deal

NORTH = "4z19m147p258s1235z"
WAITS_FOR_NORTH = "123p456p789s22z44z"
DULL = "19m369p369s13467z"


def test_fifty_four_tiles_are_left_at_the_dealers_first_turn() -> None:
    table = Table.of_round("tenhou", start_of_three(), wall_of_deal(vocabulary=V3), V3)
    assert [turn.left for turn in table.turns] == [54]


def test_a_north_is_set_aside_and_replaced_from_the_dead_wall() -> None:
    played = play_three("0 kita; 0 cut", [NORTH], "6z", rinshan="9p")
    first, second = played.of(0)[:2]
    assert choice(first, V3) == "kita"
    assert second.observation.progression == (0, V3.progression["kita"].token(0))
    assert "cut 9p" in options(second, V3)


def test_several_norths_are_one_option() -> None:
    decision = play_three("0 discard 6z", ["444z19m147p258s56z"], "6z").of(0)[0]
    assert sorted(option for option in options(decision, V3) if "kita" in option) == ["kita"]


def test_a_north_may_be_discarded_and_called() -> None:
    played = play_three("0 discard 4z; 1 pon", [NORTH, "44z19m147p258s123z"], "6z")
    assert [event["pai"] for event in played.all("pon")] == ["N"]
    assert "kita" not in options(played.of(1)[1], V3)  # without a drawn tile


def test_after_riichi_only_a_drawn_north_is_set_aside() -> None:
    draws = "6z1m7z7z4z"
    played = play_three("1 riichi 1m; 1 kita", ["", WAITS_FOR_NORTH.replace("44z", "33z"), DULL], draws)
    assert options(played.of(1)[1], V3) == {"kita", "cut 4z"}


def test_a_north_makes_no_yaku() -> None:
    played = play_three("0 discard 4z", [NORTH, WAITS_FOR_NORTH, DULL], "6z")
    assert "ron" not in options(played.of(1)[0], V3)


def test_a_tsumo_is_paid_by_the_two_others_alone() -> None:
    hand = "123p456p789s2255z"
    of_dealer = play_three("0 tsumo", [hand, "", ""], "5z", dora="3p").all("hora")
    of_another = play_three("1 tsumo", ["", hand, ""], "6z5z", dora="3p").all("hora")
    # yakuman of the first draw: what the fourth seat would pay is not paid
    assert [event["deltas"] for event in of_dealer + of_another] == [[32000, -16000, -16000], [-16000, 24000, -8000]]


def test_noten_payments_are_two_thousand_points_in_all() -> None:
    played = play_three("1 riichi 1m", ["", WAITS_FOR_NORTH.replace("44z", "33z"), DULL], "6z1m7z")
    (draw,) = played.all("ryukyoku")
    assert sorted(draw["deltas"]) == [-1000, -1000, 2000]
