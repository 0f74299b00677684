"""Checks of the lines of one round in their order: each by itself, and each against the previous ones."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from annotate.checks.choices import actions_of, after_call, calls_of, can_win, check_actions
from annotate.checks.hidden import HiddenChecks
from annotate.checks.progress import Event, Progress, events_of
from annotate.checks.rules import Rules
from annotate.checks.scores import Fail, Numbers, ScoreChecks, Settings
from annotate.checks.situation import Situation
from annotate.checks.tiles import TileChecks, kinds_of
from annotate.vocabulary import TILE_NAMES

_CALLS = ("chi", "pon", "daiminkan")


@cache
def _events_by_text(rules: Rules) -> dict[str, Event]:
    return {str(event.token): event for event in events_of(rules)}


class Decision(NamedTuple):
    """A seat's choice and its line."""

    seat: int
    action: int
    line: int
    is_turn: bool
    words: str
    """of the action"""

    def __str__(self) -> str:
        return f"seat {self.seat} chose {self.words} in line {self.line}"


class RoundLines:
    """The checks of one round, from its first line on."""

    def __init__(
        self, situation: Situation, honba: int, settings: Settings, fail: Fail, absent: Counter[str] | None
    ) -> None:
        self.rules = settings.rules
        self._actions, self._events = actions_of(self.rules), events_of(self.rules)
        self.key = situation.wind, situation.dealer, honba
        self._absent = absent
        self.is_whole = True
        """no line is missing or was wrong in a way that hides how the round went"""
        self.decisions: list[Decision] = []
        """those since the last event"""
        self._fail = fail
        self._scores = ScoreChecks(settings, fail)
        self._text: str | None = None
        """the progression of the previous line, None if unknown"""
        self._restart()
        if situation.progression == "0" or absent is not None:
            self._text, self._is_linked = "0", True
        else:
            self.is_whole = False
            fail("missing line", "field 3 (progression): a round's first line must be its dealer's first turn, 0")

    @property
    def may_lack_lines(self) -> bool:
        """Whether players may have been away, so that their choices have no line."""
        return self._absent is not None

    @property
    def start(self) -> Numbers | None:
        """The numbers at the start of the round, None if unknown."""
        return self._scores.start

    @property
    def is_lost(self) -> bool:
        """Whether nothing is known of the previous lines."""
        return self._text is None

    def lose(self) -> None:
        """Discards all that is known of the previous lines, as after a line that could not be read."""
        self.is_whole = False
        self._restart()

    def miss(self, kinds: Iterable[str], text: str) -> None:
        """Reports choices without a line: counts them where players may have been away, else as a violation."""
        if self._absent is None:
            self._fail("missing line", f"field 3 (progression): {text}")
        else:
            self._absent.update(kinds)

    def continues(self, progression: str) -> bool:
        """Returns whether the progression continues that of the previous line."""
        return self._text is not None and (progression == self._text or progression.startswith(self._text + ","))

    def add(self, situation: Situation, line: int) -> None:
        """Checks the next line of the round."""
        if not self._advance(situation) or not self._is_possible_moment(situation):
            self.lose()
            return
        numbers = self._scores.check(situation, self.progress)
        kinds = self._tiles.check(situation, self.progress)
        if situation.hidden is not None:
            self._hidden.check(situation, self.progress, self._tiles, kinds)
        points = None if numbers is None else numbers.scores[situation.seat]
        check_actions(situation, self.progress, kinds, points, self._fail)
        words = self._actions.in_words(situation.action)
        self.decisions.append(Decision(situation.seat, situation.action, line, self._is_turn(situation), words))

    def follow(self, event: Event) -> bool:
        """Applies an event; returns False if it is impossible."""
        if event.seat >= 0:
            if self._is_linked:
                self._check_followed(event)
            self._tiles.move(event, self.progress.has_drawn())
        problem = self.progress.apply(event)
        if problem:
            self._fail("progression", f"field 3 (progression), token {event.token}: {event}: {problem}")
        return problem is None

    def _restart(self) -> None:
        self.progress = Progress(self.key[1], self.rules)
        self.decisions = []
        self._tiles = TileChecks(self._fail, self.rules)
        self._hidden = HiddenChecks(self._fail)
        self._text = None
        self._is_linked = False

    # The progression

    def _advance(self, situation: Situation) -> bool:
        """Applies the events up to the line; returns False if that is impossible."""
        text, before = situation.progression, self._text
        if text == before:
            return True
        if before is None or not self.continues(text):
            if before is not None:
                self._fail(
                    "continuity", f"field 3 (progression) is not a continuation of the line before{_fork(before, text)}"
                )
            self.lose()
            before = "0"
            if text != "0" and not text.startswith("0,"):
                self._fail(
                    "form", f"field 3 (progression) does not start with the beginning of the round, 0: {text[:40]}"
                )
                return False
        self._text = text
        for token in text[len(before) + 1 :].split(",") if text != before else ():
            event = _events_by_text(self.rules).get(token)
            if event is None:
                self._fail("form", f"field 3 (progression): {token!r} is not a token from 0 to {len(self._events) - 1}")
                return False
            if not self.follow(event):
                return False
        self._is_linked = True
        return True

    def _check_followed(self, event: Event) -> None:
        """Checks that `event` was chosen in the lines before it."""
        decisions, self.decisions = self.decisions, []
        if self.progress.last.name in ("discard", "kakan", "kita"):
            self._check_passed(event, decisions)
        is_explained = False
        for decision in decisions:
            chosen = self._actions.event_of[decision.seat][decision.action]
            if chosen == event.token:
                is_explained = True
            elif decision.action == self._actions.skip:
                if event.seat != decision.seat or event.name not in _CALLS:
                    continue
            elif chosen is not None and self._events[chosen].name == "chi" and event.name in ("pon", "daiminkan"):
                continue  # it takes precedence
            if chosen != event.token:
                self._fail("choice", f"field 3 (progression): {event}; but {decision}")
                is_explained = True
        if not is_explained and not self._is_forced(event):
            self.is_whole = False
            self.miss([event.name], f"{event}; but no line has that choice")

    def _check_passed(self, event: Event, decisions: Sequence[Decision]) -> None:
        """Checks that every seat that could claim the last discard, or win the last tile, has a line for passing it."""
        progress, claims = self.progress, [decision.seat for decision in decisions if not decision.is_turn]
        is_free = progress.last.name == "discard" and event.name not in _CALLS
        for seat in self.rules.seats:
            hands = self._tiles.hands_of(seat)
            if seat == progress.last.seat or seat in claims or not hands or len(hands) > 1:
                continue
            calls = calls_of(progress, seat, hands[0]) if is_free else set[int]()
            if progress.is_riichi[seat] and can_win(progress, seat, kinds_of(hands[0])):
                calls.add(self._actions.ron_of(progress.last.seat, seat))
            if calls:
                words = ", ".join(map(self._actions.in_words, sorted(calls)))
                self.miss(["skip"], f"{event}; but seat {seat} has no line for {words}")

    def _is_forced(self, event: Event) -> bool:
        """Returns whether the event is possible without a decision."""
        if event.name != "discard":
            return False
        if self.progress.has_drawn():
            return self.progress.is_riichi[event.seat]
        hands = self._tiles.hands_of(event.seat)
        return hands is None or any(len(after_call(self.progress.last, hand)) == 1 for hand in hands)

    def missing_turn(self) -> str | None:
        """Describes the missing turn after the last line, if the round ended without a win; None if there is none."""
        progress = self.progress
        if progress.is_aborted:
            return None
        seat = progress.next_to_draw()
        if not progress.has_drawn():
            hands = self._tiles.hands_of(seat) or [[]]
            is_choice = all(len(after_call(progress.last, hand)) > 1 for hand in hands)
            return f"seat {seat} has no line for its discard after {progress.last}" if is_choice else None
        for left in range(self.rules.num_draws - progress.num_draws, 0, -1):
            if not progress.is_riichi[seat]:
                return f"seat {seat} has no line for its turn with {left} tiles left"
            if progress.is_last_kan():
                return None
            seat = (seat + 1) % self.rules.num_seats
        return None

    # The time of a line

    def _is_turn(self, situation: Situation) -> bool:
        return situation.drawn is not None or self.progress.last.seat == situation.seat

    def _is_possible_moment(self, situation: Situation) -> bool:
        problem = self._wrong_moment(situation) or self._wrong_order(situation)
        if problem:
            self._fail("moment", f"field 1 (sparse): seat {situation.seat} {problem}")
        return problem is None

    def _wrong_moment(self, situation: Situation) -> str | None:
        progress, last, seat = self.progress, self.progress.last, situation.seat
        if situation.drawn is not None:
            drawn = f"has a drawn tile, {TILE_NAMES[situation.drawn]},"
            if seat != progress.next_to_draw():
                return f"{drawn} where it is seat {progress.next_to_draw()}'s turn"
            if not progress.has_drawn():
                return f"{drawn} after a call: {last}"
            if progress.is_aborted or progress.num_draws >= self.rules.num_draws:
                return f"{drawn} where the round is over: {last}"
        elif last.name not in (("chi", "pon") if seat == last.seat else ("discard", "ankan", "kakan", "kita")):
            return f"decides without a drawn tile after {last}"
        return None

    def _wrong_order(self, situation: Situation) -> str | None:
        is_turn = self._is_turn(situation)
        for decision in self.decisions:
            if decision.is_turn:
                return f"decides though nothing has happened since {decision}"
            if is_turn and decision.action != self._actions.skip:
                return f"has its turn though {decision}"
            if decision.seat == situation.seat and not is_turn:
                return f"decides again though {decision}"
        return None


def _fork(before: str, text: str) -> str:
    olds, news = before.split(","), text.split(",")
    for number, (old, new) in enumerate(zip(olds, news, strict=False)):
        if old != new:
            return f": element {number} was {old}, now {new}"
    return f": {len(olds)} elements, now {len(news)}"
