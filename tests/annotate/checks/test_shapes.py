"""Complete hands and the waits of hands, against a plain search."""

import random
from functools import cache

import pytest

from annotate.checks.shapes import TERMINALS_AND_HONOURS, Shape
from annotate.vocabulary import NUM_TILES34


@cache
def makes_sets_and_pair(kinds: tuple[int, ...], has_pair: bool = False) -> bool:
    """Searches plainly: removes the first tile as part of a pair, a triplet or a run, and recurses."""
    if not kinds:
        return has_pair
    first = kinds[0]
    parts = [(first, first, first)]
    parts += [(first, first)] if not has_pair else []
    parts += [(first, first + 1, first + 2)] if first < 27 and first % 9 < 7 else []
    for part in parts:
        rest = list(kinds)
        if all(kind in rest and not rest.remove(kind) for kind in part):  # type: ignore[func-returns-value]
            if makes_sets_and_pair(tuple(rest), has_pair or len(part) == 2):
                return True
    return False


def is_complete(counts: list[int]) -> bool:
    kinds = tuple(kind for kind, count in enumerate(counts) for _ in range(count))
    orphans = len(kinds) == 14 and {*kinds} == {*TERMINALS_AND_HONOURS}
    return orphans or (len(kinds) == 14 and counts.count(2) == 7) or makes_sets_and_pair(kinds)


def waits(counts: list[int]) -> set[int]:
    found = set()
    for kind in range(NUM_TILES34):
        if counts[kind] < 4:
            counts[kind] += 1
            found |= {kind} if is_complete(counts) else set()
            counts[kind] -= 1
    return found


def random_hand(rng: random.Random, size: int) -> list[int]:
    """Returns a hand mostly of sets, so that it is often nearly complete."""
    counts = [0] * NUM_TILES34
    pool = rng.sample(range(NUM_TILES34), 12) if rng.random() < 0.5 else list(range(9))
    while sum(counts) < size:
        kind = rng.choice(pool)
        part = rng.choice([(kind,), (kind, kind), (kind, kind + 1, kind + 2), (kind, kind, kind)])
        if max(part) < 27 and part[-1] // 9 == kind // 9 or len({*part}) == 1:
            if all(counts[k] + part.count(k) <= 4 for k in part) and sum(counts) + len(part) <= size:
                for k in part:
                    counts[k] += 1
    return counts


def bits(found: int) -> set[int]:
    return {kind for kind in range(NUM_TILES34) if found >> kind & 1}


@pytest.mark.parametrize("num_melds", [0, 1, 3])
def test_complete_and_waiting_hands_are_those_of_a_plain_search(num_melds: int) -> None:
    rng = random.Random(num_melds)
    num_complete = num_waiting = 0
    for _ in range(150):
        counts = random_hand(rng, 14 - 3 * num_melds)
        assert Shape(counts, num_melds).is_complete() == is_complete(counts)
        num_complete += is_complete(counts)
        expected = set()
        for kind in (kind for kind in range(NUM_TILES34) if counts[kind]):
            counts[kind] -= 1
            found = waits(counts)
            assert bits(Shape(counts, num_melds).waits()) == found
            expected |= {kind} if found else set()
            counts[kind] += 1
        assert bits(Shape(counts, num_melds).discards()) == expected
        num_waiting += bool(expected)
    assert num_complete > 10 and num_waiting > 30


def test_thirteen_orphans_wait_for_the_missing_kind_or_for_all() -> None:
    counts = [int(kind in TERMINALS_AND_HONOURS) for kind in range(NUM_TILES34)]

    assert bits(Shape(counts, 0).waits()) == {*TERMINALS_AND_HONOURS}
    counts[0], counts[33] = 0, 2
    assert bits(Shape(counts, 0).waits()) == {0}


def test_a_wait_for_a_fifth_copy_counts_only_on_request() -> None:
    counts = [4, *[0] * 8, 3, 3, 3, *[0] * 22]  # 1111m 111222333p

    assert not Shape(counts, 0).waits()
    assert bits(Shape(counts, 0, takes_fifth=True).waits()) == {0}
