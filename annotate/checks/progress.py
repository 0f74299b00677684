"""The public state of a round, built up from the progression's events one by one.

`Progress.apply` reports impossible events, by the rules that Tenhou and Mahjong Soul share.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

from annotate.checks.rules import Rules
from annotate.checks.shapes import MOST_COPIES, TERMINALS_AND_HONOURS
from annotate.vocabulary import (
    CHI_TILES,
    HAND_SLOT_FIRST,
    NUM_SUITS,
    NUM_TILES,
    NUM_TILES34,
    RANKS_PER_SUIT,
    TILE_NAMES,
    is_red,
    tile34_of,
    tile_of,
)

MOST_KANS = 4
MOST_MELDS = 4
_TERMINAL_AND_HONOUR_BITS = sum(1 << kind for kind in TERMINALS_AND_HONOURS)
NUM_COPIES = tuple(end - first for first, end in pairwise(HAND_SLOT_FIRST))

NORTH = TILE_NAMES.index("4z")
KIND_OF = tuple(tile34_of(tile) for tile in range(NUM_TILES))
TILES_OF_KIND = tuple(tuple(t for t in range(NUM_TILES) if KIND_OF[t] == kind) for kind in range(NUM_TILES34))
RED_OF_KIND = {tile34_of(tile): tile for tile in range(NUM_TILES) if is_red(tile)}
_FIRST_WIND, _LAST_WIND = NUM_SUITS * RANKS_PER_SUIT, NUM_SUITS * RANKS_PER_SUIT + 3


class Event(NamedTuple):
    """A decoded token of the progression. `tile` is the one discarded, called or added; of an ankan ordinary."""

    name: str
    seat: int = -1
    tile: int = -1
    kind: int = -1
    is_tsumogiri: bool = False
    is_riichi: bool = False
    relative_seat: int = -1
    """from which a pon or daiminkan was called"""
    used: tuple[int, ...] = ()
    """tiles of the hand that a chi used"""
    token: int = -1

    def __str__(self) -> str:
        return f"seat {self.seat}: {self.in_words()}" if self.seat >= 0 else "the beginning"

    def in_words(self) -> str:
        """Formats the event without the seat, such as "discard 5m as drawn with riichi"."""
        if self.name == "chi":
            return f"chi {TILE_NAMES[self.tile]} with {' '.join(TILE_NAMES[tile] for tile in self.used)}"
        words = f"{self.name} {TILE_NAMES[self.tile]}" if self.tile >= 0 else self.name
        if self.name in ("pon", "daiminkan"):
            words += f" from relative seat {self.relative_seat}"
        return words + " as drawn" * self.is_tsumogiri + " with riichi" * self.is_riichi


def _event(token: int, rules: Rules) -> Event:
    name, values = rules.vocabulary.progression.describe(token)
    if "seat" not in values:
        return Event(name, token=token)
    if name == "kita":
        return Event(name, values["seat"], NORTH, KIND_OF[NORTH], token=token)
    seat, relative_seat = values["seat"], values.get("relative_seat", -1)
    if name == "chi":
        *used, tile = CHI_TILES[values["chi"]]
        return Event(name, seat, tile, KIND_OF[tile], relative_seat=2, used=tuple(used), token=token)
    tile = values["tile"] if "tile" in values else tile_of(values["tile34"])
    flags = bool(values.get("tsumogiri")), bool(values.get("riichi"))
    return Event(name, seat, tile, KIND_OF[tile], *flags, relative_seat=relative_seat, token=token)


@cache
def events_of(rules: Rules) -> tuple[Event, ...]:
    """Returns the events by the tokens of the progression."""
    return tuple(_event(token, rules) for token in range(rules.vocabulary.progression.size))


def swapped_kinds(event: Event) -> tuple[int, ...]:
    """Returns the kinds that may not be discarded after a chi or pon (kuikae)."""
    if event.name != "chi":
        return (event.kind,)
    low, high = sorted(KIND_OF[tile] for tile in event.used)
    if high - low == 1:
        other = high + 1 if event.kind < low else low - 1
        if other >= 0 and other // RANKS_PER_SUIT == low // RANKS_PER_SUIT:
            return (event.kind, other)
    return (event.kind,)


class Progress:
    """The public state of the table after the events so far."""

    def __init__(self, dealer: int, rules: Rules) -> None:
        self.rules = rules
        num_seats = rules.num_seats
        self.dealer = dealer
        self.last = Event("begin")
        self.num_draws = 0
        """tiles drawn for the events so far, without the one drawn for the next event"""
        self.is_aborted = False
        """no further tile may be drawn: four riichi, four equal winds, four kans of several seats"""
        self.num_melds = [0] * num_seats
        self.is_open = [False] * num_seats
        self.closed_kans = [0] * num_seats
        """their kinds, as bits"""
        self.pons: list[set[int]] = [set() for _ in rules.seats]
        self.riichi: list[int] = []
        """seats in the order of their riichi"""
        self.is_riichi = [False] * num_seats
        self.river = [0] * num_seats
        """kinds that a seat has discarded, as bits"""
        self.is_called_from = [False] * num_seats
        """a discard of the seat was called"""
        self.missed = [0] * num_seats
        """kinds that others have discarded since a seat did, or since its riichi, without the last one; as bits"""
        self.kans: list[int] = []
        """their seats"""
        self.num_kans_in_turn = 0
        """since the last discard"""
        self.num_norths = 0
        """set aside"""
        self.num_discards = 0
        self.is_interrupted = False
        """by a call, a kan or a North set aside"""
        self.seen_kinds = [0] * NUM_TILES34
        self.seen = [0] * NUM_TILES
        """of those seen, the tiles that are known to be red or not"""

    def apply(self, event: Event) -> str | None:
        """Applies an event, even an impossible one. Returns why it is impossible, or None."""
        if self.last.name in ("discard", "kakan", "kita"):
            self._miss(self.last)
        if event.name == "discard":
            self.num_kans_in_turn = 0
            problem = self._discard(event)
        elif event.name in ("chi", "pon", "daiminkan"):
            problem = self._call(event)
        elif event.name in ("ankan", "kakan"):
            problem = self._own_kan(event)
        elif event.name == "kita":
            problem = self._set_aside(event)
        else:
            return "starts the round again" if event.name == "begin" else "is a token without a meaning"
        self.last = event
        kind, tile = event.kind, event.tile
        if problem is None and (self.seen_kinds[kind] > MOST_COPIES or self.seen[tile] > NUM_COPIES[tile]):
            problem = f"shows more of {TILE_NAMES[tile]} than there are"
        return problem

    def next_to_draw(self) -> int:
        """Returns the seat whose turn it is if nobody claims the last tile."""
        name, seat = self.last.name, self.last.seat
        if name == "begin":
            return self.dealer
        return (seat + 1) % self.rules.num_seats if name == "discard" else seat

    def has_drawn(self) -> bool:
        """Returns whether the next discard is from a hand with a drawn tile, not after a chi or pon."""
        return self.last.name not in ("chi", "pon")

    def has_nagashi(self, seat: int) -> bool:
        """Returns whether the seat's discards so far qualify for a mangan of discards (nagashi)."""
        return not self.river[seat] & ~_TERMINAL_AND_HONOUR_BITS and not self.is_called_from[seat]

    def _wrong_turn(self, event: Event) -> str | None:
        turn = self.next_to_draw()
        if event.seat != turn:
            return f"is out of turn: it is seat {turn}'s"
        if self.has_drawn():
            self.num_draws += 1
            if self.num_draws > self.rules.num_draws:
                return "comes after the last tile was drawn"
            if self.is_aborted:
                return "comes after the round was aborted"
        return None

    def _discard(self, event: Event) -> str | None:
        seat, was_riichi = event.seat, self.is_riichi[event.seat]
        problem = self._wrong_turn(event)
        self.num_discards += 1
        self.river[seat] |= 1 << event.kind
        self.seen_kinds[event.kind] += 1
        self.seen[event.tile] += 1
        if not was_riichi:
            self.missed[seat] = 0
        if problem is None:
            problem = self._wrong_flags(event)
        if event.is_riichi and not was_riichi:
            self.riichi.append(seat)
            self.is_riichi[seat] = True
        self._abort(event)
        return problem

    def _wrong_flags(self, event: Event) -> str | None:
        if event.is_tsumogiri and not self.has_drawn():
            return "cannot be of a drawn tile: it follows a call"
        if event.is_tsumogiri and self.last.name == "begin":
            return "cannot be of a drawn tile: all of the dealer's 14 tiles count as dealt"
        if self.is_riichi[event.seat]:
            if event.is_riichi:
                return "declares riichi a second time"
            return None if event.is_tsumogiri else "must be of the drawn tile: the seat is in riichi"
        if event.is_riichi and self.is_open[event.seat]:
            return "declares riichi with an open hand"
        left = self.rules.num_draws - self.num_draws
        if event.is_riichi and left < self.rules.left_for_riichi:
            return f"declares riichi with {left} tiles left, not {self.rules.left_for_riichi}"
        if not self.has_drawn() and event.kind in swapped_kinds(self.last):
            return "is swap-calling (kuikae)"
        return None

    def _call(self, event: Event) -> str | None:
        last, seat = self.last, event.seat
        wanted = 3 if event.name == "daiminkan" else 2
        if event.name == "chi":
            for tile in event.used:
                self.seen_kinds[KIND_OF[tile]] += 1
                self.seen[tile] += 1
        else:
            self.seen_kinds[event.kind] += wanted
            self._see_called(event, wanted)
        self.num_melds[seat] += 1
        self.is_open[seat] = self.is_interrupted = True
        if event.name == "pon":
            self.pons[seat].add(event.kind)
        if event.name == "daiminkan":
            self.kans.append(seat)
            self.num_kans_in_turn += 1
        if last.name != "discard":
            return "calls where nothing was discarded last"
        self.is_called_from[last.seat] = True
        if event.tile != last.tile:
            return f"calls another tile than the last discard, {TILE_NAMES[last.tile]}"
        if last.seat == seat or self.rules.relative(last.seat, seat) != event.relative_seat:
            return f"calls from the wrong seat: seat {last.seat} discarded last"
        if self.is_riichi[seat]:
            return "calls in riichi"
        if self.num_draws >= self.rules.num_draws:
            return "calls the last tile"
        return self._too_many(event)

    def _see_called(self, event: Event, number: int) -> None:
        """Adds the tiles of a call: of a kan all are known; of a pon of ordinary fives, one hand tile may be red."""
        red = RED_OF_KIND.get(event.kind)
        if red is None or event.tile == red:
            self.seen[tile_of(event.kind)] += number
        else:
            self.seen[tile_of(event.kind)] += number - 1
            self.seen[red] += event.name == "daiminkan"

    def _own_kan(self, event: Event) -> str | None:
        seat = event.seat
        problem = self._wrong_turn(event)
        if problem is None and not self.has_drawn():
            problem = "comes after a call, before a discard"
        if problem is None and self.num_draws >= self.rules.num_draws:
            problem = "comes with the last tile"
        if event.name == "ankan":
            self.seen_kinds[event.kind] += MOST_COPIES
            red = RED_OF_KIND.get(event.kind)
            self.seen[tile_of(event.kind)] += MOST_COPIES - (red is not None)
            if red is not None:
                self.seen[red] += 1
            self.num_melds[seat] += 1
            self.closed_kans[seat] |= 1 << event.kind
        else:
            if problem is None and event.kind not in self.pons[seat]:
                problem = "adds to no pon"
            if problem is None and self.is_riichi[seat]:
                problem = "is made in riichi"
            self.seen_kinds[event.kind] += 1
            self._see_added(event)
            self.pons[seat].discard(event.kind)
        self.kans.append(seat)
        self.num_kans_in_turn += 1
        self.is_interrupted = True
        return problem or self._too_many(event)

    def _set_aside(self, event: Event) -> str | None:
        problem = self._wrong_turn(event)
        if problem is None and not self.has_drawn():
            problem = "comes after a call, before a discard"
        if problem is None and self.num_draws >= self.rules.num_draws:
            problem = "comes with the last tile"
        self.seen_kinds[event.kind] += 1
        self.seen[event.tile] += 1
        self.num_norths += 1
        self.is_interrupted = True
        return problem

    def _see_added(self, event: Event) -> None:
        red = RED_OF_KIND.get(event.kind)
        self.seen[event.tile] += 1
        if red is not None and self.seen_kinds[event.kind] == MOST_COPIES:  # all four are known now
            for tile in (red, tile_of(event.kind)):
                self.seen[tile] = NUM_COPIES[tile]

    def _too_many(self, event: Event) -> str | None:
        if self.num_melds[event.seat] > MOST_MELDS:
            return "is the fifth meld of the seat"
        return "is the fifth kan" if len(self.kans) > MOST_KANS else None

    def _miss(self, event: Event) -> None:
        kind = 1 << event.kind
        for seat in self.rules.seats:
            if seat != event.seat:
                self.missed[seat] |= kind

    def is_last_kan(self) -> bool:
        """Returns whether the next discard aborts the round: four kans, not all of one seat."""
        return len(self.kans) == MOST_KANS and len(set(self.kans)) > 1

    def _abort(self, event: Event) -> None:
        if self.is_last_kan():
            self.is_aborted = True
        if self.rules.num_seats != 4:  # these need a fourth player
            return
        self.is_aborted |= len(self.riichi) == 4
        if self.num_discards == 4 and not self.is_interrupted:
            self.is_aborted |= len(set(self.river)) == 1 and _FIRST_WIND <= event.kind <= _LAST_WIND
