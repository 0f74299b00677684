"""Converts an annotation to the table as its seat saw it; the review draws this table.

Everything comes from the annotation's tokens, so the drawn table is the input of the networks. Tiles have the
specification's names: 0 is a red five, 1z ... 7z are E S W N P F C.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from annotate.words import GRADES, describe_action, situation_of
from kanachan.review.tile_names import NORTH, kind_of_tile, sorted_tiles


@dataclass(slots=True)
class Discard:
    """A discarded tile in a river."""

    tile: str
    tsumogiri: bool
    riichi: bool
    called: bool = False
    """whether another seat has called it"""


@dataclass(slots=True)
class TableView:
    """The table before one decision; lists are by seat, where seat 0 is the first dealer."""

    seat: int
    wind: int
    """wind of the round; 0: East"""
    dealer: int
    honba: int
    deposits: int
    left: int
    """live wall tiles not yet drawn"""
    dora_indicators: list[str]
    scores: list[int]
    ranks: list[int]
    """0: first place"""
    grades: list[str]
    hand: list[str]
    drawn: str | None
    rivers: list[list[Discard]]
    melds: list[list[Meld]]
    norths: list[int]
    """number of Norths that each seat has set aside"""
    last_seat: int | None = None
    """the seat that acted last; if the decision is a reaction, the seat whose tile may be claimed"""
    last_kind: str | None = None
    """discard, chi, pon, daiminkan, ankan, kakan or kita"""
    last_meld: int | None = None
    """index in the melds of `last_seat`; None for a discard or kita"""


@dataclass(slots=True)
class Candidate:
    """One possible action."""

    token: int
    kind: str
    words: str
    tiles: list[str]
    tsumogiri: bool


def table_of(annotation: Annotation, vocabulary: Vocabulary, pons: Sequence[Sequence[str]] = ()) -> TableView:
    """Returns the table that `annotation` describes. `pons`: the two tiles from the hand for each pon of the round, in
    order, with mjai names. Without them, ordinary fives are assumed, since tokens do not distinguish red fives here."""
    sparse, numeric = situation_of(annotation, vocabulary)
    seats = range(vocabulary.num_seats)
    standing = [
        sorted(values["grade_or_rank"] for values in sparse["standing"] if values["seat"] == seat) for seat in seats
    ]
    table = TableView(
        seat=sparse["seat"][0]["seat"],
        wind=sparse["wind"][0]["wind"],
        dealer=sparse["round"][0]["dealer"],
        honba=numeric["honba"],
        deposits=numeric["deposits"],
        left=vocabulary.sparse["left"].size - 1 - sparse["left"][0]["drawn"],
        dora_indicators=[TILE_NAMES[values["tile"]] for values in sparse["dora"]],
        scores=[numeric[f"score_{seat}"] for seat in seats],
        ranks=[rank - NUM_GRADES for _, rank in standing],
        grades=[GRADES[grade] for grade, _ in standing],
        hand=sorted_tiles(TILE_NAMES[tile_of_slot(values["slot"])] for values in sparse["hand"]),
        drawn=TILE_NAMES[sparse["drawn"][0]["tile"]] if sparse["drawn"] else None,
        rivers=[[] for _ in seats],
        melds=[[] for _ in seats],
        norths=[0 for _ in seats],
    )
    consumed = iter(pons)
    for token in annotation.progression:
        name, values = vocabulary.progression.describe(token)
        if "seat" in values:
            table.last_seat, table.last_kind = values["seat"], name
            table.last_meld = _add(table, name, values, consumed)
    return table


def candidate_of(token: int, vocabulary: Vocabulary) -> Candidate:
    """Returns an action with the tiles to draw for it."""
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


def _add(table: TableView, name: str, values: dict[str, int], pons: Iterator[Sequence[str]]) -> int | None:
    """Adds an event; returns its index in the seat's melds, or None for a discard or kita."""
    seat = values["seat"]
    melds = table.melds[seat]
    if name == "discard":
        discard = Discard(TILE_NAMES[values["tile"]], bool(values["tsumogiri"]), bool(values["riichi"]))
        table.rivers[seat].append(discard)
        return None
    if name == "kita":
        table.norths[seat] += 1
        return None
    if name == "kakan":
        place = [(meld.kind, kind_of_tile(meld.own[0])) for meld in melds].index(("pon", tile34_of(values["tile"])))
        melds[place].kind, melds[place].added = "kakan", TILE_NAMES[values["tile"]]
        return place
    if name == "chi":
        *own, called = CHI_TILES[values["chi"]]
        _call(table, seat, name, own, called, -1)
    elif name in ("pon", "daiminkan"):
        called = values["tile"]
        own = _copies(called)
        own.remove(called)
        if name == "pon":
            consumed = next(pons, None)
            own = own[-2:] if consumed is None else sorted(TILE_OF_MJAI[tile] for tile in consumed)
        _call(table, seat, name, own, called, values["relative_seat"] + 1)
    else:
        assert name == "ankan", name
        melds.append(Meld(name, [TILE_NAMES[tile] for tile in _copies(tile_of(values["tile34"]))]))
    return len(melds) - 1


def _call(table: TableView, seat: int, kind: str, own: Sequence[int], called: int, step: int) -> None:
    """Adds a call of the last discard of the seat `step` seats further."""
    source = (seat + step) % len(table.rivers)
    table.rivers[source][-1].called = True
    table.melds[seat].append(Meld(kind, [TILE_NAMES[tile] for tile in own], TILE_NAMES[called], source))


def _copies(tile: int) -> list[int]:
    """Returns the four tiles of one kind; a red five is first."""
    kind = tile34_of(tile)
    alike = [other for other in range(NUM_TILES) if tile34_of(other) == kind]
    return [other for other in alike for _ in range(HAND_SLOT_FIRST[other + 1] - HAND_SLOT_FIRST[other])]
