"""How rounds and games end, seen from each seat: field 6 of the annotation."""

from itertools import product

import pytest

from annotate.game.results import dealt_in_to, final_scores, game_part, relative_winner, round_delta, round_part
from tests.support.rare_rounds import TENPAI, THREE_WINNERS
from tests.support.rounds import DULL, NUM_SEATS, play_round, start_of_round, start_of_three

TERMINALS = ["1m", "9m", "1p", "9p", "1s", "9s", "1z", "2z", "3z", "4z", "5z", "6z", "7z"] * 4


def win(winner: int, target: int) -> dict:
    return {"type": "hora", "actor": winner, "target": target}


def codes(*ends: dict, num_seats: int = NUM_SEATS) -> list[int]:
    start = start_of_round() if num_seats == NUM_SEATS else start_of_three()
    return [part[0] for part in round_part([start, *ends])]


def round_of_terminals(*seats: int, oya: int = 0):
    """A round in which `seats` draw and discard nothing but terminals and honours."""
    pool = iter(TERMINALS)
    draws = [next(pool) if (oya + turn) % NUM_SEATS in seats else "." for turn in range(70)]
    return play_round("", draws="".join(draws), start=start_of_round(oya))


@pytest.mark.parametrize(
    "winner, target, seen",
    [
        # from each seat: 0 its own tsumo, 1 ... 3 a tsumo of the right, across, left
        (0, 0, [0, 3, 2, 1]),
        (1, 1, [1, 0, 3, 2]),
        (2, 2, [2, 1, 0, 3]),
        (3, 3, [3, 2, 1, 0]),
        # 4 ... 6 won from the right, across, left; 7 ... 9 dealt in; 10 ... 15 watched
        (0, 1, [4, 9, 13, 10]),
        (0, 2, [5, 14, 8, 11]),
        (0, 3, [6, 15, 12, 7]),
        (1, 0, [7, 6, 15, 12]),
        (1, 2, [10, 4, 9, 13]),
        (2, 0, [8, 11, 5, 14]),
        (3, 0, [9, 13, 10, 4]),
        (3, 1, [14, 8, 11, 5]),
        # three players: 1, 2 tsumo of the next and of the previous seat
        (0, 0, [0, 2, 1]),
        (2, 2, [2, 1, 0]),
        # 3, 4 won from them, 5, 6 dealt in to them, 7, 8 ron of the next on the previous seat, and the other way round
        (0, 1, [3, 6, 7]),
        (0, 2, [4, 8, 5]),
        (1, 0, [5, 4, 8]),
    ],
)
def test_the_code_of_a_win_gives_winner_and_discarder_relative_to_the_seat(
    winner: int, target: int, seen: list[int]
) -> None:
    assert codes(win(winner, target), num_seats=len(seen)) == seen


@pytest.mark.parametrize("num_seats", [3, 4])
def test_every_seat_can_tell_from_its_result_who_has_won_and_who_dealt_in(num_seats: int) -> None:
    for winner, target in product(range(num_seats), repeat=2):
        seen = codes(win(winner, target), num_seats=num_seats)
        assert [relative_winner(code, num_seats) for code in seen] == [
            (winner - s) % num_seats for s in range(num_seats)
        ]
        dealt_in = [(winner - s - 1) % num_seats if s == target != winner else None for s in range(num_seats)]
        assert [dealt_in_to(code, num_seats) for code in seen] == dealt_in


def test_among_three_players_the_codes_of_draws_come_last() -> None:
    draw = {"type": "ryukyoku", "reason": "exhaustive_draw", "deltas": [2000, -1000, -1000]}
    assert codes(draw, num_seats=3) == [10, 9, 9]
    assert codes({**draw, "reason": "kyushu_kyuhai"}, num_seats=3) == [11, 11, 11]
    assert [relative_winner(code, 3) for code in (9, 10, 11)] == [None] * 3


def test_of_several_winners_each_sees_its_own_win_and_the_rest_see_the_first_after_the_discarder() -> None:
    assert codes(win(3, 2), win(1, 2)) == [15, 4, 7, 6]  # 3 comes first after 2
    assert codes(win(1, 2), win(3, 2)) == [15, 4, 7, 6]
    assert codes(win(0, 3), win(1, 3), win(2, 3)) == [6, 5, 4, 7]


