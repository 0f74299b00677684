"""Reads the attributes of mjlog's elements: integers and tiles, within the range of what a record can hold."""

from annotate.game.tiles import NUM_TILE_IDS

LARGEST_NUMBER = 100_000
"""far beyond any number in a record; scores are in hundreds"""

Attributes = dict[str, str]


def attribute_of(attributes: Attributes, tag: str, name: str) -> str:
    """Returns an attribute; raises ValueError if the element has none of this name."""
    if name not in attributes:
        raise ValueError(f"<{tag}> without {name}")
    return attributes[name]


def integers_of(attributes: Attributes, tag: str, name: str, count: int | None = None) -> tuple[int, ...]:
    """Returns comma-separated integers; raises ValueError if they are not, or not `count`."""
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
