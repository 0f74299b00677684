"""Checks of a round's end: results against scores, sticks and the last decisions; and what may follow."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from annotate.checks.choices import actions_of
from annotate.checks.payments import OWN_TSUMO, Codes, possible_ends
from annotate.checks.progress import events_of
from annotate.checks.rounds import RoundLines
from annotate.checks.rules import Rules
from annotate.checks.scores import Fail


class Results(NamedTuple):
    """The last field of a line."""

    code: int
    """how the round ended, from the seat's view"""
    deltas: tuple[int, ...]
    ranks: tuple[int, ...]
    rank: int
    score: int
    grading_delta: int


def parse_results(text: str, rules: Rules) -> Results | None:
    """Parses the results; returns None if the text is not as many integers as the rules have."""
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        return None
    if len(numbers) != len(rules.vocabulary.results) or ",".join(map(str, numbers)) != text:
        return None
    end_of_deltas, end_of_ranks = 1 + rules.num_seats, 1 + 2 * rules.num_seats
    return Results(numbers[0], numbers[1:end_of_deltas], numbers[end_of_deltas:end_of_ranks], *numbers[end_of_ranks:])


class Next(NamedTuple):
    """The dealer and honba of a possible next round."""

    dealer_stays: bool
    honba: int


class _Last(NamedTuple):
    """The seats whose last decisions end the round."""

    tsumo: list[int]
    rons: list[int]
    kyushu: list[int]


def check_end(round_lines: RoundLines, results: Mapping[int, Results], fail: Fail) -> set[Next]:
    """Checks the results of a round after its last line. Returns what may follow; empty if unknown.

    Args:
        results: by seat, of those that have lines; their deltas agree.
    """
    start = round_lines.start
    if start is None or not results:
        return set()
    deltas = next(iter(results.values())).deltas
    if any(delta % 100 for delta in deltas):
        fail("deltas", f"field 6 (results): the round's deltas are {list(deltas)}, multiples of 100 expected")
        return set()
    decisions, rules, actions = round_lines.decisions, round_lines.rules, actions_of(round_lines.rules)
    last = _Last(
        [d.seat for d in decisions if d.action == actions.tsumo],
        [d.seat for d in decisions if actions.is_ron[d.action]],
        [d.seat for d in decisions if d.action == actions.kyushu],
    )
    if round_lines.is_whole and not any(last):
        _go_to_end(round_lines)
    ends: list[Codes] = []
    all_ends: list[Codes] = []
    for riichi in _riichi(round_lines, last):
        found = possible_ends(deltas, round_lines.key[1], start.honba, start.deposits, riichi, rules)
        all_ends += found
        ends += [end for end in found if not round_lines.is_whole or _fits(end, last, round_lines)]
    codes = {seat: result.code for seat, result in results.items()}
    agreeing = [end for end in ends if all(end[seat] == code for seat, code in codes.items())]
    if not agreeing and round_lines.may_lack_lines:  # the last choice has no line
        agreeing = [end for end in all_ends if all(end[seat] == code for seat, code in codes.items())]
    if not agreeing:
        fail(*_why(ends, all_ends, codes, round_lines, next(iter(results.values()))))
    return {follower for end in agreeing for follower in _followers(end, round_lines, last, start.honba)}


def _go_to_end(round_lines: RoundLines) -> None:
    """Applies the last decision, after which no seat may have had a choice."""
    actions, events = actions_of(round_lines.rules), events_of(round_lines.rules)
    chosen = [event for d in round_lines.decisions if (event := actions.event_of[d.seat][d.action]) is not None]
    if chosen:
        # the other calls take precedence over a chi
        round_lines.follow(events[min(chosen, key=lambda token: events[token].name == "chi")])
    missing = round_lines.missing_turn()
    if missing:
        round_lines.is_whole = False
        round_lines.miss((), f"the round ends here, but {missing}")


def _riichi(round_lines: RoundLines, last: _Last) -> Iterator[tuple[bool, ...]]:
    """Yields for each possibility whether each seat has paid for riichi."""
    progress = round_lines.progress
    paid = progress.riichi
    if not round_lines.is_whole:
        paid = paid[:-1] if progress.last.is_riichi else paid
        for riichi in product((False, True), repeat=round_lines.rules.num_seats):
            if all(riichi[seat] for seat in paid):
                yield riichi
        return
    if last.rons and progress.last.is_riichi:
        paid = paid[:-1]
    yield tuple(seat in paid for seat in round_lines.rules.seats)


def _fits(end: Codes, last: _Last, round_lines: RoundLines) -> bool:
    """Returns whether an end is the result of the last decisions."""
    rules = round_lines.rules
    if last.tsumo:
        return end[last.tsumo[0]] == OWN_TSUMO
    if last.rons:
        discarder = round_lines.progress.last.seat
        if end[0] == rules.aborted:
            return len(last.rons) == 3
        others = [seat for seat in rules.seats if seat != discarder]
        winners = [seat for seat in others if end[seat] == rules.own_ron + rules.relative(discarder, seat)]
        return winners == sorted(last.rons)
    if last.kyushu or round_lines.progress.is_aborted or round_lines.progress.is_last_kan():
        return end[0] == rules.aborted
    progress = round_lines.progress
    if OWN_TSUMO in end:  # a mangan of discards counts as a tsumo
        return progress.has_nagashi(end.index(OWN_TSUMO))
    # of discards in riichi some may have no line
    is_nagashi = any(progress.has_nagashi(seat) and not progress.is_riichi[seat] for seat in rules.seats)
    return end[0] in (rules.tenpai, rules.not_tenpai) and not is_nagashi


def _followers(end: Codes, round_lines: RoundLines, last: _Last, honba: int) -> Iterator[Next]:
    code, rules = end[round_lines.key[1]], round_lines.rules
    if OWN_TSUMO in end:
        if last.tsumo or not round_lines.is_whole:
            yield Next(True, honba + 1) if code == OWN_TSUMO else Next(False, 0)
        if not last.tsumo:  # a mangan of discards: whether the dealer was tenpai is unknown
            yield Next(True, honba + 1)
            yield Next(False, honba + 1)
    elif code in (rules.tenpai, rules.not_tenpai):
        yield Next(code == rules.tenpai, honba + 1)
    elif code == rules.aborted or rules.own_ron <= code < rules.dealt_in:
        yield Next(True, honba + 1)
    else:
        yield Next(False, 0)


def _why(
    ends: list[Codes], all_ends: list[Codes], codes: Mapping[int, int], round_lines: RoundLines, results: Results
) -> tuple[str, str]:
    """Returns the kind and the text of the violation where no end agrees with the codes."""
    start, deltas = round_lines.start, list(results.deltas)
    if not all_ends:
        seats = round_lines.progress.riichi
        words = f"dealer {round_lines.key[1]}, began with {start}, riichi by {seats or 'nobody'}, sum {sum(deltas)}"
        return "deltas", f"field 6 (results): no end of a round changes the scores by {deltas} ({words})"
    seen = ", ".join(f"seat {seat}: {code}" for seat, code in sorted(codes.items()))
    expected = ends or all_ends
    words = " or ".join(", ".join(f"seat {s}: {end[s]}" for s in sorted(codes)) for end in dict.fromkeys(expected))
    why = f"by the deltas {deltas}" if ends else f"by the deltas {deltas}, which is not how the lines end"
    return "round result", f"field 6 (results): the round's results are {seen}; expected {words} {why}"
