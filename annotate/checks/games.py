"""Checks of the lines of one game in their order: constant settings, results, and the sequence of rounds."""

from collections import Counter

from annotate.checks.ending import Next, Results, check_end, parse_results
from annotate.checks.rounds import RoundLines
from annotate.checks.rules import OF_FOUR, Rules, rules_of_line
from annotate.checks.scores import IN_WORDS, Fail, Numbers, Settings, parse_numbers, ranks
from annotate.checks.situation import Situation, WrongLine

_UNKNOWN_HONBA = -1


class GameLines:
    """The checks of one game, from its first line on. `fail` is called for every violation.

    Choices without a line are violations, or are counted in `absent` if it is given: the server may have made them for
    players who were away.
    """

    def __init__(self, fail: Fail, absent: Counter[str] | None = None) -> None:
        self._absent = absent
        self.num_rounds = 0
        self.num_gaps = 0
        """places where rounds are left out"""
        self.line = 0
        """the line of violations"""
        self._last_line = 0
        self._fail = fail
        self._settings: Settings | None = None
        self._rules = OF_FOUR
        """of the first line"""
        self._round: RoundLines | None = None
        self._texts: dict[int, str] = {}
        """results of the round, by seat"""
        self._results: dict[int, Results] = {}
        self._ranks: tuple[int, ...] | None = None
        self._ends: dict[int, tuple[int, int]] = {}
        """score and grading delta, by seat"""
        self._after: tuple[tuple[int, int, int], set[Next], tuple[int, ...]] | None = None
        """of the previous round: its key, what may follow, the scores at its end"""

    def add(self, text: str, line: int) -> None:
        """Checks the next line, given without its line break."""
        self.line, self._last_line = line, self.line
        try:
            if self._settings is None:
                self._rules = rules_of_line(text)
            situation = Situation(text, self._rules)
            settings = self._settings = self._settings or Settings.of(situation, self._rules)
        except WrongLine as wrong:
            self._fail(wrong.kind, wrong.text)
            if self._round:
                self._round.lose()
            return
        if (situation.room, situation.style) != (settings.room, settings.style):
            words = f"{situation.room} and {situation.style}, in the first line {settings.room} and {settings.style}"
            self._fail("game", f"field 1 (sparse): room and style are {words}")
        if (situation.hidden is not None) != settings.has_hidden:
            words = "has" if settings.has_hidden else "does not have"
            self._fail("game", f"field 7 (hidden): all lines or none expected; the first {words} it")
        if self._round is None or self._begins_round(situation, self._round):
            self._begin_round(situation, settings)
        assert self._round is not None
        if (situation.wind, situation.dealer) != self._round.key[:2]:
            found = f"wind {situation.wind} and round {situation.dealer}"
            self._fail("round", f"field 1 (sparse): {found}, in the line before {list(self._round.key[:2])}")
        if self._texts.get(situation.seat) != situation.results:
            self._check_results(situation, settings)
        self._round.add(situation, line)

    def finish(self) -> None:
        """Checks the end of the game, after the last line."""
        if self._round is None or self._settings is None:
            return
        self._last_line, total = self.line, self._settings.total
        self._end_round()
        scores = [self._ends[seat][0] for seat in self._rules.seats if seat in self._ends]
        if self._ranks is None or len(scores) < self._rules.num_seats:
            return
        if sum(scores) != total:
            self._fail("end of game", f"field 6 (results): the end scores {scores} are {sum(scores)}, {total} expected")
        elif list(self._ranks) != ranks(scores):
            words = f"{list(self._ranks)}, {ranks(scores)} expected by the end scores {scores}"
            self._fail("end of game", f"field 6 (results): the ranks are {words}")
        elif self._after:
            self._check_last_scores(*self._after, scores, total)

    def _check_last_scores(
        self, key: tuple[int, int, int], followers: set[Next], after: tuple[int, ...], scores: list[int], total: int
    ) -> None:
        """Checks that the end scores are those after the last round, with the remaining deposits added to the first."""
        first = scores.index(max(scores))
        expected = list(after)
        expected[first] += total - sum(after)
        if scores == expected:
            return
        if min(after) < 0:
            words = f"{scores}, {expected} expected: the last round left {list(after)}, and a seat below 0 ends a game"
            self._fail("end of game", f"field 6 (results): the end scores are {words}")
        elif self._is_over(key, followers, after):
            words = f"{scores}, {expected} expected: the last round left {list(after)}, and the game is over"
            self._fail("end of game", f"field 6 (results): the end scores are {words}")
        else:
            self.num_gaps += 1

    def _is_over(self, key: tuple[int, int, int], followers: set[Next], after: tuple[int, ...]) -> bool:
        """Returns whether the game is over: past its last scheduled dealer, with enough points of a seat."""
        assert self._settings is not None
        if (
            self._settings.start_score != self._rules.start_score
            or not followers
            or any(stays for stays, _ in followers)
        ):
            return False
        wind, dealer, _ = key
        num_seats = self._rules.num_seats
        is_last = wind * num_seats + dealer + 1 >= (self._settings.style + 1) * num_seats
        return is_last and max(after) >= self._rules.enough

    # Rounds

    def _begins_round(self, situation: Situation, current: RoundLines) -> bool:
        if situation.progression == "0":
            return True
        if (situation.wind, situation.dealer) != current.key[:2]:
            return current.is_lost or not current.continues(situation.progression)
        if current.is_lost or current.continues(situation.progression):
            return False
        numbers = parse_numbers(situation.numeric, self._rules)
        return numbers is not None and numbers.honba != current.key[2]

    def _begin_round(self, situation: Situation, settings: Settings) -> None:
        if self._round is not None:
            self._end_round()
        self.num_rounds += 1
        self._texts, self._results = {}, {}
        numbers = parse_numbers(situation.numeric, self._rules)
        honba = numbers.honba if numbers else _UNKNOWN_HONBA
        self._round = RoundLines(situation, honba, settings, self._fail, self._absent)
        if situation.wind > situation.style + 1:
            self._fail("round", f"field 1 (sparse): wind {situation.wind} in a game of style {situation.style}")
        if numbers:
            self._check_order(self._round.key, numbers, settings.start_score)

    def _end_round(self) -> None:
        assert self._round is not None
        line, self.line = self.line, self._last_line
        followers = check_end(self._round, self._results, self._fail)
        self.line = line
        start, results = self._round.start, next(iter(self._results.values()), None)
        if start is None or results is None:
            self._after = None
            return
        scores = tuple(score + delta for score, delta in zip(start.scores, results.deltas, strict=True))
        self._after = self._round.key, followers, scores

    def _check_order(self, key: tuple[int, int, int], numbers: Numbers, start_score: int) -> None:
        """Checks that the round may follow the previous one, possibly with rounds left out in between."""
        wind, dealer, honba = key
        if self._after is None:
            if key == (0, 0, 0) and self.num_rounds == 1 and numbers.scores != (start_score,) * self._rules.num_seats:
                words = f"{list(numbers.scores)}, a game begins with {start_score} each"
                self._fail("numbers", f"field 2 (numeric): the scores are {words}")
            self.num_gaps += key != (0, 0, 0) and self.num_rounds == 1
            return
        before, followers, scores = self._after
        num_seats = self._rules.num_seats
        place, found = before[0] * num_seats + before[1], (wind * num_seats + dealer, honba)
        expected = [(place + (not stays), next_honba) for stays, next_honba in followers] or [(place, before[2] + 1)]
        if found in expected:
            if numbers.scores != scores:
                words = f"{list(numbers.scores)}, {list(scores)} expected after the previous round"
                self._fail("numbers", f"field 2 (numeric): the round starts with the scores {words}")
        elif found > min(expected):
            self.num_gaps += bool(followers)
        else:
            words = f"wind {wind}, round {dealer}, honba {honba} cannot follow {list(before)} as that ended"
            self._fail("round", f"fields 1 and 2 (sparse, numeric): {words}")

    # Results

    def _check_results(self, situation: Situation, settings: Settings) -> None:
        """Checks results that the seat's previous lines of the round did not have."""
        seat, text = situation.seat, situation.results
        if seat in self._texts:
            words = f"{text}, in the seat's line before {self._texts[seat]}"
            self._fail("results", f"field 6 (results) is {words}: they are the same in the whole round")
            return
        results = parse_results(text, self._rules)
        if results is None:
            number = IN_WORDS[len(self._rules.vocabulary.results)]
            self._fail("results", f"field 6 (results): {number} integers expected, not {text[:80]!r}")
            return
        problem = _wrong_results(results, seat, settings.start_score, self._rules)
        if problem:
            self._fail("results", f"field 6 (results): {problem}")
            return
        others = next(iter(self._results.values()), results)
        self._texts[seat], self._results[seat] = text, results
        if results.deltas != others.deltas:
            del self._results[seat]
            words = f"{list(results.deltas)}, by another seat's line {list(others.deltas)}"
            self._fail("results", f"field 6 (results): the round's deltas are {words}")
        self._ranks = self._ranks or results.ranks
        if results.ranks != self._ranks:
            words = f"{list(results.ranks)}, in the game's first line {list(self._ranks)}"
            self._fail("results", f"field 6 (results): the ranks are {words}")
        end = results.score, results.grading_delta
        if self._ends.setdefault(seat, end) != end:
            words = f"{list(end)}, in an earlier round {list(self._ends[seat])}"
            self._fail("results", f"field 6 (results): end score and grading delta of seat {seat} are {words}")


def _wrong_results(results: Results, seat: int, mean: int, rules: Rules) -> str | None:
    if not 0 <= results.code <= rules.aborted:
        return f"the round's result is {results.code}, 0 to {rules.aborted} expected"
    if sorted(results.ranks) != list(rules.seats):
        return f"the ranks {list(results.ranks)} are not a permutation of {list(rules.seats)}"
    if results.rank != results.ranks[seat]:
        return (
            f"the rank is {results.rank}, but by the ranks {list(results.ranks)} seat {seat}'s is {results.ranks[seat]}"
        )
    if results.score % 100:
        return f"the end score is {results.score}, a multiple of 100 expected"
    is_first, is_last = results.rank == 0, results.rank == rules.num_seats - 1
    if is_first and results.score < mean or is_last and results.score > mean:
        return f"the end score {results.score} cannot have rank {results.rank}: {mean} is the mean"
    if is_first and results.grading_delta < 0:
        return f"the first loses grading points: {results.grading_delta}"
    return None
