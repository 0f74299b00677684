"""Converts calls, kans and Norths set aside to indices in their blocks of tokens."""

from annotate.game.record import CLAIMS, Event
from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import CHI_OF_TILES, tile34_of

CALLS = (*CLAIMS, "ankan", "kakan", "kita")


def call_indices(event: Event, kind: str, seat: int, num_seats: int) -> tuple[int, ...]:
    """Returns the indices of a call, a kan or a North set aside of `seat` in its block of actions. In the block of the
    progression, the seat precedes them. Raises ValueError if the tiles of a chi are not a sequence."""
    if kind == "kita":
        return ()
    if kind == "ankan":
        return (tile34_of(TILE_OF_MJAI[event["consumed"][0]]),)
    tile = TILE_OF_MJAI[event["pai"]]
    if kind == "kakan":
        return (tile,)
    if kind != "chi":
        return (event["target"] - seat - 1) % num_seats, tile
    chi = CHI_OF_TILES.get((frozenset(TILE_OF_MJAI[name] for name in event["consumed"]), tile))
    if chi is None:
        raise ValueError(f"no sequence: chi {event['pai']} with {' '.join(event['consumed'])}")
    return (chi,)
