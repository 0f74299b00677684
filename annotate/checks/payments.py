"""The ends of a round that agree with its changes of the scores.

Points as in the rules of Tenhou and Mahjong Soul: no rounding up to mangan, counters and deposits go to the first
winner after the discarder, a mangan of discards (nagashi) is paid without counters and leaves the deposits.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from annotate.vocabulary import FOUR_PLAYERS

NUM_SEATS = FOUR_PLAYERS.num_seats
SEATS = range(NUM_SEATS)
STICK = 1000
COUNTER = 300
"""points that a winner receives for each counter stick, a third of it from each loser of a tsumo"""

# codes of the end of a round, from a seat's view
OWN_TSUMO, OWN_RON, DEALT_IN, RON_OF_OTHERS, NOT_TENPAI, TENPAI, ABORTED = 0, 4, 7, 10, 16, 17, 18

_NOTEN_POINTS = 3000
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


def relative(of: int, to: int) -> int:
    """Computes the place of seat `of` relative to seat `to`: 0 right, 1 across, 2 left."""
    return (of - to - 1) % NUM_SEATS


@lru_cache(maxsize=1024)
def possible_ends(
    deltas: tuple[int, ...], dealer: int, honba: int, deposits: int, riichi: tuple[bool, ...]
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
        *_draws(moved, riichi),
        *_nagashi(moved, dealer),
        *_tsumos(moved, dealer, honba, sticks),
        *_rons(moved, dealer, honba, sticks),
    )


def _draws(moved: Sequence[int], riichi: Sequence[bool]) -> Iterator[Codes]:
    if not any(moved):
        yield (ABORTED,) * NUM_SEATS
    for number in range(NUM_SEATS + 1):
        for tenpai in combinations(SEATS, number):
            if any(riichi[seat] and seat not in tenpai for seat in SEATS):
                continue
            gain, loss = (0, 0) if number in (0, NUM_SEATS) else (_NOTEN_POINTS // number, number - NUM_SEATS)
            if list(moved) == [gain if s in tenpai else _NOTEN_POINTS // loss if loss else 0 for s in SEATS]:
                yield tuple(TENPAI if seat in tenpai else NOT_TENPAI for seat in SEATS)


def _nagashi(moved: Sequence[int], dealer: int) -> Iterator[Codes]:
    for number in range(1, NUM_SEATS):  # four would receive nothing
        for winners in combinations(SEATS, number):
            points = [0] * NUM_SEATS
            for winner in winners:
                for seat in SEATS:
                    share = _MANGAN * (1 + (dealer in (winner, seat)))
                    points[seat] -= share * (seat != winner)
                    points[winner] += share * (seat != winner)
            if points == list(moved):
                yield _tsumo_codes(min(winners, key=lambda seat: (seat - dealer) % NUM_SEATS))


def _tsumo_codes(winner: int) -> Codes:
    return tuple(OWN_TSUMO if seat == winner else 1 + relative(winner, seat) for seat in SEATS)


def _tsumos(moved: Sequence[int], dealer: int, honba: int, sticks: int) -> Iterator[Codes]:
    for winner in SEATS:
        others = [seat for seat in SEATS if seat != winner]
        if moved[winner] <= 0 or any(moved[seat] > 0 for seat in others) or sum(moved) != sticks:
            continue
        paid = [-moved[seat] - COUNTER // 3 * honba for seat in others]
        if winner == dealer:
            is_right = len(set(paid)) == 1 and paid[0] in _TSUMO_OF_DEALER
        else:
            of_dealer = paid[others.index(dealer)]
            of_children = {points for seat, points in zip(others, paid, strict=True) if seat != dealer}
            is_right = len(of_children) == 1 and (of_children.pop(), of_dealer) in _TSUMO_OF_CHILD
        if is_right or _is_yakuman(moved[winner] - sticks - COUNTER * honba, winner == dealer):
            yield _tsumo_codes(winner)


def _is_yakuman(value: int, of_dealer: bool) -> bool:
    """Returns whether one seat may be liable for others' payments (pao)."""
    unit = _YAKUMAN * (6 if of_dealer else 4)
    return value in range(unit, unit * _MOST_YAKUMAN + 1, unit)


def _rons(moved: Sequence[int], dealer: int, honba: int, sticks: int) -> Iterator[Codes]:
    winners = [seat for seat in SEATS if moved[seat] > 0]
    for loser in SEATS:
        if not winners or moved[loser] >= 0 or sum(moved) != sticks:
            continue
        first = min(winners, key=lambda seat: (seat - loser) % NUM_SEATS)
        values = {w: moved[w] - (sticks + COUNTER * honba if w == first else 0) for w in winners}
        if not all(value in (_RON_OF_DEALER if w == dealer else _RON_OF_CHILD) for w, value in values.items()):
            continue
        payers = [seat for seat in SEATS if moved[seat] < 0]
        if payers == [loser] or any(_is_yakuman(value, w == dealer) for w, value in values.items()):
            yield tuple(_ron_code(seat, winners, first, loser) for seat in SEATS)


def _ron_code(seat: int, winners: Sequence[int], first: int, loser: int) -> int:
    if seat in winners:
        return OWN_RON + relative(loser, seat)
    if seat == loser:
        return DEALT_IN + relative(first, seat)
    winner, discarder = relative(first, seat), relative(loser, seat)
    return RON_OF_OTHERS + 2 * winner + (discarder if discarder < winner else discarder - 1)
