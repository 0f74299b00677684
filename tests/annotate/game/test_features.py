"""The sparse and numeric fields of a decision, from rounds made up for one row of the specification each."""

import pytest

from tests.support.rounds import DULL, NUM_SEATS, dora_of, options, play_round, sparse, start_of_round, tiles, writer_of


def slots(hand: str) -> list[int]:
    """Returns the hand's tokens by counting: slots are in the order of tiles, one for a red five, three for the other
    fives, four for the rest."""
    first, slot_of = 353, {}
    for tile in range(37):
        slot_of[tile] = first
        first += 1 if tile in (0, 10, 20) else 3 if tile in (5, 15, 25) else 4
    assert first == 489
    held = sorted(tile for tile in tiles(hand) if tile is not None)
    return [slot_of[tile] + held[:place].count(tile) for place, tile in enumerate(held)]


def hand_tokens(sparse_tokens: tuple[int, ...]) -> list[int]:
    return [token for token in sparse_tokens if 353 <= token <= 488]


def rank_tokens(scores: list[int]) -> list[int]:
    seen = play_round("", DULL, start=start_of_round(scores=scores)).decisions[0].observation
    return [token for first in (289, 309, 329, 349) for token in seen.sparse if first <= token < first + 4]


def test_the_sparse_and_numeric_fields_are_as_the_specification_prints_them() -> None:
    start = start_of_round(oya=2, wind="S", honba=1, kyotaku=2, scores=(30000, 20000, 26000, 22000))
    played = play_round("", DULL, "6z", dora="0p", start=start, writer=writer_of(3, 0, (9, 10, 11, 12)))

    decision = played.decisions[0]
    assert decision.seat == 2
    header = [3, 5, 7 + 2, 12, 14 + 2, 18 + 10, 203]
    standings = [273 + 9, 289 + 0, 293 + 10, 309 + 3, 313 + 11, 329 + 1, 333 + 12, 349 + 2]
    assert list(decision.observation.sparse) == [*header, *standings, *slots(DULL[2]), 489 + 35]
    assert decision.observation.numeric == (1, 2, 30000, 20000, 26000, 22000)


@pytest.mark.parametrize("hand", ["1112223334445m", "0555m0555p0555s1z", "1111222233334z", "0m0p0s1234567z19m1p"])
def test_the_hand_is_a_canonical_set_of_slots(hand: str) -> None:
    decision = play_round("", [hand], "9p").decisions[0]
    assert hand_tokens(decision.observation.sparse) == slots(hand)


def test_a_call_and_the_discard_after_it_are_decided_without_a_drawn_tile() -> None:
    played = play_round("0 discard 3p; 1 pon; 1 discard 9m", ["3p", "33p9m"])
    for decision, num_tiles in ((played.when(1, "pon"), 13), (played.of(1)[1], 11)):
        assert not sparse(decision, "drawn")
        assert len(hand_tokens(decision.observation.sparse)) == num_tiles


@pytest.mark.parametrize("oya", range(NUM_SEATS))
def test_seats_are_absolute_and_the_seat_token_tells_whose_turn_it_is(oya: int) -> None:
    scores = (10000, 20000, 30000, 40000)
    played = play_round("", DULL, start=start_of_round(oya=oya, scores=scores))

    turns = [decision.seat for decision in played.decisions[:NUM_SEATS]]
    assert turns == [(oya + i) % NUM_SEATS for i in range(NUM_SEATS)]
    for decision in played.decisions[:NUM_SEATS]:
        assert 7 + decision.seat in decision.observation.sparse
        assert 14 + oya in decision.observation.sparse
        assert decision.observation.numeric[2:] == scores


@pytest.mark.parametrize(
    "scores, ranks",
    [
        ([25000, 25000, 25000, 25000], [289 + 0, 309 + 1, 329 + 2, 349 + 3]),
        ([24000, 26000, 24000, 26000], [289 + 2, 309 + 0, 329 + 3, 349 + 1]),
        ([-100, 50100, 25000, 25000], [289 + 3, 309 + 0, 329 + 1, 349 + 2]),
    ],
)
def test_ranks_follow_the_current_scores_and_ties_go_to_the_lower_seat(scores: list[int], ranks: list[int]) -> None:
    assert rank_tokens(scores) == ranks


def test_a_north_round_is_refused() -> None:
    with pytest.raises(ValueError, match="wind 3 is not in the specification"):
        play_round("", DULL, start=start_of_round(wind="N"))


def test_dora_indicators_keep_the_order_in_which_they_were_turned() -> None:
    played = play_round("0 ankan 1m; 0 ankan 9s", ["1111m9999s"], dora="7z0s7z", rinshan="5z6z")
    last = played.of(0)[2]
    assert dora_of(last) == ["7z", "0s", "7z"]
    assert [token for token in last.observation.sparse if 18 <= token <= 202] == [18 + 36, 55 + 20, 92 + 36]


def test_scores_and_deposits_are_as_they_stood_at_the_decision() -> None:
    start = start_of_round(honba=3, kyotaku=1)
    played = play_round("0 riichi 8m; 1 skip", ["123m456p789s1122z", "79m88m"], "8m", start=start)

    riichi, claim, later = played.of(0)[0], played.when(1, "pon"), played.of(1)[1]
    assert "riichi 8m" in options(riichi)
    assert riichi.observation.numeric == claim.observation.numeric == (3, 1, 25000, 25000, 25000, 25000)
    assert later.observation.numeric == (3, 2, 24000, 25000, 25000, 25000)