@pytest.mark.parametrize("reason", ["kyushu_kyuhai", "sufuurenta", "suucha_riichi", "suukansansen", "sanchaho"])
def test_an_abortive_draw_is_18_for_all(reason: str) -> None:
    assert codes({"type": "ryukyoku", "reason": reason, "deltas": [0] * NUM_SEATS}) == [18] * NUM_SEATS


def test_of_several_nagashi_mangan_the_first_from_the_dealer_counts() -> None:
    assert [part[0] for part in round_part(round_of_terminals(0, 3).events)] == [0, 3, 2, 1]
    assert [part[0] for part in round_part(round_of_terminals(1, 3).events)] == [1, 0, 3, 2]
    assert [part[0] for part in round_part(round_of_terminals(0, 3, oya=3).events)] == [3, 2, 1, 0]


@pytest.mark.parametrize("seats", [(), (0,), (1, 3), (0, 1, 2, 3)])
def test_tenpai_at_an_exhaustive_draw_is_known_even_when_nothing_is_paid(seats: tuple[int, ...]) -> None:
    hands = ["123m456p789s11z44z", "456m789p123s22z55z", "789m123p456s33z66z", "234m567p678s77z99m"]
    noten = ["147m258p369s1234z", "258m369p147s1567z", "369m147p258s2345z", "147m258p369s2367z"]
    played = play_round("", [hands[seat] if seat in seats else noten[seat] for seat in range(NUM_SEATS)])

    assert played.events[-1]["type"] == "ryukyoku"
    expected = [17 if seat in seats else 16 for seat in range(NUM_SEATS)]
    assert [part[0] for part in round_part(played.events)] == expected


def test_a_hand_that_waits_only_for_a_tile_it_holds_four_times_is_not_tenpai() -> None:
    played = play_round("", ["1111m234p567p888s", DULL[1], DULL[2], "47m258p369s12367z"])
    assert played.events[-1]["deltas"] == [0, 0, 0, 0]
    assert [part[0] for part in round_part(played.events)] == [16] * NUM_SEATS


def test_the_round_delta_of_the_winner_includes_sticks_and_honba() -> None:
    start = start_of_round(honba=2, kyotaku=3)
    played = play_round("0 discard 3p; 1 ron; 3 ron", THREE_WINNERS, start=start)
    assert round_delta(played.events, NUM_SEATS) == [-4600, 5600, 0, 2000]
    assert [part[1:] for part in round_part(played.events)] == [(-4600, 5600, 0, 2000)] * NUM_SEATS


def test_a_riichi_whose_discard_is_won_pays_no_stick() -> None:
    hands = [TENPAI, "", "", "234m345p678s22s67m"]
    played = play_round("0 riichi 8m; 3 ron", hands, "8m", rules="tenhou")
    assert not played.all("reach_accepted")
    (hora,) = played.all("hora")
    assert round_delta(played.events, NUM_SEATS) == hora["deltas"]


def riichi(seat: int) -> dict:
    return {"type": "reach_accepted", "actor": seat}


DRAW = {"type": "ryukyoku", "reason": "exhaustive_draw", "deltas": [3000, -1000, -1000, -1000]}


def test_final_scores_give_leftover_deposits_to_the_first_seat() -> None:
    start = start_of_round(kyotaku=2, scores=(20000, 30000, 25000, 23000))
    assert final_scores([start, riichi(0), riichi(1), DRAW]) == (22000, 32000, 24000, 22000)


def test_leftover_deposits_go_to_the_lower_of_two_seats_tied_for_first() -> None:
    start = start_of_round(kyotaku=1, scores=(24000, 25000, 25000, 25000))
    assert final_scores([start, {**DRAW, "deltas": [0, 0, 0, 0]}]) == (24000, 26000, 25000, 25000)


def test_ranks_and_scores_are_final_and_ties_go_to_the_lower_seat() -> None:
    assert game_part((25000, 30000, 25000, 20000), (1, 2, 3, 4)) == [
        (1, 0, 2, 3, 1, 25000, 1),
        (1, 0, 2, 3, 0, 30000, 2),
        (1, 0, 2, 3, 2, 25000, 3),
        (1, 0, 2, 3, 3, 20000, 4),
    ]
