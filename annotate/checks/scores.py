"""Checks of a line's scores, sticks, ranks and grades, given the start of the round and the seats in riichi."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from annotate.checks.payments import STICK
from annotate.checks.progress import Progress
from annotate.checks.rules import Rules
from annotate.checks.situation import Situation, WrongLine
from annotate.vocabulary import NUM_GRADES

Fail = Callable[[str, str], None]
"""reports the kind of a violation and its text, for the line being read"""

IN_WORDS = {5: "five", 6: "six", 10: "ten", 12: "twelve"}


def ranks(scores: Sequence[int]) -> list[int]:
    """Computes the rank of each seat, 0 the first; the lower seat wins ties."""
    order = sorted(range(len(scores)), key=lambda seat: (-scores[seat], seat))
    return [order.index(seat) for seat in range(len(scores))]


def standing_tokens(grades: Sequence[int], scores: Sequence[int], rules: Rules) -> list[int]:
    """Encodes the grade and the rank of every seat as tokens."""
    block = rules.vocabulary.sparse["standing"]
    return [
        block.token(seat, value)
        for seat, (grade, rank) in enumerate(zip(grades, ranks(scores), strict=True))
        for value in (grade, NUM_GRADES + rank)
    ]


def grades_and_ranks(tokens: Sequence[int], rules: Rules) -> tuple[list[int], list[int]] | None:
    """Decodes the result of `standing_tokens`; returns None if it is not one grade and one rank of every seat."""
    values = [rules.vocabulary.sparse["standing"].indices(token) for token in tokens]
    is_right = all(
        grade[0] == place[0] == seat and grade[1] < NUM_GRADES <= place[1]
        for seat, (grade, place) in enumerate(zip(values[0::2], values[1::2], strict=True))
    )
    return ([g for _, g in values[0::2]], [p - NUM_GRADES for _, p in values[1::2]]) if is_right else None


@dataclass(frozen=True)
class Numbers:
    """The numbers of a line."""

    honba: int
    deposits: int
    scores: tuple[int, ...]

    def __str__(self) -> str:
        return ",".join(map(str, (self.honba, self.deposits, *self.scores)))

    @property
    def total(self) -> int:
        """Points on the table: the same in a whole game."""
        return sum(self.scores) + STICK * self.deposits

    def problem(self, total: int) -> str | None:
        """Describes an error that does not depend on the round, or returns None.

        Args:
            total: points of the game.
        """
        if self.honba < 0 or self.deposits < 0:
            return f"honba {self.honba} and deposits {self.deposits}: neither can be negative"
        if any(score % 100 for score in self.scores):
            return f"the scores are {list(self.scores)}, multiples of 100 expected"
        if self.total != total:
            points = f"{list(self.scores)} and {self.deposits} deposits are {self.total} points"
            return f"the scores {points}, {total} expected"
        return None

    def after(self, riichi: Sequence[int], sign: int = 1) -> "Numbers":
        """Returns the numbers after each seat of `riichi` has paid a stick; with `sign` -1, before they paid."""
        scores = tuple(score - sign * STICK * riichi.count(seat) for seat, score in enumerate(self.scores))
        return Numbers(self.honba, self.deposits + sign * len(riichi), scores)


def parse_numbers(text: str, rules: Rules) -> Numbers | None:
    """Parses the second field; returns None if it is not honba, deposits and a score for each seat."""
    try:
        honba, deposits, *scores = map(int, text.split(","))
    except ValueError:
        return None
    numbers = Numbers(honba, deposits, tuple(scores))
    return numbers if len(scores) == rules.num_seats and str(numbers) == text else None


@dataclass(frozen=True)
class Settings:
    """The values that are constant in a game."""

    room: int
    style: int
    grades: tuple[int, ...]
    total: int
    """points on the table"""
    rules: Rules
    has_hidden: bool
    """whether every line has the hidden field"""

    @classmethod
    def of(cls, situation: Situation, rules: Rules) -> "Settings":
        """Reads the settings from a game's first line.

        Raises:
            WrongLine: they are not possible in a game.
        """
        found, numbers = grades_and_ranks(situation.standing, rules), parse_numbers(situation.numeric, rules)
        if found is None:
            raise WrongLine("blocks", _not_standing(situation))
        if numbers is None:
            raise WrongLine("numbers", _not_numbers(situation, rules))
        problem = numbers.problem(numbers.total)
        if problem is None and numbers.total % (rules.num_seats * STICK):
            problem = f"the scores {list(numbers.scores)} and {numbers.deposits} deposits are {numbers.total} points, "
            problem += f"which {rules.num_seats} seats cannot have begun with"
        if problem:
            raise WrongLine("numbers", f"field 2 (numeric): {problem}")
        has_hidden = situation.hidden is not None
        return cls(situation.room, situation.style, tuple(found[0]), numbers.total, rules, has_hidden)

    @property
    def start_score(self) -> int:
        return self.total // self.rules.num_seats


def _not_standing(situation: Situation) -> str:
    return f"field 1 (sparse): one grade and one rank of each seat expected, not {situation.standing}"


def _not_numbers(situation: Situation, rules: Rules) -> str:
    number = IN_WORDS[len(rules.vocabulary.numeric)]
    return f"field 2 (numeric): {number} integers expected, not {situation.numeric[:80]!r}"


class ScoreChecks:
    """The checks of the numbers and standing of a round's lines."""

    def __init__(self, settings: Settings, fail: Fail) -> None:
        self.start: Numbers | None = None
        """at the start of the round"""
        self._settings = settings
        self._fail = fail
        self._views: dict[tuple[int, ...], tuple[str, Numbers, list[int]]] = {}

    def check(self, situation: Situation, progress: Progress) -> Numbers | None:
        """Returns the line's numbers; None if they are wrong."""
        riichi = tuple(progress.riichi)
        if progress.last.is_riichi and situation.drawn is None:
            riichi = riichi[:-1]  # not paid before all have passed on the discard
        view = self._views.get(riichi)
        if view is None:
            numbers = self._numbers_at(riichi, situation)
            if numbers is None:
                return None
            view = self._views[riichi] = (
                str(numbers),
                numbers,
                standing_tokens(self._settings.grades, numbers.scores, self._settings.rules),
            )
        text, numbers, standing = view
        if situation.numeric != text:
            seats = f"seats {list(riichi)}" if riichi else "nobody"
            why = f"the round began with {self.start}, {seats} paid for riichi"
            self._fail("numbers", f"field 2 (numeric) is {situation.numeric}, {text} expected: {why}")
            return None
        if situation.standing != standing:
            self._fail(*self._wrong_standing(situation, numbers))
        return numbers

    def _numbers_at(self, riichi: Sequence[int], situation: Situation) -> Numbers | None:
        if self.start is None:
            numbers = parse_numbers(situation.numeric, self._settings.rules)
            if numbers is None:
                self._fail("numbers", _not_numbers(situation, self._settings.rules))
                return None
            problem = numbers.problem(self._settings.total)
            if problem:
                self._fail("numbers", f"field 2 (numeric): {problem}")
                return None
            self.start = numbers.after(riichi, -1)
        return self.start.after(riichi)

    def _wrong_standing(self, situation: Situation, numbers: Numbers) -> tuple[str, str]:
        found = grades_and_ranks(situation.standing, self._settings.rules)
        if found is None:
            return "blocks", _not_standing(situation)
        if tuple(found[0]) != self._settings.grades:
            words = f"{found[0]}, in the game's first line {list(self._settings.grades)}"
            return "game", f"field 1 (sparse): the grades are {words}"
        right = ranks(numbers.scores)
        return "ranks", f"field 1 (sparse): the ranks are {found[1]}, by the scores {list(numbers.scores)} {right}"
