"""Converts an annotation to the table as its seat saw it; the review draws this table.

Rivers and melds come from the record, as tokens do not distinguish which fives of a pon are red; the rest comes from
the annotation's tokens. Tiles have the specification's names: 0 is a red five, 1z ... 7z are E S W N P F C.
"""

from dataclasses import dataclass
from typing import Any

from annotate.annotation import Annotation
from annotate.game.decisions import kind_of
from annotate.game.hands import Meld
from annotate.vocabulary import CHI_TILES, NUM_GRADES, TILE_NAMES, Vocabulary, tile_of, tile_of_slot
from annotate.words import GRADES, describe_action, situation_of
from kanachan.review.course import Discard, Moment
from kanachan.review.tile_names import NORTH, sorted_tiles


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


def table_of(annotation: Annotation, moment: Moment, vocabulary: Vocabulary) -> TableView:
    """Returns the table that `annotation` describes, at its moment in the round."""
    sparse, numeric = situation_of(annotation, vocabulary)
    seats = range(vocabulary.num_seats)
    standing = [
        sorted(values["grade_or_rank"] for values in sparse["standing"] if values["seat"] == seat) for seat in seats
    ]
    return TableView(
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
        rivers=moment.rivers,
        melds=moment.melds,
        norths=moment.norths,
        **moment.last,
    )


def candidate_of(token: int, vocabulary: Vocabulary) -> dict[str, Any]:
    """Returns an action as data, with the tiles to draw for it."""
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
    return {
        "token": token,
        "kind": kind_of(token, vocabulary),
        "words": describe_action(token, vocabulary),
        "tiles": [TILE_NAMES[tile] for tile in tiles],
        "tsumogiri": bool(values.get("tsumogiri")),
    }
