"""Tile faces as SVG symbols, drawn from circles, sticks and strokes, so that they do not depend on fonts.

A symbol's id is `tile-` and the specification's name (`tile-0p` is a red five); `tile-back` is a tile face down.
A tile is WIDTH x HEIGHT.
"""

from annotate.vocabulary import TILE_NAMES

WIDTH, HEIGHT = 60, 80
_INK, _RED, _GREEN, _BLUE = "#20242b", "#c8102e", "#0b7a3b", "#1c4fa0"
_RED_FIVE_FACE, _FACE, _EDGE = "#ffe9e6", "#fdfbf3", "#b9b19c"

# Strokes of characters in a square of 100 x 100.
_NUMERALS = (
    "M10 50H90",
    "M22 28H78M8 76H92",
    "M16 20H84M24 50H76M8 82H92",
    "M14 20H86V84H14ZM38 20Q38 50 22 62M61 20V50Q61 60 82 59",
    "M14 16H86M47 16 37 84M18 48H74V84M6 84H94",
    "M48 6 54 22M8 34H92M36 48Q30 70 12 88M62 48Q76 66 88 88",
    "M6 50 92 34M42 10V72Q42 86 56 86H88V72",
    "M38 20Q34 62 8 88M54 14Q66 64 94 88",
    "M8 36H64V74Q64 88 78 88H92V74M38 8Q40 64 8 90",
)
_TEN_THOUSAND = (
    "M8 14H92M34 4V24M66 4V24M24 32H76V58H24ZM24 45H76M50 32V80M14 96V68H86V86Q86 95 74 94M32 82 66 77M58 70 70 86"
)
_EAST = "M10 20H90M50 4V97M24 34H76V62H24ZM24 48H76M47 62Q34 78 8 90M53 62Q66 78 92 90"
_SOUTH = "M10 18H90M50 4V36M14 96V36H86V86Q86 95 72 94M36 44 42 54M64 44 58 54M30 58H70M26 74H74M50 58V94"
_WEST = "M8 14H92M16 34H84V92H16ZM39 14V36Q39 54 18 62M61 14V50Q61 61 84 60M16 90H84"
_NORTH = "M38 6V94M8 36H38M4 82 38 66M62 6V76Q62 90 74 90H94V74M94 26 62 46"
_GREEN_DRAGON = (
    "M12 10H40Q32 30 6 42M16 22 30 30M56 4Q66 28 94 42M88 8 70 20M94 24 78 30M12 50H40V64H14V78H40Q40 98 24 94"
    "M60 50V58Q58 68 48 72M60 50H80V66H94M52 76H86Q78 92 48 97M60 80Q72 92 94 97"
)
_RED_DRAGON = "M14 28H86V64H14ZM50 4V97"

_HONOURS = (
    (_EAST, _INK),
    (_SOUTH, _INK),
    (_WEST, _INK),
    (_NORTH, _INK),
    ("", _BLUE),
    (_GREEN_DRAGON, _GREEN),
    (_RED_DRAGON, _RED),
)

# Circles: (x, y, colour); sticks: (x, y, colour, lean in degrees).
_LEFT, _MIDDLE, _RIGHT = 17.5, 30.0, 42.5
_CIRCLES: tuple[tuple[tuple[float, float, str], ...], ...] = (
    ((_MIDDLE, 40, _RED),),
    ((_MIDDLE, 22, _BLUE), (_MIDDLE, 58, _GREEN)),
    ((15, 18, _BLUE), (_MIDDLE, 40, _RED), (45, 62, _GREEN)),
    ((_LEFT, 22, _BLUE), (_RIGHT, 22, _GREEN), (_LEFT, 58, _GREEN), (_RIGHT, 58, _BLUE)),
    ((15, 18, _BLUE), (45, 18, _GREEN), (_MIDDLE, 40, _RED), (15, 62, _GREEN), (45, 62, _BLUE)),
    (*((x, 17, _GREEN) for x in (_LEFT, _RIGHT)), *((x, y, _RED) for y in (43, 63) for x in (_LEFT, _RIGHT))),
    ((13, 13, _GREEN), (30, 21, _GREEN), (47, 29, _GREEN), *((x, y, _RED) for y in (50, 67) for x in (_LEFT, _RIGHT))),
    tuple((x, y, _BLUE) for y in (13, 31, 49, 67) for x in (_LEFT, _RIGHT)),
    tuple((x, y, c) for y, c in ((16, _BLUE), (40, _RED), (64, _GREEN)) for x in (13, 30, 47)),
)
_STICKS: tuple[tuple[tuple[float, float, str, float], ...], ...] = (
    (),
    ((_MIDDLE, 23, _GREEN, 0), (_MIDDLE, 57, _GREEN, 0)),
    ((_MIDDLE, 23, _GREEN, 0), (_LEFT, 57, _GREEN, 0), (_RIGHT, 57, _GREEN, 0)),
    tuple((x, y, _GREEN, 0) for y in (23, 57) for x in (_LEFT, _RIGHT)),
    (*((x, y, _GREEN, 0) for y in (23, 57) for x in (13, 47)), (_MIDDLE, 40, _RED, 0)),
    tuple((x, y, _GREEN, 0) for y in (23, 57) for x in (13, 30, 47)),
    ((_MIDDLE, 16, _RED, 0), *((x, y, _GREEN, 0) for y in (40, 64) for x in (13, 30, 47))),
    (
        *((x, 23, _GREEN, 0) for x in (10, 50)),
        *((x, 57, _GREEN, 0) for x in (10, 50)),
        (23, 23, _GREEN, 32),
        (37, 23, _GREEN, -32),
        (23, 57, _GREEN, -32),
        (37, 57, _GREEN, 32),
    ),
    tuple((x, y, c, 0) for y in (16, 40, 64) for x, c in ((13, _GREEN), (30, _RED), (47, _GREEN))),
)
_BIRD = (
    f'<path d="M42 17Q50 19 52 24L44 25Q46 42 38 51Q28 62 14 70Q12 58 17 49Q22 38 31 34Q32 18 42 17Z" fill="{_GREEN}"/>'
    f'<path d="M14 70Q6 58 9 46M14 70Q11 60 14 44M30 57V70M36 53V70" stroke="{_RED}" stroke-width="3" fill="none"/>'
    f'<path d="M20 52Q30 50 36 40" stroke="{_FACE}" stroke-width="2.5" fill="none"/>'
    f'<circle cx="40.5" cy="23" r="2.2" fill="{_FACE}"/>'
)


