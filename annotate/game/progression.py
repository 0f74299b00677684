"""Calls, kans and Norths set aside as tokens of the progression; those of discards are computed by `Table`."""

from annotate.game.record import Event
from annotate.game.tiles import TILE_OF_MJAI
from annotate.vocabulary import CHI_OF_TILES, Vocabulary, tile34_of

CALLS = ("chi", "pon", "daiminkan", "ankan", "kakan", "kita")


def call_token(event: Event, vocabulary: Vocabulary) -> int:
    """Returns the progression's token of a call, a kan or a North set aside."""
    seat = event["actor"]
    block = vocabulary.progression[event["type"]]
    return block.token(seat, *call_indices(event, event["type"], seat, vocabulary.num_seats))


def call_indices(event: Event, kind: str, seat: int, num_seats: int) -> tuple[int, ...]:
    """Returns the indices of a call, a kan or a North set aside of `seat` in its block of actions. Raises ValueError if
    it is a chi of no sequence."""
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
