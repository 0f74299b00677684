"""Reads elements of Tenhou's mjlog: attributes, within the range that is possible in a record, and the longest events,
the deal and payments.
"""

from collections.abc import Sequence

from annotate.game import record
from annotate.game.record import Event
from annotate.game.tiles import NAME_OF_ID, NUM_TILE_IDS
from annotate.records.tenhou.meld import SEATS_OF_TABLE

LARGEST_NUMBER = 100_000
"""upper limit, far above any number in a record; scores are in hundreds"""

Attributes = dict[str, str]


def attribute_of(attributes: Attributes, tag: str, name: str) -> str:
    """Returns an attribute; raises ValueError if the element has none of this name."""
    if name not in attributes:
        raise ValueError(f"<{tag}> without {name}")
    return attributes[name]


def integers_of(attributes: Attributes, tag: str, name: str, count: int | None = None) -> tuple[int, ...]:
    """Returns comma-separated integers; raises ValueError if they are not integers, or not `count` of them."""
    text = attribute_of(attributes, tag, name)
    try:
        values = tuple(map(int, text.split(",")))
    except ValueError:
        raise ValueError(f'<{tag} {name}="{text[:80]}">: comma-separated integers expected') from None
    if max(map(abs, values)) > LARGEST_NUMBER:
        raise ValueError(f'<{tag} {name}="{text[:80]}">: out of range')
    if count is not None and len(values) != count:
        raise ValueError(f'<{tag} {name}="{text[:80]}">: {count} integers expected')
    return values


def integer_of(attributes: Attributes, tag: str, name: str, low: int, high: int) -> int:
    """Returns one integer in low ... high - 1."""
    value = integers_of(attributes, tag, name, 1)[0]
    if not low <= value < high:
        raise ValueError(f'<{tag} {name}="{value}">: {low} ... {high - 1} expected')
    return value


def tiles_of(attributes: Attributes, tag: str, name: str) -> tuple[int, ...]:
    """Returns physical tiles, 0 ... 135."""
    tiles = integers_of(attributes, tag, name)
    if not all(0 <= tile < NUM_TILE_IDS for tile in tiles):
        raise ValueError(f'<{tag} {name}="{attributes[name]}">: tiles are 0 ... {NUM_TILE_IDS - 1}')
    return tiles


def start_kyoku(attributes: Attributes, num_seats: int) -> Event:
    """Returns the start of a round from <INIT>; raises ValueError if no round can start like this."""
    # the two dice, seed[3:5], are empty in some old records
    seed = attribute_of(attributes, "INIT", "seed").split(",")
    played = ",".join(seed[:3] + seed[5:])
    number, honba, deposits, dora = integers_of({"seed": played}, "INIT", "seed", 4)
    dealer = integer_of(attributes, "INIT", "oya", 0, num_seats)
    if not (0 <= number < 4 * SEATS_OF_TABLE and honba >= 0 and deposits >= 0 and 0 <= dora < NUM_TILE_IDS):
        raise ValueError(f'<INIT seed="{attributes["seed"]}">: out of range')
    wind, expected = divmod(number, SEATS_OF_TABLE)
    if dealer != expected:
        raise ValueError(f'<INIT oya="{dealer}">: the dealer of round {number} is seat {expected}')
    hands = [tiles_of(attributes, "INIT", f"hai{seat}") for seat in range(num_seats)]
    dealt = [dora, *(tile for hand in hands for tile in hand)]
    if len(dealt) != 1 + 13 * num_seats or len(set(dealt)) != len(dealt):
        raise ValueError("<INIT>: 13 tiles for each seat and an indicator, all different, expected")
    scores = [100 * score for score in integers_of(attributes, "INIT", "ten", SEATS_OF_TABLE)][:num_seats]
    names = [[NAME_OF_ID[tile] for tile in hand] for hand in hands]
    return record.start_kyoku(wind, dealer, honba, deposits, NAME_OF_ID[dora], scores, names)


def payments(attributes: Attributes, tag: str, num_seats: int) -> Event:
    """Returns the payments of each seat, and the resulting scores."""
    numbers = [100 * number for number in integers_of(attributes, tag, "sc", 2 * SEATS_OF_TABLE)]
    before, deltas = numbers[: 2 * num_seats : 2], numbers[1 : 2 * num_seats : 2]
    return {"deltas": deltas, "scores": [score + change for score, change in zip(before, deltas, strict=True)]}


def require_sticks(attributes: Attributes, tag: str, events: Sequence[Event]) -> None:
    """Raises ValueError unless the counters and deposits at the end of a round follow from its events."""
    start, paid = events[0], sum(event["type"] == "reach_accepted" for event in events)
    honba, deposits = start["honba"], start["kyotaku"] + paid
    if "ba" in attributes and integers_of(attributes, tag, "ba") != (honba, deposits):
        words = f"{honba} counters and {deposits} deposits by the round itself"
        raise ValueError(f'<{tag} ba="{attributes["ba"]}">: {words}')
