"""What can go wrong with annotation lines: each mutation of the lines of some games, and the kind of violation it is.

A mutation changes `lines` in place and returns the index of the line at which it must be found.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from annotate.vocabulary import FOUR_PLAYERS, HAND_SLOT_FIRST, NUM_TILES, TILE_NAMES, tile34_of

V = FOUR_PLAYERS
FIRST = {block.name: block.first for block in V.sparse.blocks.values()}
SKIP, TSUMO, KYUSHU, RON = (V.action[name].first for name in ("skip", "tsumo", "kyushu", "ron"))
TSUMOGIRI, RIICHI = 2, 1  # of a discard, in progression and actions
CALLS = ("chi", "pon", "daiminkan")
RED_5P, NORTH, RED_DRAGON = (TILE_NAMES.index(name) for name in ("0p", "4z", "7z"))


@dataclass
class Line:
    """A line's fields, to be changed."""

    game: str
    sparse: list[int]
    numeric: list[int]
    progression: list[int]
    actions: list[int]
    chosen: list[int]
    results: list[int]
    hidden: list[int]

    @classmethod
    def of(cls, text: str) -> "Line":
        game, *fields = text.rstrip("\n").split("\t")
        return cls(game, *(list(map(int, field.split(","))) for field in fields))

    def text(self) -> str:
        game, *fields = vars(self).values()
        return "\t".join([game, *(",".join(map(str, field)) for field in fields)]) + "\n"

    def copy(self) -> "Line":
        game, *fields = vars(self).values()
        return Line(game, *map(list, fields))

    def block(self, name: str) -> list[int]:
        """The sparse tokens of a block."""
        return [token for token in self.sparse if V.sparse.block_of(token).name == name]

    @property
    def seat(self) -> int:
        return self.block("seat")[0] - FIRST["seat"]

    @property
    def round(self) -> tuple[object, ...]:
        return self.game, *self.block("wind"), *self.block("round"), self.numeric[0]

    @property
    def is_turn(self) -> bool:
        return bool(self.block("drawn"))

    @property
    def action(self) -> int:
        return self.actions[self.chosen[0]]

    def exchange(self, old: int | None, *new: int) -> None:
        """Of sparse tokens."""
        self.sparse = sorted({*self.sparse} - {old} | {*new})

    def set_actions(self, actions: set[int], chosen: int | None = None) -> None:
        """What is chosen stays if it is not given."""
        chosen = self.action if chosen is None else chosen
        self.actions = sorted(actions)
        self.chosen = [self.actions.index(chosen)]


Mutation = Callable[[list[Line]], int]
MUTATIONS: dict[str, tuple[str, Mutation]] = {}
MIDST = 40
"""lines are mutated from this one on"""


def found_as(kind: str) -> Callable[[Mutation], Mutation]:
    def register(mutation: Mutation) -> Mutation:
        MUTATIONS[mutation.__name__.replace("_", " ")] = kind, mutation
        return mutation

    return register


def find(lines: list[Line], is_wanted: Callable[[Line], Any]) -> int:
    found = (index for index, line in enumerate(lines) if index >= MIDST and is_wanted(line))
    index = next(found, None)
    assert index is not None, "the simulated games have no such line: take others"
    return index


def round_of(lines: list[Line], index: int) -> list[int]:
    return [i for i, line in enumerate(lines) if line.round == lines[index].round]


def tiles(line: Line) -> list[int]:
    """Of the hand."""
    slots = [token - FIRST["hand"] for token in line.block("hand")]
    return [max(tile for tile in range(NUM_TILES) if HAND_SLOT_FIRST[tile] <= slot) for slot in slots]


def rewrite(lines: list[Line], name: str, change: int, is_wanted: Callable[[list[int], int], bool]) -> int:
    """Changes an event in all lines of its round; returns the first of them."""

    def place_in(events: list[int]) -> int | None:
        of_name = (p for p, token in enumerate(events) if V.progression.block_of(token).name == name)
        return next((place for place in of_name if is_wanted(events, place)), None)

    found = find(lines, lambda line: place_in(line.progression) is not None)
    place = place_in(lines[found].progression)
    assert place is not None
    with_event = [i for i in round_of(lines, found) if len(lines[i].progression) > place]
    for i in with_event:
        lines[i].progression[place] += change
    return with_event[0]


def seat_of(event: int) -> int:
    return V.progression.describe(event)[1].get("seat", -1)


def is_riichi(event: int) -> bool:
    return bool(V.progression.describe(event)[1].get("riichi"))


def in_riichi(events: list[int], place: int) -> bool:
    """Whether the seat of an event declared riichi before it."""
    return any(is_riichi(event) and seat_of(event) == seat_of(events[place]) for event in events[:place])


def block_before(events: list[int], place: int) -> str:
    return V.progression.block_of(events[place - 1]).name


# Form and blocks


@found_as("form")
def a_token_is_out_of_range(lines: list[Line]) -> int:
    lines[50].sparse[-1] = V.sparse.size
    return 50


@found_as("form")
def the_choice_is_none_of_the_actions(lines: list[Line]) -> int:
    lines[50].chosen = [len(lines[50].actions)]
    return 50


@found_as("form")
def the_actions_are_out_of_order(lines: list[Line]) -> int:
    lines[50].actions.reverse()
    return 50


@found_as("form")
def an_event_is_no_token(lines: list[Line]) -> int:
    lines[50].progression.append(V.progression.size)
    return 50


@found_as("blocks")
def a_rank_is_missing(lines: list[Line]) -> int:
    lines[50].sparse.remove(lines[50].block("standing")[3])
    return 50


