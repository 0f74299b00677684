"""Results of a round and of a game from a seat's point of view: field 6 of the annotation."""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from annotate.game.grading import ranks_of
from annotate.game.hands import tenpai_at_end
from annotate.game.record import ENDS, ENOUGH, START_SCORE, STICK, Event
from annotate.game.tiles import WINDS
from annotate.vocabulary import VOCABULARIES

_Outcome = tuple[int, int] | str
"""a win as (winner, discarder), or (winner, winner) for a tsumo, counted from a seat: 0 itself, 1 the next; or a word
for the end of a round without a winner"""
_NOTEN, _TENPAI, _ABORTED = "noten", "tenpai", "aborted"


def _outcomes(num_seats: int) -> list[_Outcome]:
    """Returns the outcome of each round result from a seat's point of view."""
    others = range(1, num_seats)
    return [
        (0, 0),
        *((winner, winner) for winner in others),
        *((0, discarder) for discarder in others),
        *((winner, 0) for winner in others),
        *permutations(others, 2),
        _NOTEN,
        _TENPAI,
        _ABORTED,
    ]


_OUTCOMES = {vocabulary.num_seats: _outcomes(vocabulary.num_seats) for vocabulary in VOCABULARIES.values()}


class RoundSummary(NamedTuple):
    """The start of a round and its changes of scores; lists are by seat."""

    wind: int
    """0 is East"""
    dealer: int
    honba: int
    deposits: int
    scores: tuple[int, ...]
    deltas: tuple[int, ...]


class GameSummary(NamedTuple):
    """A game without its moves: the table, its known rounds and its end; lists are by seat."""

    room: int
    style: int
    grades: tuple[int, ...]
    rounds: list[RoundSummary]
    final_scores: tuple[int, ...]
    grading_deltas: tuple[int, ...]


EXHAUSTIVE = ("exhaustive_draw", None)
NAGASHI = "nagashimangan"
ABORTS = ("kyushu_kyuhai", "sufuurenta", "suukansansen", "suucha_riichi", "sanchaho")
_NUM_DRAWS = {vocabulary.num_seats: vocabulary.num_live for vocabulary in VOCABULARIES.values()}


def round_delta(events: Sequence[Event], num_seats: int) -> list[int]:
    """Computes the change of each seat's score in a round, riichi sticks included."""
    delta = [0] * num_seats
    for event in events:
        if event["type"] == "reach_accepted":
            delta[event["actor"]] -= STICK
        elif event["type"] in ENDS:
            delta = [a + b for a, b in zip(delta, event.get("deltas") or [0] * num_seats, strict=True)]
    return delta


def scores_after(scores: Sequence[int], events: Sequence[Event]) -> tuple[int, ...]:
    """Computes the scores after a round that started with `scores`."""
    return tuple(score + change for score, change in zip(scores, round_delta(events, len(scores)), strict=True))


def leftover_deposits(events: Sequence[Event]) -> int:
    """Counts the riichi sticks still on the table after the round."""
    if any(event["type"] == "hora" for event in events):
        return 0
    return events[0]["kyotaku"] + sum(event["type"] == "reach_accepted" for event in events)


def dealer_stays(events: Sequence[Event]) -> bool:
    """Returns whether the dealer of a round is also the dealer of the next round."""
    dealer = events[0]["oya"]
    reason = _reason_of_draw(events)
    if reason is None:
        return any(event["type"] == "hora" and event["actor"] == dealer for event in events)
    return reason in ABORTS or (tenpai_at_end(events) if reason == NAGASHI else tenpai_by_seat(events))[dealer]


def is_aborted(events: Sequence[Event]) -> bool:
    """Returns whether a round ended with an abortive draw."""
    return _reason_of_draw(events) in ABORTS


def _reason_of_draw(events: Sequence[Event]) -> str | None:
    """Returns the reason why a round ended without a win, None if somebody won."""
    if events[-1]["type"] == "hora":
        return None
    reason: str | None = events[-1].get("reason")
    if reason not in (*ABORTS, EXHAUSTIVE[0], NAGASHI):  # missing or spelled differently in some dialects
        is_exhausted = sum(event["type"] == "tsumo" for event in events) == _NUM_DRAWS[len(events[0]["scores"])]
        return EXHAUSTIVE[0] if is_exhausted else ABORTS[0]
    return reason


def tenpai_by_seat(events: Sequence[Event]) -> list[bool]:
    """Returns which seats were tenpai at an exhaustive draw: those that were paid, unless all or none were."""
    paid = events[-1].get("deltas") or ()
    return [delta > 0 for delta in paid] if any(paid) else tenpai_at_end(events)


