"""Checks of the hidden field of a round's lines: the other hands agree with those seats' lines, and the wall is one."""

from bisect import bisect_left
from functools import cache
from itertools import takewhile

from annotate.checks.progress import KIND_OF, Progress
from annotate.checks.rules import Rules
from annotate.checks.scores import Fail
from annotate.checks.shapes import MOST_COPIES
from annotate.checks.situation import Situation, WrongLine, tiles_of_hand
from annotate.checks.tiles import TileChecks, in_words
from annotate.vocabulary import TILE_NAMES, tile_of


@cache
def _tokens_of(rules: Rules) -> dict[str, int]:
    return {str(token): token for token in range(rules.vocabulary.hidden.size)}


class HiddenChecks:
    """The checks of a round's hidden fields, with the wall of the previous line."""

    def __init__(self, fail: Fail) -> None:
        self._fail = fail
        self._wall: list[int] | None = None
        self._num_replaced = 0
        """tiles drawn after kans, at the line of `_wall`"""

    def check(self, situation: Situation, progress: Progress, tiles: TileChecks, kinds: list[int]) -> None:
        """Checks the next line.

        Args:
            kinds: number of tiles of each kind in the seat's hand.
        """
        try:
            hands, wall = _parts(situation.hidden or "", progress.rules)
        except WrongLine as wrong:
            self._fail("hidden", wrong.text)
            return
        visible = [count + seen for count, seen in zip(kinds, progress.seen_kinds, strict=True)]
        for place, hand in enumerate(hands):
            tiles.see((situation.seat + 1 + place) % progress.rules.num_seats, hand, progress)
            for tile in hand:
                visible[KIND_OF[tile]] += 1
        self._check_wall(situation, progress, wall)
        for tile in (*situation.dora, *wall):
            visible[KIND_OF[tile]] += 1
        if max(visible) > MOST_COPIES:
            kind = visible.index(max(visible))
            words = f"{visible[kind]} of {TILE_NAMES[tile_of(kind)]} including the visible tiles"
            self._fail("hidden", f"field 7 (hidden): there are {words}")

    def _check_wall(self, situation: Situation, progress: Progress, wall: list[int]) -> None:
        is_replaced = situation.drawn is not None or progress.last.name not in ("ankan", "kakan", "daiminkan", "kita")
        num_replaced = len(progress.kans) + progress.num_norths - (not is_replaced)
        before, num_taken = self._wall, num_replaced - self._num_replaced
        self._wall, self._num_replaced = wall, num_replaced
        if wall and len(wall) != situation.left:
            self._fail("hidden", f"field 7 (hidden): the wall has {len(wall)} tiles, {situation.left} are left")
            return
        if before is None:
            return
        num_drawn = len(before) - len(wall) - num_taken
        expected = before[num_drawn : len(before) - num_taken] if before and num_drawn >= 0 else []
        if wall != expected and (before or wall):
            text = f"the wall is {in_words(wall)}, {in_words(expected)} expected by the line before"
            self._fail("hidden", f"field 7 (hidden): {text}")
        elif situation.drawn is not None and progress.last.name == "discard" and num_drawn > 0:
            drawn = before[num_drawn - 1]
            if drawn != situation.drawn:
                words = f"{TILE_NAMES[situation.drawn]}, {TILE_NAMES[drawn]} expected by the wall of the line before"
                self._fail("hidden", f"field 1 (sparse): the drawn tile is {words}")


def _parts(text: str, rules: Rules) -> tuple[list[list[int]], list[int]]:
    """Parses the hands of the other seats, the next one first, and the wall."""
    hand, wall_first = rules.vocabulary.hidden["hand"], rules.vocabulary.hidden["wall"].first
    num_slots = hand.factors[1].size
    try:
        tokens = list(map(_tokens_of(rules).__getitem__, text.split(",")))
    except KeyError as error:
        words = f"{error.args[0]!r} is not a token from 0 to {rules.vocabulary.hidden.size - 1}"
        raise WrongLine("hidden", f"field 7 (hidden): {words}") from None
    of_hands = list(takewhile(lambda token: token < wall_first, tokens))
    wall = [token - wall_first for token in tokens[len(of_hands) :]]
    if of_hands != sorted(set(of_hands)) or any(tile < 0 for tile in wall):
        raise WrongLine(
            "hidden", "field 7 (hidden): tokens of hands in ascending order expected, then those of the wall"
        )
    hands = []
    for place in range(rules.num_seats - 1):
        first = place * num_slots
        part = of_hands[bisect_left(of_hands, first) : bisect_left(of_hands, first + num_slots)]
        hands.append(tiles_of_hand([token - first for token in part], "field 7 (hidden)"))
    return hands, wall