@found_as("blocks")
def the_number_of_left_tiles_stands_twice(lines: list[Line]) -> int:
    lines[50].exchange(None, lines[50].block("left")[0] + 1)
    return 50


@found_as("blocks")
def a_seat_has_two_ranks_and_no_grade(lines: list[Line]) -> int:
    grade, rank = lines[50].block("standing")[:2]
    lines[50].exchange(grade, rank + 1 if (rank - FIRST["standing"]) % 20 < 19 else rank - 1)
    return 50


@found_as("blocks")
def two_tiles_are_drawn(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.sparse[-1] != FIRST["drawn"])
    lines[index].exchange(None, FIRST["drawn"])
    return index


# Table and hand


@found_as("dora")
def a_third_indicator_without_a_second(lines: list[Line]) -> int:
    lines[50].exchange(None, FIRST["dora"] + 2 * NUM_TILES + NORTH)
    return 50


@found_as("dora")
def a_second_indicator_without_a_kan(lines: list[Line]) -> int:
    lines[50].exchange(None, FIRST["dora"] + NUM_TILES + NORTH)
    return 50


@found_as("dora")
def an_indicator_changes(lines: list[Line]) -> int:
    dora = lines[50].block("dora")[0]
    lines[50].exchange(dora, dora + (1 if dora == FIRST["dora"] else -1))
    return 50


@found_as("dora")
def a_kan_without_its_indicator(lines: list[Line]) -> int:
    index = find(lines, lambda line: len(line.block("dora")) == 2)
    lines[index].exchange(lines[index].block("dora")[1])
    return index


@found_as("left")
def a_tile_too_few_is_left(lines: list[Line]) -> int:
    left = lines[50].block("left")[0]
    lines[50].exchange(left, left + 1)
    return 50


@found_as("tiles")
def an_indicator_is_the_fifth_of_its_kind(lines: list[Line]) -> int:
    def full(line: Line) -> list[int]:
        events = map(V.progression.describe, line.progression)
        seen = tiles(line) + [values["tile"] for name, values in events if name == "discard"]
        return [tile for tile in range(NUM_TILES) if [tile34_of(t) for t in seen].count(tile34_of(tile)) == 4]

    index = find(lines, full)
    lines[index].exchange(lines[index].block("dora")[0], FIRST["dora"] + full(lines[index])[0])
    return index


@found_as("tiles")
def a_red_five_is_held_and_an_indicator(lines: list[Line]) -> int:
    index = find(lines, lambda line: RED_5P in tiles(line))
    lines[index].exchange(lines[index].block("dora")[0], FIRST["dora"] + RED_5P)
    return index


@found_as("hand size")
def a_tile_is_missing_from_the_hand(lines: list[Line]) -> int:
    lines[50].exchange(lines[50].block("hand")[-1])
    return 50


@found_as("hand copies")
def a_second_copy_without_the_first(lines: list[Line]) -> int:
    index = find(lines, lambda line: tiles(line).count(NORTH) == 1)
    slot = FIRST["hand"] + HAND_SLOT_FIRST[NORTH]
    lines[index].exchange(slot, slot + 1)
    return index


@found_as("hand")
def a_tile_of_the_hand_becomes_another(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and RED_DRAGON not in tiles(line) and len(line.progression) > 20)
    lines[index].exchange(lines[index].block("hand")[-1], FIRST["hand"] + HAND_SLOT_FIRST[RED_DRAGON])
    return index


@found_as("actions")
def the_drawn_tile_becomes_another(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.is_turn and line.sparse[-1] != FIRST["drawn"])
    lines[index].exchange(lines[index].sparse[-1], lines[index].sparse[-1] - 1)
    return index


# Numbers and what stays the same in a game


@found_as("numbers")
def a_score_is_another(lines: list[Line]) -> int:
    lines[50].numeric[3] += 100
    return 50


@found_as("numbers")
def a_counter_stick_is_added(lines: list[Line]) -> int:
    lines[50].numeric[0] += 1
    return 50


@found_as("numbers")
def a_riichi_stick_is_not_on_the_table(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.numeric[1] == 1)
    lines[index].numeric[1] = 0
    return index


@found_as("numbers")
def points_are_missing_in_a_whole_round(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    for i in round_of(lines, index):
        lines[i].numeric[2] -= 100
    return index


@found_as("numbers")
def a_round_begins_with_other_scores_than_the_last_one_left(lines: list[Line]) -> int:
    index = find(lines, lambda line: line.progression == [0])
    for i in round_of(lines, index):
        lines[i].numeric[2] -= 100
        lines[i].numeric[3] += 100
    return index


@found_as("ranks")
def two_seats_exchange_their_ranks(lines: list[Line]) -> int:
    first, second = lines[50].block("standing")[1], lines[50].block("standing")[3]
    lines[50].exchange(first, second - 20)
    lines[50].exchange(second, first + 20)
    return 50


@found_as("game")
def the_room_changes(lines: list[Line]) -> int:
    lines[50].exchange(lines[50].sparse[0], (lines[50].sparse[0] + 1) % 5)
    return 50


@found_as("game")
def a_grade_changes(lines: list[Line]) -> int:
    grade = lines[50].block("standing")[2]
    lines[50].exchange(grade, grade - 1)
    return 50


@found_as("game")
def a_line_lacks_the_hidden_field(lines: list[Line]) -> int:
    text = lines[50].text().rpartition("\t")[0]
    lines[50].text = lambda: f"{text}\n"  # type: ignore[method-assign]
    return 50
