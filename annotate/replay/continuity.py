"""Whether the rounds of a recorded game follow from one another, and its final scores from the last of them.

How a round ended settles how the next one begins: whose turn it is to deal, counters, deposits and scores. When a game
ends is not asked here, as platforms differ: only that the scores it ends with are those that were reached.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from annotate.game.engine import tenpai_at_end
from annotate.game.grading import ranks_of
from annotate.game.record import Event, Round
from annotate.game.results import EXHAUSTIVE, NAGASHI, leftover_deposits, round_delta
from annotate.game.tiles import WINDS
from annotate.replay.consistency import Disagreement

STICK = 1000
_UNIT = 100
"""all payments are multiples of it; what each seat has at the start is one of STICK"""
_NUM_DRAWS = 70
_ABORTS = ("kyushu_kyuhai", "sufuurenta", "suukansansen", "suucha_riichi", "sanchaho")
_START_SCORE, _ENOUGH = 25_000, 30_000  # with another score to start with it is not known how much ends a game
_WIND_NAMES = ("East", "South", "West", "North")


class Start(NamedTuple):
    """How a round begins."""

    number: int
    """0 East 1, 1 East 2 ... 4 South 1 ..."""
    honba: int
    deposits: int
    scores: tuple[int, ...]
    """by seat, in points"""

    @property
    def place(self) -> tuple[int, int]:
        """What grows from round to round."""
        return self.number, self.honba

    @property
    def points(self) -> int:
        """All points on the table, which no round changes."""
        return sum(self.scores) + STICK * self.deposits

    def in_words(self) -> dict[str, str]:
        wind, kyoku = divmod(self.number, len(self.scores))
        words = {"round": f"{_WIND_NAMES[wind % 4]} {kyoku + 1}", "honba": str(self.honba)}
        return words | {"deposits": str(self.deposits), "scores": str(list(self.scores))}


def start_of(events: Sequence[Event]) -> Start:
    """How a recorded round begins; its first event is start_kyoku."""
    start = events[0]
    number = WINDS[start["bakaze"]] * len(start["scores"]) + start["kyoku"] - 1
    return Start(number, start["honba"], start["kyotaku"], tuple(start["scores"]))


def start_after(start: Start, events: Sequence[Event]) -> Start:
    """How the round after `events` begins, if these began with `start`, whatever they say of that themselves."""
    first, last = events[0], events[-1]
    delta = round_delta(events, len(start.scores))
    is_won = last["type"] == "hora"
    stays = _dealer_stays(events)
    return Start(
        number=start.number + (not stays),
        honba=start.honba + 1 if stays or not is_won else 0,
        deposits=0 if is_won else start.deposits + leftover_deposits(events) - first["kyotaku"],
        scores=tuple(score + change for score, change in zip(start.scores, delta, strict=True)),
    )


def scores_at_end(after: Start) -> tuple[int, ...]:
    """The final scores of a game that ends where a round would begin with `after`; what is left goes to the first."""
    scores = list(after.scores)
    scores[ranks_of(scores).index(0)] += STICK * after.deposits
    return tuple(scores)


def _dealer_stays(events: Sequence[Event]) -> bool:
    dealer, last = events[0]["oya"], events[-1]
    if last["type"] == "hora":
        return any(event["type"] == "hora" and event["actor"] == dealer for event in events)
    deltas, reason = last.get("deltas") or (), last.get("reason")
    if reason not in (*_ABORTS, EXHAUSTIVE[0], NAGASHI):  # not every dialect tells, or in the same words
        is_exhausted = sum(event["type"] == "tsumo" for event in events) == _NUM_DRAWS
        reason = EXHAUSTIVE[0] if is_exhausted else _ABORTS[0]
    if reason in _ABORTS:
        return True
    if reason != NAGASHI and any(deltas):
        return deltas[dealer] > 0
    return tenpai_at_end(events)[dealer]


class RoundSequence:
    """Where a recorded game has got to, by how its rounds ended.

    A round that does not begin so is left out, and the game goes on from where it was by what that round changed, so
    that one false beginning costs one round. Where the record lacks rounds, or what a round changed is in doubt, the
    next one is believed if it comes later and no points were lost.
    """

    def __init__(self, rounds: Sequence[Round], style: int) -> None:
        """
        Args:
            rounds: of a game, at least one.
            style: 0 East only, 1 East and South.
        """
        starts = [start_of(recorded.events) for recorded in rounds]
        self.missing: list[str] = []
        """where rounds are missing, in words"""
        self._last_number = len(starts[0].scores) * (style + 1) - 1
        self._points = Counter(start.points for start in starts).most_common(1)[0][0]
        self._starts_after = dict(zip(map(id, rounds), starts[1:], strict=False))
        self._before = ""
        """name of the round before"""
        self._expected: Start | None = None
        """how the next round begins; None: not known"""
        self._least = -1, 0
        """the place that the next round is beyond"""
        self._is_over = False
        """whether no round can follow"""
        self._is_broken = False
        """whether the round before did not follow"""

    @contextmanager
    def through(self, recorded: Round) -> Iterator[None]:
        """Goes on by the next round; its replay is to be done meanwhile.

        Raises:
            Disagreement: that of the replay, or the round does not follow from those before.
        """
        try:
            yield
        except Disagreement:
            self._pass_over(recorded)
            raise
        self._enter(recorded)

    def end(self, scores: Sequence[int]) -> None:
        """Compares the game's final scores with those reached.

        Raises:
            Disagreement: they cannot be the final scores of these rounds.
        """
        if sum(scores) != self._points:
            raise Disagreement(f"the final scores {list(scores)} add up to {sum(scores)}, {self._points} expected")
        if self._expected is None or scores_at_end(self._expected) == tuple(scores):
            return
        reached = list(scores_at_end(self._expected))
        if self._is_over or self._is_broken:
            raise Disagreement(f"the final scores are {list(scores)}, but {reached} after {self._before}")
        self.missing.append(
            f"rounds are missing: after {self._before} the scores are {reached}, at the end {list(scores)}"
        )

    def _enter(self, recorded: Round) -> None:
        found, expected = start_of(recorded.events), self._expected
        expected = expected or self._beginning(recorded, found)
        problem = self._problem(recorded, found, expected)
        self._is_broken = problem is not None
        if problem is None:
            self._go_on(recorded, found)
            return
        if expected is None:
            self._pass_over(recorded)
        elif self._starts_after.get(id(recorded)) != expected:  # else it should not be there at all
            self._go_on(recorded, expected)
        raise Disagreement(problem)

    def _pass_over(self, recorded: Round) -> None:
        """Goes on by a round that did not end as recorded, or did not begin so."""
        places = [start_of(recorded.events).place, *([self._expected.place] if self._expected else [])]
        self._least = max(self._least, min(places))
        self._before, self._expected, self._is_over = recorded.name, None, False

    def _go_on(self, recorded: Round, start: Start) -> None:
        after = self._expected = start_after(start, recorded.events)
        self._before, self._least = recorded.name, start.place
        is_late = after.number > self._last_number and after.number > start.number
        self._is_over = min(after.scores) < 0 or (is_late and self._is_enough(after))

    def _is_too_late(self, start: Start) -> bool:
        if start.number <= self._last_number:
            return False
        # a dealer who stays may play on
        return start.number > self._last_number + len(start.scores) or (start.honba == 0 and self._is_enough(start))

    def _is_enough(self, start: Start) -> bool:
        """Whether a seat has what ends a game after its usual last round."""
        return self._points == _START_SCORE * len(start.scores) and max(start.scores) >= _ENOUGH

    def _problem(self, recorded: Round, found: Start, expected: Start | None) -> str | None:
        """Why the round does not follow, if so. Notices where rounds are missing."""
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
        origin = f"it does not follow from {self._before}" if self._before else "no game begins so"
        return f"{origin}: {'; '.join(words)}"

    def _may_lack_rounds(self, recorded: Round, found: Start, expected: Start) -> bool:
        """Whether a round that comes later than expected does so because rounds are missing before it."""
        then = self._starts_after.get(id(recorded))
        if found.place <= expected.place or then == start_after(expected, recorded.events):
            return False
        # rounds that are missing leave no trace in the scores only if all of them were draws without payments
        is_traced = (found.deposits, found.scores) != (expected.deposits, expected.scores)
        return is_traced or then == start_after(found, recorded.events)

    def _beginning(self, recorded: Round, found: Start) -> Start | None:
        """How the game began, if its first round should have begun so: where the second follows from that alone."""
        then = self._starts_after.get(id(recorded))
        if self._before or then is None:
            return None
        num_seats = len(found.scores)
        begin = Start(0, 0, 0, (self._points // num_seats,) * num_seats)
        is_false = start_after(found, recorded.events) != then == start_after(begin, recorded.events)
        return begin if is_false else None
