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

    A round that does not start as computed is skipped. The game continues from the computed state with the changes of
    that round, so that one wrong start costs one round. If the record lacks rounds, or the effect of a round is in
    doubt, the start of the next round is trusted if it comes later and no points were lost.
    """

    def __init__(self, rounds: Sequence[Round], style: int, lost: Collection[int] = ()) -> None:
        starts = [start_of(recorded.events) for recorded in rounds]
        self.missing: list[str] = []
        """messages about missing rounds"""
        self._last_number = len(starts[0].scores) * (style + 1) - 1
        self._points = Counter(start.points for start in starts).most_common(1)[0][0]
        self._starts_after = {id(rounds[i - 1]): starts[i] for i in range(1, len(rounds)) if i not in lost}
        self._follow_lost = {id(rounds[i]) for i in lost if i < len(rounds)}
        self._has_lost_end = len(rounds) in lost
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
    def through(self, recorded: Round) -> Iterator[None]:
        """Advances by the next round, which the body of the context replays. An error in the body is raised, but the
        game can continue. Raises Disagreement if the round does not follow from the previous ones."""
        if id(recorded) in self._follow_lost:
            self._expected, self._is_over = None, False
        try:
            yield
            problem = self._enter(recorded)
        except Exception:
            self._skip(recorded)
            raise
        if problem is not None:
            raise Disagreement(problem)

    def end(self, scores: Sequence[int]) -> None:
        """Compares the game's final scores with the computed ones. Raises Disagreement if they cannot be the final
        scores of these rounds."""
        if sum(scores) != self._points:
            raise Disagreement(f"the final scores {list(scores)} add up to {sum(scores)}, {self._points} expected")
        if self._has_lost_end or self._expected is None or scores_at_end(self._expected) == tuple(scores):
            return
        reached = list(scores_at_end(self._expected))
        if self._is_over or self._is_broken:
            raise Disagreement(f"the final scores are {list(scores)}, but {reached} after {self._before}")
        self.missing.append(
            f"rounds are missing: after {self._before} the scores are {reached}, at the end {list(scores)}"
        )

    def _enter(self, recorded: Round) -> str | None:
        """Advances by a replayed round; returns why it does not follow from the previous rounds, None if it does."""
        found, expected = start_of(recorded.events), self._expected
        expected = expected or self._corrected_start(recorded, found)
        problem = self._problem(recorded, found, expected)
        self._is_broken = problem is not None
        if problem is None:
            self._advance(recorded, found)
        elif expected is None:
            self._skip(recorded)
        elif self._starts_after.get(id(recorded)) != expected:  # if equal, this round should not be in the game at all
            self._advance(recorded, expected)
        return problem

    def _skip(self, recorded: Round) -> None:
        places = [start_of(recorded.events).place, *([self._expected.place] if self._expected else [])]
        self._least = max(self._least, min(places))
        self._before, self._expected, self._is_over = recorded.name, None, False

    def _advance(self, recorded: Round, start: Start) -> None:
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

    def _problem(self, recorded: Round, found: Start, expected: Start | None) -> str | None:
        """Returns why the round does not follow, None if it does. Adds a message to `missing` if rounds are missing."""
        if expected in (None, found) and self._is_too_late(found):
            return f"a game of this length does not come to such a round with the scores {list(found.scores)}"
        if expected is None:
            if found.points % (STICK * len(found.scores)) or any(score % _UNIT for score in found.scores):
                return f"no game comes to the scores {list(found.scores)} with deposits {found.deposits}"
            if found.points != self._points:
                return f"{found.points} points are on the table, {self._points} in the game's other rounds"
            return None if found.place > self._least else f"it cannot come after {self._before}"
        if found == expected:
            return None
        if self._before and found.points == self._points and self._may_lack_rounds(recorded, found, expected):
            self.missing.append(f"rounds are missing between {self._before} and {recorded.name}")
            return None
        ours, theirs = expected.in_words(), found.in_words()
        words = [f"{key} {theirs[key]}, {ours[key]} expected" for key in ours if ours[key] != theirs[key]]
        origin = f"it does not follow from {self._before}" if self._before else "no game starts like this"
        return f"{origin}: {'; '.join(words)}"

    def _may_lack_rounds(self, recorded: Round, found: Start, expected: Start) -> bool:
        """Returns whether a round comes later than expected because rounds are missing before it."""
        then = self._starts_after.get(id(recorded))
        if found.place <= expected.place or then == start_after(expected, recorded.events):
            return False
        # missing rounds leave no trace in the scores only if all of them were draws without payments
        is_traced = (found.deposits, found.scores) != (expected.deposits, expected.scores)
        return is_traced or then == start_after(found, recorded.events)

    def _corrected_start(self, recorded: Round, found: Start) -> Start | None:
        """Returns the usual start of a game if the second round follows from it but not from the recorded start."""
        then = self._starts_after.get(id(recorded))
        if self._before or then is None:
            return None
        num_seats = len(found.scores)
        usual = Start(0, 0, 0, (self._points // num_seats,) * num_seats)
        is_wrong = start_after(found, recorded.events) != then == start_after(usual, recorded.events)
        return usual if is_wrong else None
