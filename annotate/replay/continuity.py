"""Checks that the rounds of a recorded game follow from one another, and the final scores from the last round.

The end of a round determines the start of the next one: dealer, honba, deposits and scores. As platforms end games
under different conditions, only the final scores are checked, not the time of the end.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from annotate.game.record import ENOUGH, START_SCORE, STICK, Round
from annotate.game.results import with_leftovers
from annotate.game.round_start import Start, start_after, start_of
from annotate.replay.consistency import Disagreement

_UNIT = 100
"""unit of all payments; the score of each seat at the start is a multiple of STICK"""


class RoundSequence:
    """The progress of a recorded game, computed from the ends of its rounds. `lost`: indices of rounds before which the
    reader left out others, so that the start of such a round cannot be computed.

    A round follows if it starts as expected, unless the game would have been over. If nothing is expected (the first
    round, and after rounds that are lost, cannot be replayed or do not follow), it follows if no points are missing
    and it comes later than the rounds before it. A round that comes later than expected, with all points but other
    scores or deposits, follows too: then rounds are missing before it.
    """

    def __init__(self, rounds: Sequence[Round], style: int, lost: Collection[int] = ()) -> None:
        self._rounds = rounds
        self._starts = starts = [start_of(recorded.events) for recorded in rounds]
        self.missing: list[str] = []
        """messages about missing rounds"""
        self._last_number = len(starts[0].scores) * (style + 1) - 1
        self._points = Counter(start.points for start in starts).most_common(1)[0][0]
        self._lost = lost
        self._before = ""
        """name of the previous round"""
        self._expected: Start | None = None
        """start of the next round; None: not known"""
        self._least = -1, 0
        """place after which the next round must come"""
        self._is_over = False
        """whether no round can follow"""

    @contextmanager
    def through(self, index: int) -> Iterator[None]:
        """Advances by the next round, at `index`, which the body of the context replays. An error in the body is
        raised, but the game can continue. Raises Disagreement if the round does not follow from the previous ones."""
        if index in self._lost:
            self._expected, self._is_over = None, False
        try:
            yield
            problem = self._problem(index)
            if problem is not None:
                raise Disagreement(problem)
            self._advance(index)
        except Exception:
            self._skip(index)
            raise

    def end(self, scores: Sequence[int]) -> None:
        """Compares the game's final scores with the computed ones. Raises Disagreement if they cannot be the final
        scores of these rounds."""
        if sum(scores) != self._points:
            raise Disagreement(f"the final scores {list(scores)} add up to {sum(scores)}, {self._points} expected")
        if len(self._rounds) in self._lost or self._expected is None:
            return
        reached = list(with_leftovers(self._expected.scores, self._expected.deposits))
        if reached == list(scores):
            return
        if self._is_over:
            raise Disagreement(f"the final scores are {list(scores)}, but {reached} after {self._before}")
        self.missing.append(
            f"rounds are missing: after {self._before} the scores are {reached}, at the end {list(scores)}"
        )

    def _skip(self, index: int) -> None:
        places = [self._starts[index].place, *([self._expected.place] if self._expected else [])]
        self._least = max(self._least, min(places))
        self._before, self._expected, self._is_over = self._rounds[index].name, None, False

    def _advance(self, index: int) -> None:
        recorded, start = self._rounds[index], self._starts[index]
        after = self._expected = start_after(start, recorded.events)
        self._before, self._least = recorded.name, start.place
        is_late = after.number > self._last_number and after.number > start.number
        self._is_over = min(after.scores) < 0 or (is_late and self._is_enough(after))

    def _is_too_late(self, start: Start) -> bool:
        # a dealer who stays may play on; without enough points East-only games went on to West in Tenhou's first years
        return start.number > self._last_number and start.honba == 0 and self._is_enough(start)

    def _is_enough(self, start: Start) -> bool:
        """Returns whether a seat has enough points to end a game after its usual last round."""
        num_seats = len(start.scores)
        # with other start scores, the score that ends a game is not known
        return self._points == START_SCORE[num_seats] * num_seats and max(start.scores) >= ENOUGH[num_seats]

    def _problem(self, index: int) -> str | None:
        """Returns why the round does not follow, None if it does. Adds a message to `missing` if rounds are missing."""
        start, expected = self._starts[index], self._expected
        if expected in (None, start) and self._is_too_late(start):
            return f"a game of this length does not come to such a round with the scores {list(start.scores)}"
        if expected is None:
            if start.points % (STICK * len(start.scores)) or any(score % _UNIT for score in start.scores):
                return f"no game comes to the scores {list(start.scores)} with deposits {start.deposits}"
            if start.points != self._points:
                return f"{start.points} points are on the table, {self._points} in the game's other rounds"
            return None if start.place > self._least else f"it cannot come after {self._before}"
        if start == expected:
            return None
        # missing rounds leave no trace in the scores only if all of them were draws without payments
        is_traced = (start.deposits, start.scores) != (expected.deposits, expected.scores)
        if start.points == self._points and start.place > expected.place and is_traced:
            self.missing.append(f"rounds are missing between {self._before} and {self._rounds[index].name}")
            return None
        ours, theirs = expected.in_words(), start.in_words()
        words = [f"{key} {theirs[key]}, {ours[key]} expected" for key in ours if ours[key] != theirs[key]]
        return f"it does not follow from {self._before}: {'; '.join(words)}"
