"""Converts an annotation to the table as its seat saw it, which the review draws.

All of it comes from the annotation's tokens, so what is drawn is the input of the networks. Tiles have the
specification's names: 0 is a red five, 1z ... 7z are E S W N P F C.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotate.annotation import Annotation
from annotate.game.decisions import kind_of
from annotate.game.hands import Meld
from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import (
    CHI_TILES,
    HAND_SLOT_FIRST,
    NUM_GRADES,
    NUM_TILES,
    TILE_NAMES,
    Vocabulary,
    tile34_of,
    tile_of,
    tile_of_slot,
)
from annotate.words import GRADES, describe_action
from kanachan.review.tile_names import NORTH, kind_of_tile, sorted_tiles


@dataclass(slots=True)
class Discard:
    """A tile of a river."""

    tile: str
    tsumogiri: bool
    riichi: bool
    called: bool = False
    """whether another seat has taken it"""


@dataclass(slots=True)
class TableView:
    """The table before one decision; lists over seats are in the order of the seats, 0 the first dealer."""

    seat: int
    wind: int
    """of the round, 0 East"""
    dealer: int
    honba: int
    deposits: int
    left: int
    """live wall tiles not yet drawn"""
    dora_indicators: list[str]
    scores: list[int]
    ranks: list[int]
    """0 = first"""
    grades: list[str]
    hand: list[str]
    drawn: str | None
    rivers: list[list[Discard]]
    melds: list[list[Meld]]
    norths: list[int]
    """how many each seat has set aside"""
    last_seat: int | None
    """the seat that acted last; where the decision is a reaction, the seat of what may be claimed"""
    last_kind: str | None
    """discard, chi, pon, daiminkan, ankan, kakan or kita"""
    last_meld: int | None
    """index in the melds of `last_seat`; None for a discard or kita"""


@dataclass(slots=True)
class Candidate:
    """One possible action."""

    token: int
    kind: str
    words: str
    tiles: list[str] = field(default_factory=list)
    tsumogiri: bool = False


def table_of(annotation: Annotation, vocabulary: Vocabulary, pons: Sequence[Sequence[str]] = ()) -> TableView:
    """Returns the table that `annotation` describes. `pons`: for each pon of the round in turn, the two tiles from the
    hand, in mjai's names: tokens do not contain whether a red five was among them; ordinary fives are assumed then."""
    sparse: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
    for token in annotation.sparse:
        name, values = vocabulary.sparse.describe(token)
        sparse[name].append(values)
    numeric = dict(zip(vocabulary.numeric, annotation.numeric, strict=True))
    standing = [
        sorted(values["grade_or_rank"] for values in sparse["standing"] if values["seat"] == seat)
        for seat in range(vocabulary.num_seats)
    ]
    done = _Done(annotation.progression, vocabulary, pons)
    return TableView(
        seat=sparse["seat"][0]["seat"],
        wind=sparse["wind"][0]["wind"],
        dealer=sparse["round"][0]["dealer"],
        honba=numeric["honba"],
        deposits=numeric["deposits"],
        left=vocabulary.sparse["left"].size - 1 - sparse["left"][0]["drawn"],
        dora_indicators=[TILE_NAMES[values["tile"]] for values in sparse["dora"]],
        scores=[numeric[f"score_{seat}"] for seat in range(vocabulary.num_seats)],
        ranks=[rank - NUM_GRADES for _, rank in standing],
        grades=[GRADES[grade] for grade, _ in standing],
        hand=sorted_tiles(TILE_NAMES[tile_of_slot(values["slot"])] for values in sparse["hand"]),
        drawn=TILE_NAMES[sparse["drawn"][0]["tile"]] if sparse["drawn"] else None,
        rivers=done.rivers,
        melds=done.melds,
        norths=done.norths,
        last_seat=done.last_seat,
        last_kind=done.last_kind,
        last_meld=done.last_meld,
    )


