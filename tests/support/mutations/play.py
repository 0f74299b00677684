"""Mutations of what happens: the progression, the moment, the actions, the choice; and lines that are missing."""

from tests.support.mutations.mutations import (
    CALLS,
    FIRST,
    KYUSHU,
    MIDST,
    RED_DRAGON,
    RIICHI,
    SKIP,
    TSUMO,
    TSUMOGIRI,
    Line,
    V,
    block_before,
    find,
    found_as,
    in_riichi,
    is_riichi,
    rewrite,
    round_of,
    seat_of,
    tiles,
)

A = V.action
PER_SEAT = {name: V.progression[name].size // V.num_seats for name in ("discard", "chi", "pon")}
PER_TILE = 4  # of a discard
NUM_TILES = V.progression["pon"].factors[-1].size

# Progression


@found_as("continuity")
def an_event_is_missing(lines: list[Line]) -> int:
    index = find(lines, lambda line: len(line.progression) > 20)
    del lines[index].progression[10]
    return index


@found_as("progression")
def a_seat_discards_out_of_turn(lines: list[Line]) -> int:
    def by_first_seat(events: list[int], place: int) -> bool:
        return seat_of(events[place]) == 0 and block_before(events, place) == "discard"

    return rewrite(lines, "discard", PER_SEAT["discard"], by_first_seat)


@found_as("progression")
def a_tile_is_discarded_as_drawn_after_a_call(lines: list[Line]) -> int:
    return rewrite(lines, "discard", TSUMOGIRI, lambda events, place: block_before(events, place) in CALLS)


@found_as("progression")
def a_dealt_tile_is_discarded_as_drawn(lines: list[Line]) -> int:
    return rewrite(lines, "discard", TSUMOGIRI, lambda events, place: place == 1)


@found_as("progression")
def a_seat_declares_riichi_twice(lines: list[Line]) -> int:
    return rewrite(lines, "discard", RIICHI, in_riichi)


@found_as("progression")
def a_seat_in_riichi_discards_from_its_hand(lines: list[Line]) -> int:
    return rewrite(lines, "discard", -TSUMOGIRI, in_riichi)


@found_as("progression")
def a_seat_declares_riichi_after_a_call(lines: list[Line]) -> int:
    def is_of_caller(events: list[int], place: int) -> bool:
        callers = {seat_of(e) for e in events[:place] if V.progression.block_of(e).name in CALLS}
        return seat_of(events[place]) in callers

    return rewrite(lines, "discard", RIICHI, is_of_caller)


@found_as("progression")
def a_seat_across_calls_chi(lines: list[Line]) -> int:
    return rewrite(lines, "chi", PER_SEAT["chi"], lambda events, place: seat_of(events[place]) < 3)


@found_as("progression")
def another_tile_than_the_discard_is_called(lines: list[Line]) -> int:
    return rewrite(lines, "pon", 1, lambda events, place: events[place] % NUM_TILES < 30)


@found_as("progression")
def a_pon_names_the_wrong_seat(lines: list[Line]) -> int:
    def is_from_the_right(events: list[int], place: int) -> bool:
        return V.progression.describe(events[place])[1]["relative_seat"] == 0

    return rewrite(lines, "pon", NUM_TILES, is_from_the_right)


@found_as("progression")
def a_closed_kan_becomes_an_added_one(lines: list[Line]) -> int:
    change = V.progression["kakan"].first - V.progression["ankan"].first
    return rewrite(lines, "ankan", change, lambda events, place: seat_of(events[place]) == 0)


# The moment


@found_as("moment")
def another_seat_has_the_turn(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.seat < 3)
    lines[index].exchange(FIRST["seat"] + lines[index].seat, FIRST["seat"] + lines[index].seat + 1)
    return index


@found_as("moment")
def nothing_is_drawn(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and len(line.progression) == 1)
    lines[index].exchange(lines[index].sparse[-1])
    return index


@found_as("moment")
def a_line_stands_twice(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.progression != [0])
    lines.insert(index + 1, lines[index])
    return index + 1


# Actions


def is_claim(line: Line) -> bool:
    return SKIP in line.actions


@found_as("actions")
def a_tile_can_be_discarded_that_is_not_held(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and RED_DRAGON not in tiles(line))
    lines[index].set_actions({*lines[index].actions, RED_DRAGON * PER_TILE})
    return index


@found_as("actions")
def a_tile_that_is_held_cannot_be_discarded(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.chosen != [0])
    lines[index].set_actions({*lines[index].actions[1:]})
    return index


@found_as("actions")
def there_is_no_passing(lines: list[Line]) -> int:
    index = find(lines, lambda line: is_claim(line) and len(line.actions) > 2 and line.action != SKIP)
    lines[index].set_actions({*lines[index].actions} - {SKIP})
    return index


@found_as("actions")
def a_turn_can_be_skipped(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn)
    lines[index].set_actions({*lines[index].actions, SKIP})
    return index


@found_as("actions")
def a_hand_wins_that_is_not_complete(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and TSUMO not in line.actions)
    lines[index].set_actions({*lines[index].actions, TSUMO})
    return index


@found_as("actions")
def a_ron_without_a_waiting_hand(lines: list[Line]) -> int:
    def seat_across_discarded(line: Line) -> bool:
        return is_claim(line) and seat_of(line.progression[-1]) == (line.seat + 2) % V.num_seats

    index = find(lines, lambda line: seat_across_discarded(line) and A["ron"].token(1) not in line.actions)
    lines[index].set_actions({*lines[index].actions, A["ron"].token(1)})
    return index


@found_as("actions")
def riichi_without_a_waiting_hand(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and len(line.progression) < 5)
    lines[index].set_actions({*lines[index].actions, lines[index].actions[0] + RIICHI})
    return index


@found_as("actions")
def a_waiting_hand_may_not_declare_riichi(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and is_riichi(5 + max(a for a in line.actions if a < 148)))
    lines[index].set_actions({a for a in lines[index].actions if a >= 148 or not a & RIICHI}, lines[index].actions[0])
    return index


@found_as("actions")
def nine_kinds_in_a_later_turn(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and len(line.progression) > 10)
    lines[index].set_actions({*lines[index].actions, KYUSHU})
    return index


@found_as("actions")
def a_closed_kan_of_three_tiles(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and tiles(line).count(RED_DRAGON) == 0)
    lines[index].set_actions({*lines[index].actions, A["ankan"].token(33)})
    return index


@found_as("actions")
def an_added_kan_without_a_pon(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.progression == [0])
    lines[index].set_actions({*lines[index].actions, A["kakan"].token(tiles(lines[index])[0])})
    return index


@found_as("actions")
def the_called_tile_can_be_discarded(lines: list[Line]) -> int:
    index = find(lines, lambda line: V.progression.block_of(line.progression[-1]).name == "pon")
    tile = V.progression.describe(lines[index].progression[-1])[1]["tile"]
    lines[index].set_actions({*lines[index].actions, tile * PER_TILE})
    return index


@found_as("actions")
def a_pon_is_possible_but_not_there(lines: list[Line]) -> int:
    def has_pon_and_more(line: Line) -> bool:
        names = [A.block_of(action).name for action in line.actions]
        return names.count("pon") == 1 and len(names) > 2 and line.action == SKIP

    index = find(lines, has_pon_and_more)
    lines[index].set_actions({a for a in lines[index].actions if A.block_of(a).name != "pon"})
    return index


# The choice, and missing lines


def next_moment(lines: list[Line], index: int) -> int:
    return next(i for i, line in enumerate(lines) if i > index and line.progression != lines[index].progression)


@found_as("choice")
def another_discard_is_chosen_than_comes(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.action < 148 and line.actions[-1] < 148)
    lines[index].chosen = [lines[index].chosen[0] - 1 if lines[index].chosen[0] else 1]
    return next_moment(lines, index)


@found_as("choice")
def a_seat_skips_that_calls(lines: list[Line]) -> int:
    index = find(lines, lambda line: is_claim(line) and A.block_of(line.action).name in CALLS)
    lines[index].chosen = [lines[index].actions.index(SKIP)]
    return next_moment(lines, index)


@found_as("moment")
def a_seat_calls_and_another_draws(lines: list[Line]) -> int:
    def passes_a_pon(line: Line) -> bool:
        return is_claim(line) and line.action == SKIP and A.block_of(line.actions[-1]).name == "pon"

    index = next(i for i, line in enumerate(lines) if i >= MIDST and passes_a_pon(line) and lines[i + 1].is_turn)
    lines[index].chosen = [len(lines[index].actions) - 1]
    return index + 1


@found_as("missing line")
def a_turn_is_missing(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.action < 148 and line.progression != [0])
    del lines[index]
    return index


@found_as("missing line")
def a_pass_is_missing(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.action == SKIP and len(line.progression) > 20 and line.actions[-1] < 534)
    following = next_moment(lines, index)
    del lines[index]
    return following - 1


@found_as("missing line")
def the_beginning_of_a_round_is_missing(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    del lines[index]
    return index


@found_as("missing line")
def the_end_of_a_round_is_missing(lines: list[Line]) -> int:
    last = round_of(lines, find(lines, lambda line: line.action == TSUMO))[-1]
    del lines[last - 3 : last + 1]
    return last - 4
