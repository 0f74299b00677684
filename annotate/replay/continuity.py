"""Checks that the rounds of a recorded game follow from one another, and the final scores from the last round.

The end of a round determines the start of the next one: dealer, honba, deposits and scores. As platforms end games
under different conditions, only the final scores are checked, not the time of the end.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from annotate.game.record import ENOUGH, START_SCORE, STICK, Round
from annotate.game.round_start import Start, scores_at_end, start_after, start_of
from annotate.replay.consistency import Disagreement

_UNIT = 100
"""unit of all payments; the score of each seat at the start is a multiple of STICK"""


class RoundSequence:
    """The progress of a recorded game, computed from the ends of its rounds. `lost`: indices of rounds before which the
    reader left out others, so that the start of such a round cannot be computed.

    Whether a round follows depends on its start in the record, the expected start, and the start of the next round:

    - As expected: it follows, unless the game would have been over.
    - Nothing is expected, in the first round and after rounds that are lost or cannot be replayed: it follows if no
      points are missing and it comes later than the rounds before it. The first round must also not contradict the
      second: if the second follows only from the usual start of a game, this start is the expected one.
    - Other than expected, but later and with all points, and the next round does not follow from the expected start
      (with the expected scores and deposits, it must also follow from the recorded one): it follows, and rounds are
      missing before it.
    - Otherwise it does not follow. One wrong start should cost one round, so the game continues from the expected start
      with the changes of this round; without them if the next round has the expected start itself.
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
        self._is_broken = False
        """whether the previous round did not follow from the rounds before it"""

    @contextmanager
    def through(self, index: int) -> Iterator[None]:
        """Advances by the next round, at `index`, which the body of the context replays. An error in the body is
        raised, but the game can continue. Raises Disagreement if the round does not follow from the previous ones."""
        if index in self._lost:
            self._expected, self._is_over = None, False
        try:
            yield
            problem = self._enter(index)
        except Exception:
            self._skip(index)
            raise
        if problem is not None:
            raise Disagreement(problem)

    def end(self, scores: Sequence[int]) -> None:
        """Compares the game's final scores with the computed ones. Raises Disagreement if they cannot be the final
        scores of these rounds."""
        if sum(scores) != self._points:
            raise Disagreement(f"the final scores {list(scores)} add up to {sum(scores)}, {self._points} expected")
        if len(self._rounds) in self._lost or self._expected is None or scores_at_end(self._expected) == tuple(scores):
            return
        reached = list(scores_at_end(self._expected))
        if self._is_over or self._is_broken:
            raise Disagreement(f"the final scores are {list(scores)}, but {reached} after {self._before}")
        self.missing.append(
            f"rounds are missing: after {self._before} the scores are {reached}, at the end {list(scores)}"
        )

    def _enter(self, index: int) -> str | None:
        """Advances by a replayed round; returns why it does not follow from the previous rounds, None if it does."""
        expected = self._expected or self._corrected_start(index)
        problem = self._problem(index, expected)
        self._is_broken = problem is not None
        if problem is None:
            self._advance(index, self._starts[index])
        elif expected is None:
            self._skip(index)
        elif self._next_start(index) != expected:  # if equal, this round should not be in the game at all
            self._advance(index, expected)
        return problem

    def _skip(self, index: int) -> None:
        places = [self._starts[index].place, *([self._expected.place] if self._expected else [])]
        self._least = max(self._least, min(places))
        self._before, self._expected, self._is_over = self._rounds[index].name, None, False

    def _advance(self, index: int, start: Start) -> None:
        recorded = self._rounds[index]
        after = self._expected = start_after(start, recorded.events)
        self._before, self._least = recorded.name, start.place
        is_late = after.number > self._last_number and after.number > start.number
        self._is_over = min(after.scores) < 0 or (is_late and self._is_enough(after))

    def _next_start(self, index: int) -> Start | None:
        """Returns the recorded start of the round after a round, None if that is not in the record."""
        is_recorded = index + 1 < len(self._rounds) and index + 1 not in self._lost
        return self._starts[index + 1] if is_recorded else None

    def _is_too_late(self, start: Start) -> bool:
        # a dealer who stays may play on; without enough points East-only games went on to West in Tenhou's first years
        return start.number > self._last_number and start.honba == 0 and self._is_enough(start)

    def _is_enough(self, start: Start) -> bool:
        """Returns whether a seat has enough points to end a game after its usual last round."""
        num_seats = len(start.scores)
        # with other start scores, the score that ends a game is not known
        return self._points == START_SCORE[num_seats] * num_seats and max(start.scores) >= ENOUGH[num_seats]

    def _problem(self, index: int, expected: Start | None) -> str | None:
        """Returns why the round does not follow, None if it does. Adds a message to `missing` if rounds are missing."""
        start = self._starts[index]
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
        if self._before and start.points == self._points and self._may_lack_rounds(index, expected):
            self.missing.append(f"rounds are missing between {self._before} and {self._rounds[index].name}")
            return None
        ours, theirs = expected.in_words(), start.in_words()
        words = [f"{key} {theirs[key]}, {ours[key]} expected" for key in ours if ours[key] != theirs[key]]
        origin = f"it does not follow from {self._before}" if self._before else "no game starts like this"
        return f"{origin}: {'; '.join(words)}"

    def _may_lack_rounds(self, index: int, expected: Start) -> bool:
        """Returns whether a round comes later than expected because rounds are missing before it."""
        start, then, events = self._starts[index], self._next_start(index), self._rounds[index].events
        if start.place <= expected.place or then == start_after(expected, events):
            return False
        # missing rounds leave no trace in the scores only if all of them were draws without payments
        is_traced = (start.deposits, start.scores) != (expected.deposits, expected.scores)
        return is_traced or then == start_after(start, events)

    def _corrected_start(self, index: int) -> Start | None:
        """Returns the usual start of a game if the second round follows from it but not from the recorded start."""
        start, then, events = self._starts[index], self._next_start(index), self._rounds[index].events
        if self._before or then is None:
            return None
        num_seats = len(start.scores)
        usual = Start(0, 0, 0, (self._points // num_seats,) * num_seats)
        is_wrong = start_after(start, events) != then == start_after(usual, events)
        return usual if is_wrong else None