def candidate_of(token: int, vocabulary: Vocabulary) -> Candidate:
    """Returns an action, with the tiles to draw for it."""
    name, values = vocabulary.action.describe(token)
    tiles: list[int] = []
    if "chi" in values:
        tiles = list(CHI_TILES[values["chi"]])
    elif "tile34" in values:
        tiles = [tile_of(values["tile34"])]
    elif "tile" in values:
        tiles = [values["tile"]]
    elif name == "kita":
        tiles = [TILE_NAMES.index(NORTH)]
    return Candidate(
        token=token,
        kind=kind_of(token, vocabulary),
        words=describe_action(token, vocabulary),
        tiles=[TILE_NAMES[tile] for tile in tiles],
        tsumogiri=bool(values.get("tsumogiri")),
    )


class _Done:
    """Rivers, melds and Norths set aside, built event by event."""

    def __init__(self, progression: Sequence[int], vocabulary: Vocabulary, pons: Sequence[Sequence[str]]) -> None:
        self.rivers: list[list[Discard]] = [[] for _ in range(vocabulary.num_seats)]
        self.melds: list[list[Meld]] = [[] for _ in range(vocabulary.num_seats)]
        self.norths = [0] * vocabulary.num_seats
        self.last_seat: int | None = None
        self.last_kind: str | None = None
        self.last_meld: int | None = None
        self._num_seats = vocabulary.num_seats
        self._pons = iter(pons)
        for token in progression:
            name, values = vocabulary.progression.describe(token)
            if "seat" in values:
                self.last_seat, self.last_kind = values["seat"], name
                self.last_meld = self._add(name, values)

    def _add(self, name: str, values: dict[str, int]) -> int | None:
        """Adds an event; returns the index in the seat's melds, or None for a discard or kita."""
        seat = values["seat"]
        if name == "discard":
            discard = Discard(TILE_NAMES[values["tile"]], bool(values["tsumogiri"]), bool(values["riichi"]))
            self.rivers[seat].append(discard)
            return None
        if name == "kita":
            self.norths[seat] += 1
            return None
        if name == "kakan":
            return self._add_to_pon(seat, values["tile"])
        if name == "chi":
            *own, called = CHI_TILES[values["chi"]]
            self._call(seat, name, own, called, (seat - 1) % self._num_seats)
        elif name in ("pon", "daiminkan"):
            called = values["tile"]
            copies = _copies(called)
            copies.remove(called)
            if name == "pon":
                consumed = next(self._pons, None)
                copies = copies[-2:] if consumed is None else sorted(TILE_OF_MJAI[tile] for tile in consumed)
            self._call(seat, name, copies, called, (seat + values["relative_seat"] + 1) % self._num_seats)
        else:
            assert name == "ankan", name
            self.melds[seat].append(Meld(name, [TILE_NAMES[tile] for tile in _copies(tile_of(values["tile34"]))]))
        return len(self.melds[seat]) - 1

    def _call(self, seat: int, kind: str, own: Sequence[int], called: int, source: int) -> None:
        self.rivers[source][-1].called = True
        self.melds[seat].append(Meld(kind, [TILE_NAMES[tile] for tile in own], TILE_NAMES[called], source))

    def _add_to_pon(self, seat: int, tile: int) -> int:
        pons = [(meld.kind, kind_of_tile(meld.own[0])) for meld in self.melds[seat]]
        place = pons.index(("pon", tile34_of(tile)))
        meld = self.melds[seat][place]
        meld.kind, meld.added = "kakan", TILE_NAMES[tile]
        return place


def _copies(tile: int) -> list[int]:
    """Returns the four tiles of one kind, a red five first."""
    kind = tile34_of(tile)
    alike = [other for other in range(NUM_TILES) if tile34_of(other) == kind]
    return [other for other in alike for _ in range(HAND_SLOT_FIRST[other + 1] - HAND_SLOT_FIRST[other])]
