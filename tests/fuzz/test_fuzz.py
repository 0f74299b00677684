"""Damaged records: nothing may crash or hang, and no annotation may be wrong.

`KANACHAN_FUZZ=100000 pytest tests/fuzz` tries so many, different ones every time; without it, they are always the same.
"""

import copy
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from annotate.game.record import Event, Rules
from annotate.records.reading import Record, read_record
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import rounds_of, simulate_game
from tests.fuzz.compare import disagreement
from tests.fuzz.oracle import PLAIN_READERS, examine
from tests.support.mjai_table import V, turns
from tests.support.rare_rounds import ROUNDS
from tests.support.real_records import real_records
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import made_round, simulated
from tests.support.writers.majsoul_writer import document

pytest.importorskip("hypothesis", reason="the package hypothesis is not installed (it is in the extra `test`)")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import APART, damaged_records

NUM_EXAMPLES = int(os.environ.get("KANACHAN_FUZZ", 50))
FEW = (
    "a riichi that is ronned",
    "an open kan",
    "the second of two kans not robbed",
    "two winners",
    "nagashi mangan",
    "a pre-empted chi",
)
fuzzed = settings(
    max_examples=NUM_EXAMPLES,
    derandomize="KANACHAN_FUZZ" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@cache
def trees(format_: str) -> list[Any]:
    """A whole game, two rounds of it, and some rare rounds, taken apart."""
    rules: Rules = "mjsoul" if format_.startswith("Mahjong Soul") else "tenhou"
    whole = simulated(2, rules=rules)
    made = [whole, replace(whole, rounds=whole.rounds[:2])]
    for name in FEW:
        script, hands, wall = ROUNDS[name]
        made.append(made_round(script, hands, rules=rules, **wall))
    if rules == "mjsoul":
        return [document(game, whole_walls=bool(number % 2)) for number, game in enumerate(made)]
    return [APART[format_][0](WRITERS[format_](of_tenhou(game))) for game in made]


@cache
def originals(format_: str) -> list[bytes]:
    return list(map(APART[format_][1], trees(format_)))


@pytest.mark.parametrize("format_", APART)
def test_damaged_records_do_no_harm_and_their_annotations_are_right(format_: str) -> None:
    whole = {tuple(examine(Record("name", 0, data), format_).lines) for data in originals(format_)}
    seen = Counter[str]()

    @fuzzed
    @given(damaged_records(format_, [*trees(format_)[1:2] * 8, *trees(format_)]))
    def examined(data: bytes) -> None:
        outcome = examine(Record("name", len(data), data), format_)
        assert outcome.failures == []
        is_changed = tuple(outcome.lines) not in whole
        seen.update(refused=outcome.refusal is not None, left_out=bool(outcome.left_out))
        seen.update(changed=is_changed and bool(outcome.lines), unchanged=not is_changed)

    examined()
    print(seen)
    # every outcome must occur, or this would test nothing
    assert min(seen[name] for name in ("refused", "left_out", "changed", "unchanged")) > NUM_EXAMPLES // 40, seen


@pytest.mark.parametrize("format_", APART)
@fuzzed
@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_with_a_reason(format_: str, data: bytes) -> None:
    start = originals(format_)[0][:9]
    assert examine(Record("name", 0, start + data), format_).failures == []


def test_damaged_events_at_a_table_cause_nothing_worse_than_a_refusal() -> None:
    whole = rounds_of(simulate_game(V, 11, 4, style=0, annotated=False).events)
    kinds, numbers = st.sampled_from(("delete", "double", "swap", "actor", "pai")), st.integers(0, 10**6)
    refused = Counter[bool]()

    @fuzzed
    @given(st.sampled_from(whole), st.lists(st.tuples(kinds, numbers, numbers), min_size=1, max_size=2))
    def followed(events: list[Event], changes: list[tuple[str, int, int]]) -> None:
        events = [dict(event) for event in events]
        for kind, one, two in changes:
            place, other = (number % (len(events) - 1) + 1 for number in (one, two))
            if kind == "delete":
                del events[place]
            elif kind == "double":
                events.insert(place, events[other])
            elif kind == "swap":
                events[place], events[other] = events[other], events[place]
            elif kind in events[place]:
                events[place][kind] = two % 4 if kind == "actor" else ("1m", "5mr", "E", "9s", "?")[two % 5]
        try:
            list(turns(changes[0][2] % 4, events))
            refused[False] += 1
        except ValueError:
            refused[True] += 1

    followed()
    assert refused[True] > NUM_EXAMPLES // 3


@pytest.mark.parametrize("format_", PLAIN_READERS)
def test_annotations_of_undamaged_records_agree_with_a_plain_reading(format_: str) -> None:
    for data in originals(format_):
        outcome = examine(Record("name", 0, data), format_, writes_hidden=True)
        assert (outcome.failures, outcome.left_out) == ([], []) and outcome.rounds >= 1


@pytest.mark.records
@pytest.mark.parametrize(("folder", "format_"), [("tenhou/houou-4p-2021", "mjlog"), ("mjai", "mjai")])
def test_annotations_of_real_records_agree_with_a_plain_reading(folder: str, format_: str) -> None:
    for path in real_records(folder)[::200]:
        outcome = examine(Record(path.name, 0, path.read_bytes()), format_)
        assert (outcome.failures, outcome.left_out) == ([], []) and outcome.rounds > 3


def test_a_difference_between_a_file_and_its_annotations_is_noticed() -> None:
    data = originals("mjai")[2]
    (game,) = read_record(Record("name", 0, data))
    annotations = annotate_game(game).annotations
    (recorded,) = PLAIN_READERS["mjai"](data)
    assert disagreement(copy.deepcopy(recorded), annotations) is None
    hands, moves = [["7z"] * 13, *recorded.hands[1:]], [move for move in recorded.moves if move.kind != "discard"]
    others = {"scores": [25100] * 4, "deposits": 9, "wind": 2, "dora": ["1z"], "deltas": [100, 0, 0, -100]}
    for name, value in {**others, "hands": hands, "moves": moves, "winners": {3: 3}}.items():
        assert disagreement(replace(copy.deepcopy(recorded), **{name: value}), annotations) is not None, name
