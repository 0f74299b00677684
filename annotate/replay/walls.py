"""Builds the wall for the replay of a recorded round: the record's own wall, or one that yields the events' tiles."""

from collections.abc import Sequence

from annotate.game.record import Event, Round, places_dealt, seat_dealt_otherwise
from annotate.game.tiles import NUM_DEAD, NUM_INDICATORS, TILE_OF_MJAI, unseen_tiles
from annotate.vocabulary import Vocabulary


def wall_of(recorded: Round, vocabulary: Vocabulary) -> list[int]:
    """Returns the wall for the replay of the round, as physical tiles in the order of the deal: the record's own wall
    if there is one, else the tiles of the events, with the remaining tiles at unseen places. Raises ValueError if the
    events show more than four equal tiles, more tiles than a wall has, or other tiles than the record's own wall."""
    start = recorded.events[0]
    live, rinshan, dora, ura = _shown(recorded.events)
    dealt = places_dealt(start["oya"], len(start["tehais"]))
    first = sum(map(len, dealt))
    num_tiles, num_rinshan = vocabulary.num_tile_ids, vocabulary.num_rinshan
    if (
        first + len(live) > num_tiles - NUM_DEAD
        or max(len(dora), len(ura)) > NUM_INDICATORS
        or len(rinshan) > num_rinshan
    ):
        raise ValueError("the round draws more tiles than the wall has")
    wall: list[str | None] = [None] * num_tiles
    wall[first : first + len(live)] = live
    for i, name in enumerate(rinshan):
        wall[-1 - i] = name
    for i, name in enumerate(dora):
        wall[-1 - num_rinshan - 2 * i] = name
    for i, name in enumerate(ura):
        wall[-2 - num_rinshan - 2 * i] = name
    if recorded.wall is not None:
        for name, shown in zip(recorded.wall, wall, strict=True):
            if shown not in (None, name):
                raise ValueError(f"the record's wall has {name} where the round shows {shown}")
        if (seat := seat_dealt_otherwise(recorded.wall, start)) is not None:
            raise ValueError(f"the record's wall deals seat {seat} another hand than the record shows")
        return _physical(recorded.wall, vocabulary)
    for places, hand in zip(dealt, start["tehais"], strict=True):
        for place, name in zip(places, hand, strict=True):
            wall[place] = name
    return _physical(wall, vocabulary)


def _shown(events: Sequence[Event]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Returns the tiles of the wall that the events show, each list in the order in which they are taken: tiles drawn,
    tiles drawn after kans, indicators of dora, indicators of hidden dora."""
    live, rinshan, dora, ura = list[str](), list[str](), [events[0]["dora_marker"]], list[str]()
    is_replacing = False
    for event in events:
        kind = event["type"]
        if kind == "tsumo":
            (rinshan if is_replacing else live).append(event["pai"])
            is_replacing = False
        elif kind in ("ankan", "kakan", "daiminkan", "kita"):
            is_replacing = True
        elif kind == "dora":
            dora.append(event["dora_marker"])
        elif kind == "hora":
            # every riichi winner of a multiple ron shows the same markers
            ura.extend(event.get("ura_markers", ())[len(ura) :])
    return live, rinshan, dora, ura


def _physical(names: Sequence[str | None], vocabulary: Vocabulary) -> list[int]:
    """Converts names to physical tiles; None becomes one of the remaining tiles."""
    pool = unseen_tiles(vocabulary)
    wall: list[int | None] = []
    for name in names:
        if name is None:
            wall.append(None)
            continue
        ids = pool[TILE_OF_MJAI[name]]
        if not ids:
            raise ValueError(f"the round shows more {name} than there are")
        wall.append(ids.pop(0))
    unseen = (tile for ids in pool for tile in ids)
    return [next(unseen) if tile is None else tile for tile in wall]
