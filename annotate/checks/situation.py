"""A decoded line: a seat's observation, options and choice. Reports errors of its form and its sparse tokens."""

from bisect import bisect_left
from functools import cache
from operator import lt, sub

from annotate.annotation import parse_line
from annotate.checks.rules import Rules
from annotate.vocabulary import HAND_SLOT_FIRST, NUM_TILES, TILE_NAMES

_LEADING = ("room", "style", "seat", "wind", "round")
_MOST_DORA = 5
_TILE_OF_SLOT = tuple(
    tile for tile in range(NUM_TILES) for _ in range(HAND_SLOT_FIRST[tile], HAND_SLOT_FIRST[tile + 1])
)
_FURTHER_COPIES = frozenset(range(len(_TILE_OF_SLOT))).difference(HAND_SLOT_FIRST)


class _Layout:
    """The tokens of a vocabulary's situations."""

    def __init__(self, rules: Rules) -> None:
        sparse, num_actions = rules.vocabulary.sparse, rules.vocabulary.action.size
        self.first = {block.name: block.first for block in sparse.blocks.values()}
        self.block_of = tuple(sparse.block_of(token).name for token in range(sparse.size))
        self.first_of_leading = [self.first[name] for name in _LEADING]
        self.num_standing = 2 * rules.num_seats
        self.blocks = {
            (*_LEADING, *("dora",) * num_dora, "left", *("standing",) * self.num_standing)
            for num_dora in range(1, _MOST_DORA + 1)
        }
        self.most_left = sparse["left"].size - 1
        # text to token: faster than parsing integers and comparing them with the sizes
        self.sparse_tokens = {str(token): token for token in range(sparse.size)}
        self.action_tokens = {str(token): token for token in range(num_actions)}


@cache
def _layout_of(rules: Rules) -> _Layout:
    return _Layout(rules)


class WrongLine(Exception):
    """Raised where a line cannot be decoded."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text


class Situation:
    """A line's tokens by their meaning; numeric, progression, results and hidden remain text."""

    __slots__ = (
        *("game", "room", "style", "seat", "wind", "dealer", "dora", "left", "standing", "hand", "drawn"),
        *("numeric", "progression", "actions", "action", "results", "hidden"),
    )
    room: int
    style: int
    seat: int
    wind: int
    dealer: int
    dora: list[int]
    """tiles"""
    left: int
    standing: list[int]
    """the tokens: grade and rank of every seat"""
    hand: list[int]
    """tiles in ascending order, without the drawn one"""
    drawn: int | None
    action: int
    """the token of the one chosen"""
    hidden: str | None

    def __init__(self, text: str, rules: Rules) -> None:
        """Decodes a line, given without its line break.

        Raises:
            WrongLine: it is not an annotation of a game by these rules.
        """
        layout = _layout_of(rules)
        try:
            self.game, tokens, self.numeric, self.progression, actions, chosen, self.results, *more = text.split("\t")
            self.hidden = more.pop() if len(more) == 1 else None
            sparse = list(map(layout.sparse_tokens.__getitem__, tokens.split(",")))
            self.actions = list(map(layout.action_tokens.__getitem__, actions.split(",")))
            self.action = self.actions[layout.action_tokens[chosen]]
        except (KeyError, IndexError, ValueError):
            raise WrongLine("form", _what_is_wrong(text, rules)) from None
        if more or not (self.game and len(self.actions) > 1 and _ascends(sparse) and _ascends(self.actions)):
            raise WrongLine("form", _what_is_wrong(text, rules))
        self._take(sparse, layout)

    def _take(self, sparse: list[int], layout: _Layout) -> None:
        left_at = bisect_left(sparse, layout.first["left"])
        hand_at = bisect_left(sparse, layout.first["hand"])
        drawn_at = bisect_left(sparse, layout.first["drawn"])
        blocks = tuple(map(layout.block_of.__getitem__, sparse[:hand_at]))
        if blocks not in layout.blocks or len(sparse) - drawn_at > 1:
            raise WrongLine("blocks", _wrong_blocks(sparse, layout))
        self.room, self.style, self.seat, self.wind, self.dealer = map(sub, sparse, layout.first_of_leading)
        self.dora = []
        for place, token in enumerate(sparse[len(_LEADING) : left_at]):
            position, tile = divmod(token - layout.first["dora"], NUM_TILES)
            if position != place:
                text = f"token {token} is indicator {position + 1} ({TILE_NAMES[tile]}), indicator {place + 1} expected"
                raise WrongLine("dora", f"field 1 (sparse): {text}: they are numbered without gaps")
            self.dora.append(tile)
        self.left = layout.most_left - (sparse[left_at] - layout.first["left"])
        self.standing = sparse[left_at + 1 : hand_at]
        first = layout.first["hand"]
        self.hand = tiles_of_hand([token - first for token in sparse[hand_at:drawn_at]], "field 1 (sparse)")
        self.drawn = sparse[drawn_at] - layout.first["drawn"] if drawn_at < len(sparse) else None


def tiles_of_hand(slots: list[int], where: str) -> list[int]:
    """Decodes the tiles of a hand from its slots in ascending order.

    Raises:
        WrongLine: the copies of a tile are not counted from 0.
    """
    before = -1
    for slot in slots:
        if slot in _FURTHER_COPIES and before != slot - 1:
            number = slot - HAND_SLOT_FIRST[_TILE_OF_SLOT[slot]]
            text = f"copy {number} of {TILE_NAMES[_TILE_OF_SLOT[slot]]} without copy {number - 1}: they count from 0"
            raise WrongLine("hand copies", f"{where}: the hand has {text}")
        before = slot
    return [_TILE_OF_SLOT[slot] for slot in slots]


def _ascends(tokens: list[int]) -> bool:
    return all(map(lt, tokens, tokens[1:]))


def _what_is_wrong(text: str, rules: Rules) -> str:
    try:
        parse_line(text, rules.vocabulary)
    except ValueError as error:
        return str(error)
    return "integers are not written as annotations have them (such as 07 for 7)"


def _wrong_blocks(sparse: list[int], layout: _Layout) -> str:
    expected = {name: (1, 1) for name in (*_LEADING, "left")}
    expected |= {"dora": (1, _MOST_DORA), "standing": (layout.num_standing, layout.num_standing), "drawn": (0, 1)}
    wrong = []
    for name, (least, most) in expected.items():
        tokens = [token for token in sparse if layout.block_of[token] == name]
        if not least <= len(tokens) <= most:
            number = f"{least}" if least == most else f"{least} to {most}"
            wrong.append(f"{number} of {name} expected, {len(tokens)} found {tokens}")
    return f"field 1 (sparse): {'; '.join(wrong)}"
