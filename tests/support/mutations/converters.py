"""Mutations as a converter with a fault makes them: the same mistake in a whole round or game, consistent in itself."""

from annotate.vocabulary import HAND_SLOT_FIRST, TILE_NAMES
from tests.support.mutations.mutations import (
    FIRST,
    RIICHI,
    SKIP,
    TSUMOGIRI,
    Line,
    V,
    find,
    found_as,
    is_riichi,
    round_of,
)
from tests.support.mutations.mutations import seat_of as seat_of_event

NUM_SEATS = V.num_seats
DISCARDS = 148  # actions below are discards
RANKS = slice(5, 9)  # in the results
FIRST_WALL = V.hidden["wall"].first


def own_event(line: Line) -> int:
    """The progression's token of the discard that the line chooses."""
    return V.progression["discard"].token(line.seat, *V.action["discard"].indices(line.action))


def rewrite_all(lines: list[Line], index: int, place: int, change: int) -> None:
    """Changes an event in all lines of the round that have it."""
    for i in round_of(lines, index):
        if len(lines[i].progression) > place:
            lines[i].progression[place] += change


# What is to come


@found_as("moment")
def the_progression_holds_the_discard_that_is_still_to_be_chosen(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.action < DISCARDS and line.progression != [0])
    lines[index].progression.append(own_event(lines[index]))
    return index


@found_as("hand")
def the_hand_is_that_after_the_discard(lines: list[Line]) -> int:
    def is_from_hand(line: Line) -> bool:
        return line.is_turn and line.action < DISCARDS and not line.action & TSUMOGIRI and line.progression != [0]

    index = find(lines, is_from_hand)
    held = [token for token in lines[index].block("hand")]
    tile = V.action["discard"].indices(lines[index].action)[0]
    of_tile = range(FIRST["hand"] + HAND_SLOT_FIRST[tile], FIRST["hand"] + HAND_SLOT_FIRST[tile + 1])
    slot = max(token for token in held if token in of_tile)
    drawn = lines[index].sparse[-1] - FIRST["drawn"]
    free = next(t for t in range(*(FIRST["hand"] + HAND_SLOT_FIRST[drawn + more] for more in (0, 1))) if t not in held)
    lines[index].exchange(slot, free)
    return index


@found_as("dora")
def the_indicator_of_an_open_kan_is_turned_before_the_discard(lines: list[Line]) -> int:
    def is_after_open_kan(line: Line) -> bool:
        return line.is_turn and V.progression.block_of(line.progression[-1]).name in ("daiminkan", "kakan")

    index = find(lines, is_after_open_kan)
    number = len(lines[index].block("dora"))
    later = next(line for line in lines[index:] if len(line.block("dora")) > number)
    lines[index].exchange(None, later.block("dora")[number])
    return index


@found_as("numbers")
def the_riichi_stick_is_paid_before_others_have_let_the_tile_pass(lines: list[Line]) -> int:
    index = find(lines, lambda line: SKIP in line.actions and is_riichi(line.progression[-1]))
    lines[index].numeric[1] += 1
    lines[index].numeric[2 + seat_of_event(lines[index].progression[-1])] -= 1000
    return index


@found_as("numbers")
def the_scores_are_those_after_the_round(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0] and any(line.results[1:5]))
    for i in round_of(lines, index):
        lines[i].numeric[2:] = [a + b for a, b in zip(lines[i].numeric[2:], lines[i].results[1:5], strict=True)]
    return index


# Another seat's


@found_as("hand")
def the_hand_is_that_of_the_next_seat(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and len(line.progression) > 8)
    hand = set(lines[index].block("hand"))
    other = [token + FIRST["hand"] for token in lines[index].hidden if token < 136]
    lines[index].sparse = sorted({*lines[index].sparse} - hand | {*other[: len(hand)]})
    return index


@found_as("results")
def the_deltas_are_in_the_order_of_seats_from_the_actor_on(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.seat and len(set(line.results[1:5])) == NUM_SEATS and line.progression != [0])
    for i in round_of(lines, index):
        if lines[i].seat == lines[index].seat:
            deltas = lines[i].results[1:5]
            lines[i].results[1:5] = deltas[lines[i].seat :] + deltas[: lines[i].seat]
    return min(i for i in round_of(lines, index) if lines[i].seat == lines[index].seat)