def tile_symbols() -> str:
    """Returns SVG with a <symbol> for each tile and one for a tile face down."""
    faces = [_symbol(name, _face(name), _RED_FIVE_FACE if name[0] == "0" else _FACE) for name in TILE_NAMES]
    back = '<rect x="7" y="7" width="46" height="66" rx="5" fill="none" stroke="#f3d08a" stroke-width="2.5"/>'
    return "\n".join([*faces, _symbol("back", back, "#c98a2b")])


def _symbol(name: str, content: str, ground: str) -> str:
    return (
        f'<symbol id="tile-{name}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="7" fill="{ground}" stroke="{_EDGE}" '
        f'stroke-width="2"/>{content}</symbol>'
    )


def _face(name: str) -> str:
    digit, suit = int(name[0]), name[1]
    if suit == "z":
        return _honour(digit)
    is_red, number = digit == 0, digit or 5
    if suit == "m":
        return _strokes(_NUMERALS[number - 1], 14, 5, 32, 7, _RED if is_red else _INK) + _strokes(
            _TEN_THOUSAND, 13, 40, 34, 5.2, _RED
        )
    if suit == "p":
        radius = (22, 14, 10.5, 12, 10.5, 10, 8.6, 8.6, 8.4)[number - 1]
        return "".join(_circle(x, y, radius, _RED if is_red else colour) for x, y, colour in _CIRCLES[number - 1])
    if number == 1:
        return _BIRD
    height = (30, 30, 30, 30, 30, 21, 31, 21)[number - 2]
    return "".join(_stick(x, y, height, _RED if is_red else colour, lean) for x, y, colour, lean in _STICKS[number - 1])


def _honour(number: int) -> str:
    strokes, colour = _HONOURS[number - 1]
    if not strokes:  # the white dragon is a frame
        return f'<rect x="11" y="13" width="38" height="54" rx="2" fill="none" stroke="{colour}" stroke-width="4"/>'
    return _strokes(strokes, 5, 15, 50, 7.4 if number != 6 else 6.2, colour)


def _strokes(path: str, x: float, y: float, size: float, width: float, colour: str) -> str:
    """Draws a character of `size`. `width`: width of its strokes in hundredths of the size."""
    return (
        f'<path transform="translate({x} {y}) scale({size / 100:g})" d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{width * 1.35:g}"/>'
    )


def _circle(x: float, y: float, radius: float, colour: str) -> str:
    outer = f'<circle cx="{x:g}" cy="{y:g}" r="{radius * 0.82:g}" fill="none" stroke="{colour}" '
    inner = f'<circle cx="{x:g}" cy="{y:g}" r="{radius * 0.34:g}" fill="{colour}"/>'
    return f'{outer}stroke-width="{radius * 0.36:g}"/>{inner}'


def _stick(x: float, y: float, height: float, colour: str, lean: float) -> str:
    half = height / 2
    turn = f' transform="rotate({lean:g} {x:g} {y:g})"' if lean else ""
    return (
        f'<g{turn}><rect x="{x - 3.2:g}" y="{y - half:g}" width="6.4" height="{height - 1:g}" rx="3.2" '
        f'fill="{colour}"/><rect x="{x - 4.4:g}" y="{y - 2:g}" width="8.8" height="3" rx="1.5" fill="{colour}"/></g>'
    )
