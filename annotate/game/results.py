"""How a round and a game ended, seen from a seat: field 6 of the annotation."""

from collections.abc import Sequence

from annotate.game.grading import ranks_of
from annotate.game.record import Event

# Round results, by their first value; `other` is the relative seat, 0 right, 1 across, 2 left.
_TSUMO_OTHER = 1  # 0 is the seat's own tsumo
_RON_FROM = 4
_DEALT_IN_TO = 7
_BETWEEN_OTHERS = {(0, 1): 10, (0, 2): 11, (1, 0): 12, (1, 2): 13, (2, 0): 14, (2, 1): 15}  # (winner, discarder)
_NOTEN = 16
_TENPAI = 17
_ABORTED = 18

EXHAUSTIVE = ("exhaustive_draw", None)
NAGASHI = "nagashimangan"


def round_delta(events: Sequence[Event], num_seats: int) -> list[int]:
    """Computes the change of each seat's score in a round, riichi sticks included.

    Args:
        events: the round; its last event may have the scores after it instead of what was paid.
    """
    last = events[-1]
    if "deltas" not in last and "scores" in last:
        return [after - before for before, after in zip(events[0]["scores"], last["scores"], strict=True)]
    delta = [0] * num_seats
    for event in events:
        if event["type"] == "reach_accepted":
            delta[event["actor"]] -= 1000
        elif event["type"] in ("hora", "ryukyoku"):
            delta = [a + b for a, b in zip(delta, event.get("deltas") or [0] * num_seats, strict=True)]
    return delta


def leftover_deposits(events: Sequence[Event]) -> int:
    """Counts the riichi sticks still on the table after the round."""
    if any(event["type"] == "hora" for event in events):
        return 0
    return events[0]["kyotaku"] + sum(event["type"] == "reach_accepted" for event in events)


def final_scores(last: Sequence[Event]) -> tuple[int, ...]:
    """Computes the final scores from a game's last round; deposits that nobody won go to the first-placed seat."""
    start = last[0]["scores"]
    final = [score + delta for score, delta in zip(start, round_delta(last, len(start)), strict=True)]
    final[ranks_of(final).index(0)] += 1000 * leftover_deposits(last)
    return tuple(final)


def round_results(events: Sequence[Event], dealer: int, is_tenpai: Sequence[bool]) -> list[int]:
    """Computes the round result 0 ... 18 from the point of view of each seat.

    Args:
        events: the round; its last events are hora or ryukyoku.
        dealer: the dealer's seat.
        is_tenpai: by seat; matters only at an exhaustive draw.
    """
    num_seats = len(is_tenpai)
    wins = [event for event in events if event["type"] == "hora"]
    if wins:
        winners = {event["actor"] for event in wins}
        target = wins[0]["target"]
        first = min(winners, key=lambda seat: (seat - target) % num_seats)
        return [_win_result(seat, seat if seat in winners else first, target, num_seats) for seat in range(num_seats)]
    draw = events[-1]
    assert draw["type"] == "ryukyoku", draw
    if draw.get("reason") == NAGASHI:
        # the seats that are paid are those whose discards were all terminals and honours and unclaimed
        winner = next(seat for seat in _from(dealer, num_seats) if draw["deltas"][seat] > 0)
        return [_win_result(seat, winner, winner, num_seats) for seat in range(num_seats)]
    if draw.get("reason") in EXHAUSTIVE:
        return [_TENPAI if tenpai else _NOTEN for tenpai in is_tenpai]
    return [_ABORTED] * num_seats


def relative_winner(round_result: int) -> int | None:
    """Returns who won, relative to the seat with this round result: 0 itself, 1 the next seat, …; None: nobody."""
    if round_result >= _NOTEN:
        return None
    if round_result >= min(_BETWEEN_OTHERS.values()):
        return 1 + next(winner for (winner, _), result in _BETWEEN_OTHERS.items() if result == round_result)
    if round_result >= _DEALT_IN_TO:
        return 1 + round_result - _DEALT_IN_TO
    return 0 if round_result >= _RON_FROM else round_result  # another's tsumo is _TSUMO_OTHER and its relative seat


def dealt_in_to(round_result: int) -> int | None:
    """Returns to whom the seat with this round result dealt in: 0 the next seat, …; None if to nobody."""
    winner = round_result - _DEALT_IN_TO
    return winner if 0 <= winner < min(_BETWEEN_OTHERS.values()) - _DEALT_IN_TO else None


def _win_result(seat: int, winner: int, target: int, num_seats: int) -> int:
    def relative(other: int) -> int:
        return (other - seat - 1) % num_seats

    if winner == target:
        return 0 if seat == winner else _TSUMO_OTHER + relative(winner)
    if seat == winner:
        return _RON_FROM + relative(target)
    if seat == target:
        return _DEALT_IN_TO + relative(winner)
    return _BETWEEN_OTHERS[relative(winner), relative(target)]


def _from(dealer: int, num_seats: int) -> list[int]:
    return [(dealer + i) % num_seats for i in range(num_seats)]