def final_scores(last: Sequence[Event]) -> tuple[int, ...]:
    """Computes the final scores from a game's last round; deposits that nobody won go to the first-placed seat."""
    return with_leftovers(scores_after(last[0]["scores"], last), leftover_deposits(last))


def with_leftovers(scores: Sequence[int], deposits: int) -> tuple[int, ...]:
    """Returns the scores after the first-placed seat got the deposits that nobody won."""
    final = list(scores)
    final[ranks_of(final).index(0)] += STICK * deposits
    return tuple(final)


def inferred_style(starts: Sequence[Event], final_scores: Sequence[int] | None) -> int:
    """Infers the style from the starts of a game's rounds: 0 if it ended as an East game does, else 1."""
    if final_scores is None or min(final_scores) < 0:
        return 1
    num_seats = len(final_scores)
    number = WINDS[starts[-1]["bakaze"]] * num_seats + starts[-1]["kyoku"]
    is_short = num_seats <= number < 2 * num_seats
    return 0 if is_short and not any(map(_is_beyond_east_game, starts)) else 1


def _is_beyond_east_game(start: Event) -> bool:
    """Returns whether an East game would have ended before this round; a dealer who stays may play on."""
    scores = start["scores"]
    num_seats = len(scores)
    is_usual = sum(scores) + STICK * start["kyotaku"] == START_SCORE[num_seats] * num_seats
    return start["bakaze"] != "E" and is_usual and start["honba"] == 0 and max(scores) >= ENOUGH[num_seats]


def round_summary(start: Event, deltas: Sequence[int]) -> RoundSummary:
    """Returns the summary of a round from its first event and its changes of scores."""
    wind = WINDS[start["bakaze"]]
    return RoundSummary(wind, start["oya"], start["honba"], start["kyotaku"], tuple(start["scores"]), tuple(deltas))


def round_part(events: Sequence[Event]) -> list[tuple[int, ...]]:
    """Computes the first results of each seat: round result and round deltas."""
    results = _round_results(events, len(events[0]["scores"]))
    delta = round_delta(events, len(results))
    return [(result, *delta) for result in results]


def game_part(scores: Sequence[int], grading_deltas: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns the last results of each seat: all ranks, its rank, final score and change of grading points."""
    ranks = ranks_of(scores)
    return [(*ranks, ranks[seat], scores[seat], grading_deltas[seat]) for seat in range(len(scores))]


def _round_results(events: Sequence[Event], num_seats: int) -> list[int]:
    """Computes the round result, the first of the results, of each seat for a round that ends with hora or ryukyoku."""
    dealer = events[0]["oya"]
    wins = [event for event in events if event["type"] == "hora"]
    if wins:
        winners = {event["actor"] for event in wins}
        target = wins[0]["target"]
        first = min(winners, key=lambda seat: (seat - target) % num_seats)
        return [_win_result(seat, seat if seat in winners else first, target, num_seats) for seat in range(num_seats)]
    draw = events[-1]
    assert draw["type"] == "ryukyoku", draw
    if draw.get("reason") == NAGASHI:
        # only seats whose discards were all terminals and honours and unclaimed are paid
        winner = next(seat for seat in (*range(dealer, num_seats), *range(dealer)) if draw["deltas"][seat] > 0)
        return [_win_result(seat, winner, winner, num_seats) for seat in range(num_seats)]
    outcomes = [_ABORTED] * num_seats
    if draw.get("reason") in EXHAUSTIVE:
        outcomes = [_TENPAI if tenpai else _NOTEN for tenpai in tenpai_by_seat(events)]
    return [_OUTCOMES[num_seats].index(outcome) for outcome in outcomes]


def _win_result(seat: int, winner: int, target: int, num_seats: int) -> int:
    return _OUTCOMES[num_seats].index(((winner - seat) % num_seats, (target - seat) % num_seats))


def relative_winner(round_result: int, num_seats: int) -> int | None:
    """Returns the winner relative to the seat with this round result: 0 itself, 1 the next seat, …; None: nobody."""
    outcome = _OUTCOMES[num_seats][round_result]
    return None if isinstance(outcome, str) else outcome[0]


def dealt_in_to(round_result: int, num_seats: int) -> int | None:
    """Returns the seat that a seat with this round result dealt in to: 0 the next seat, …; None: it did not deal in."""
    outcome = _OUTCOMES[num_seats][round_result]
    if isinstance(outcome, str):
        return None
    winner, discarder = outcome
    return winner - 1 if winner and not discarder else None
