"""Calls, kans and Norths set aside as tokens of the progression.

Those of discards, by far the most frequent, are computed by `Table`.
"""

from annotate.game.record import Event
from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import CHI_OF_TILES, Vocabulary, tile34_of

CALLS = ("chi", "pon", "daiminkan", "ankan", "kakan", "kita")


def call_token(event: Event, vocabulary: Vocabulary) -> int:
    """Returns the progression's token of a call, a kan or a North set aside."""
    kind, block, seat = event["type"], vocabulary.progression.blocks, event["actor"]
    if kind == "kita":
        return block["kita"].token(seat)
    if kind == "ankan":
        return block["ankan"].token(seat, tile34_of(TILE_OF_MJAI[event["consumed"][0]]))
    tile = TILE_OF_MJAI[event["pai"]]
    if kind == "kakan":
        return block["kakan"].token(seat, tile)
    if kind == "chi":
        consumed = frozenset(TILE_OF_MJAI[name] for name in event["consumed"])
        return block["chi"].token(seat, CHI_OF_TILES[consumed, tile])
    relative_seat = (event["target"] - seat - 1) % vocabulary.num_seats
    return block[kind].token(seat, relative_seat, tile)