@found_as("numbers")
def the_scores_are_in_the_order_of_seats_from_the_actor_on(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.seat == 1 and len({*line.numeric[2:]}) > 1)
    lines[index].numeric[2:] = [*lines[index].numeric[3:], lines[index].numeric[2]]
    return index


@found_as("hidden")
def the_hidden_wall_stands_backwards(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    for i in round_of(lines, index):
        wall = [token for token in lines[i].hidden if token >= FIRST_WALL]
        lines[i].hidden = [token for token in lines[i].hidden if token < FIRST_WALL] + wall[::-1]
    return round_of(lines, index)[1]


@found_as("hand")
def the_hidden_hands_are_in_the_order_of_seats(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.seat == 2 and len(line.progression) > 8)
    blocks = [[token % 136 for token in lines[index].hidden if token // 136 == place] for place in range(3)]
    wall = [token for token in lines[index].hidden if token >= FIRST_WALL]
    hands = [136 * place + slot for place, hand in enumerate(blocks[1:] + blocks[:1]) for slot in hand]
    lines[index].hidden = hands + wall
    return index


# A mark or a tile that is lost


@found_as("numbers")
def a_riichi_is_nowhere_marked(lines: list[Line]) -> int:
    index = find(lines, lambda line: is_riichi(line.progression[-1]) or any(map(is_riichi, line.progression)))
    place = next(p for p, event in enumerate(lines[index].progression) if is_riichi(event))
    rewrite_all(lines, index, place, -RIICHI)
    declared = next(i for i in reversed(range(index)) if lines[i].is_turn and lines[i].action < DISCARDS)
    lines[declared].set_actions({*lines[declared].actions}, lines[declared].action - RIICHI)
    return next(i for i in round_of(lines, index) if lines[i].numeric[1] > lines[declared].numeric[1])


@found_as("hand")
def a_red_five_becomes_an_ordinary_one_in_the_midst_of_a_round(lines: list[Line]) -> int:
    red, ordinary = (FIRST["hand"] + HAND_SLOT_FIRST[TILE_NAMES.index(name)] for name in ("0p", "5p"))
    index = find(lines, lambda line: red in line.sparse and len(line.progression) > 8)
    for i in round_of(lines, index):
        if i >= index and red in lines[i].sparse and lines[i].seat == lines[index].seat:
            free = next(slot for slot in range(ordinary, ordinary + 3) if slot not in lines[i].sparse)
            lines[i].exchange(red, free)
    return index


@found_as("actions")
def a_drawn_tile_is_told_as_one_of_the_hand(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.action < DISCARDS and line.action & TSUMOGIRI)
    line = lines[index]
    chosen = line.action - TSUMOGIRI
    line.set_actions({a if a != line.action else chosen for a in line.actions}, chosen)
    place = len(line.progression)
    later = next(i for i in round_of(lines, index) if len(lines[i].progression) > place)
    rewrite_all(lines, later, place, -TSUMOGIRI)
    return index


@found_as("hand size")
def the_drawn_tile_is_among_those_of_the_hand(lines: list[Line]) -> int:
    def has_other_tile(line: Line) -> bool:
        return line.is_turn and len(line.progression) > 8 and free_slot(line) is not None

    def free_slot(line: Line) -> int | None:
        drawn = line.sparse[-1] - FIRST["drawn"]
        slot = FIRST["hand"] + HAND_SLOT_FIRST[drawn]
        return slot if slot not in line.sparse else None

    index = find(lines, has_other_tile)
    slot = free_slot(lines[index])
    assert slot is not None
    lines[index].exchange(lines[index].sparse[-1], slot)
    return index


# Off by one, for a whole round


@found_as("left")
def a_kan_is_not_counted_among_the_tiles_drawn(lines: list[Line]) -> int:
    def is_after_kan(line: Line) -> bool:
        return any(V.progression.block_of(e).name in ("ankan", "kakan", "daiminkan") for e in line.progression)

    index = find(lines, is_after_kan)
    for i in round_of(lines, index):
        if is_after_kan(lines[i]) and i >= index:
            left = lines[i].block("left")[0]
            lines[i].exchange(left, left - 1)
    return index


@found_as("left")
def the_left_tiles_are_one_off_in_a_whole_round(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    for i in round_of(lines, index):
        left = lines[i].block("left")[0]
        lines[i].exchange(left, left + 1)
    return index


@found_as("round")
def a_whole_round_is_of_another_wind(lines: list[Line]) -> int:
    starts = [i for i, line in enumerate(lines) if line.progression == [0] and line.game == lines[0].game]
    index = starts[-2]
    for i in round_of(lines, index):
        lines[i].exchange(lines[i].block("wind")[0], lines[i].block("wind")[0] + 1)
    return starts[-1]


@found_as("round result")
def the_seats_of_a_result_are_one_off(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.results[0] in (4, 5))
    for i in round_of(lines, index):
        if 4 <= lines[i].results[0] <= 6:
            lines[i].results[0] = 4 + (lines[i].results[0] - 3) % 3
    return round_of(lines, index)[-1]


@found_as("deltas")
def the_deltas_are_those_of_the_round_before(lines: list[Line]) -> int:
    starts = [i for i, line in enumerate(lines) if line.progression == [0]]
    pairs = [(a, b) for a, b in zip(starts, starts[1:], strict=False) if lines[a].game == lines[b].game]
    before, index = next(
        (a, b) for a, b in pairs if lines[a].results[1:5] != lines[b].results[1:5] and any(lines[a].results[1:5])
    )
    found = round_of(lines, index)
    for i in found:
        lines[i].results[1:5] = lines[before].results[1:5]
    return found[-1]


@found_as("actions")
def a_pon_names_seats_from_the_other_side(lines: list[Line]) -> int:
    index = find(lines, lambda line: V.action.block_of(line.action).name == "pon")
    relative_seat, tile = V.action["pon"].indices(lines[index].action)
    other = V.action["pon"].token((relative_seat + 1) % 3, tile)
    actions = {a for a in lines[index].actions if a != lines[index].action}
    lines[index].set_actions({*actions, other}, other)
    return index


# The end of the game


@found_as("end of game")
def equal_end_scores_stand_in_the_wrong_order(lines: list[Line]) -> int:
    game = [line for line in lines if line.game == lines[0].game]
    scores = {line.seat: line.results[10] for line in game}
    ranks = game[0].results[RANKS]
    second, third = ranks.index(1), ranks.index(2)
    same = (scores[second] + scores[third]) // 2 // 100 * 100
    rest = scores[second] + scores[third] - 2 * same
    for line in game:
        order = line.results[RANKS]
        order[min(second, third)], order[max(second, third)] = 2, 1
        line.results[RANKS] = order
        line.results[9] = order[line.seat]
        if line.seat in (second, third):
            line.results[10] = same
        if line.seat == ranks.index(0):
            line.results[10] += rest
    return len(game) - 1


@found_as("end of game")
def the_end_scores_of_two_seats_are_exchanged(lines: list[Line]) -> int:
    game = [line for line in lines if line.game == lines[0].game]
    scores = {line.seat: (line.results[9:11]) for line in game}
    ranks = game[0].results[RANKS]
    second, third = ranks.index(1), ranks.index(2)
    for line in game:
        ranks = line.results[RANKS]
        ranks[second], ranks[third] = ranks[third], ranks[second]
        line.results[RANKS] = ranks
        other = {second: third, third: second}.get(line.seat, line.seat)
        line.results[9:11] = scores[other]
    return len(game) - 1


@found_as("round")
def two_games_have_one_name(lines: list[Line]) -> int:
    second = next(i for i, line in enumerate(lines) if line.game != lines[0].game)
    for line in lines[second:]:
        line.game = lines[0].game
    return second


@found_as("deltas")
def the_deltas_leave_out_the_sticks_of_riichi(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.numeric[1] > 0 and any(map(is_riichi, line.progression)))
    seats = {seat_of_event(event) for event in lines[index].progression if is_riichi(event)}
    found = round_of(lines, index)
    for i in found:
        for seat in seats:
            lines[i].results[1 + seat] += 1000
    return found[-1]


@found_as("end of game")
def deposits_that_nobody_won_are_left_out_of_the_end_scores(lines: list[Line]) -> int:
    game = [line for line in lines if line.game == lines[0].game]
    for line in game:
        if line.results[9] == 0:
            line.results[10] -= 1000
    return len(game) - 1
