"""The ends of a round that agree with its changes of the scores.

Points as in the rules of Tenhou and Mahjong Soul: no rounding up to mangan, counters and deposits go to the first
winner after the discarder, a mangan of discards (nagashi) is paid without counters and leaves the deposits.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from annotate.checks.rules import Rules

STICK = 1000
OWN_TSUMO = 0  # the first code of the end of a round, from a seat's view
_MANGAN = 2000  # a child's base points
_YAKUMAN = 8000
_MOST_YAKUMAN = 6
_MOST_FU = 140


def _up(points: int) -> int:
    return -(-points // 100) * 100


_BASES = tuple(
    sorted(
        {min(fu << (han + 2), _MANGAN) for han in range(1, 5) for fu in (25, *range(20, _MOST_FU + 1, 10))}
        | {_MANGAN, 3000, 4000, 6000}
        | {_YAKUMAN * number for number in range(1, _MOST_YAKUMAN + 1)}
    )
)
_RON_OF_CHILD = frozenset(_up(4 * base) for base in _BASES)
_RON_OF_DEALER = frozenset(_up(6 * base) for base in _BASES)
_TSUMO_OF_DEALER = frozenset(_up(2 * base) for base in _BASES)
_TSUMO_OF_CHILD = frozenset((_up(base), _up(2 * base)) for base in _BASES)

Codes = tuple[int, ...]
"""how a round ended, from each seat's view"""


@lru_cache(maxsize=1024)
def possible_ends(
    deltas: tuple[int, ...], dealer: int, honba: int, deposits: int, riichi: tuple[bool, ...], rules: Rules
) -> tuple[Codes, ...]:
    """Computes the codes that a round can have ended with.

    Args:
        deltas: of the scores by seat, in points.
        deposits: riichi sticks on the table at the start of the round.
        riichi: by seat, whether a stick was paid in the round.
    """
    moved = [delta + STICK * paid for delta, paid in zip(deltas, riichi, strict=True)]
    sticks = STICK * (deposits + sum(riichi))
    return (
        *_draws(moved, riichi, rules),
        *_nagashi(moved, dealer, rules),
        *_tsumos(moved, dealer, honba, sticks, rules),
        *_rons(moved, dealer, honba, sticks, rules),
    )


def _draws(moved: Sequence[int], riichi: Sequence[bool], rules: Rules) -> Iterator[Codes]:
    num_seats, points = rules.num_seats, rules.noten_points
    if not any(moved):
        yield (rules.aborted,) * num_seats
    for number in range(num_seats + 1):
        for tenpai in combinations(rules.seats, number):
            if any(riichi[seat] and seat not in tenpai for seat in rules.seats):
                continue
            gain, loss = (0, 0) if number in (0, num_seats) else (points // number, number - num_seats)
            if list(moved) == [gain if s in tenpai else points // loss if loss else 0 for s in rules.seats]:
                yield tuple(rules.tenpai if seat in tenpai else rules.not_tenpai for seat in rules.seats)


def _nagashi(moved: Sequence[int], dealer: int, rules: Rules) -> Iterator[Codes]:
    num_seats = rules.num_seats
    for number in range(1, num_seats):  # all would receive nothing
        for winners in combinations(rules.seats, number):
            points = [0] * num_seats
            for winner in winners:
                for seat in rules.seats:
                    share = _MANGAN * (1 + (dealer in (winner, seat)))
                    points[seat] -= share * (seat != winner)
                    points[winner] += share * (seat != winner)
            if points == list(moved):
                yield _tsumo_codes(min(winners, key=lambda seat: (seat - dealer) % num_seats), rules)


def _tsumo_codes(winner: int, rules: Rules) -> Codes:
    return tuple(OWN_TSUMO if seat == winner else 1 + rules.relative(winner, seat) for seat in rules.seats)


def _tsumos(moved: Sequence[int], dealer: int, honba: int, sticks: int, rules: Rules) -> Iterator[Codes]:
    share = rules.counter // (rules.num_seats - 1)
    for winner in rules.seats:
        others = [seat for seat in rules.seats if seat != winner]
        if moved[winner] <= 0 or any(moved[seat] > 0 for seat in others) or sum(moved) != sticks:
            continue
        paid = [-moved[seat] - share * honba for seat in others]
        if winner == dealer:
            is_right = len(set(paid)) == 1 and paid[0] in _TSUMO_OF_DEALER
        else:
            of_dealer = paid[others.index(dealer)]
            of_children = {points for seat, points in zip(others, paid, strict=True) if seat != dealer}
            is_right = len(of_children) == 1 and (of_children.pop(), of_dealer) in _TSUMO_OF_CHILD
        if is_right or _is_yakuman(moved[winner] - sticks - rules.counter * honba, winner == dealer, rules):
            yield _tsumo_codes(winner, rules)


def _is_yakuman(value: int, of_dealer: bool, rules: Rules) -> bool:
    """Returns whether one seat may be liable for others' payments (pao)."""
    units = [_YAKUMAN * (6 if of_dealer else 4)]
    if rules.num_seats == 3:  # also without what an empty seat would pay for a tsumo
        units.append(_YAKUMAN * (4 if of_dealer else 3))
    return any(value in range(unit, unit * _MOST_YAKUMAN + 1, unit) for unit in units)


def _rons(moved: Sequence[int], dealer: int, honba: int, sticks: int, rules: Rules) -> Iterator[Codes]:
    winners = [seat for seat in rules.seats if moved[seat] > 0]
    for loser in rules.seats:
        if not winners or moved[loser] >= 0 or sum(moved) != sticks:
            continue
        first = min(winners, key=lambda seat: (seat - loser) % rules.num_seats)
        values = {w: moved[w] - (sticks + rules.counter * honba if w == first else 0) for w in winners}
        if not all(value in (_RON_OF_DEALER if w == dealer else _RON_OF_CHILD) for w, value in values.items()):
            continue
        payers = [seat for seat in rules.seats if moved[seat] < 0]
        if payers == [loser] or any(_is_yakuman(value, w == dealer, rules) for w, value in values.items()):
            yield tuple(_ron_code(seat, winners, first, loser, rules) for seat in rules.seats)


def _ron_code(seat: int, winners: Sequence[int], first: int, loser: int, rules: Rules) -> int:
    if seat in winners:
        return rules.own_ron + rules.relative(loser, seat)
    if seat == loser:
        return rules.dealt_in + rules.relative(first, seat)
    winner, discarder = rules.relative(first, seat), rules.relative(loser, seat)
    return rules.ron_of_others + (rules.num_seats - 2) * winner + (discarder if discarder < winner else discarder - 1)
