"""Decisions of players who are not connected, in made-up mjlog with <BYE> and <UN> at any place."""

import random
import re
from collections import Counter
from functools import cache

import pytest

from annotate.annotation import Annotation
from annotate.game.results import final_scores
from annotate.records.tenhou.xml_reader import read_tenhou_xml
from annotate.replay.replay import ReplayResult, annotate_game
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS as V
from tests.support.real_records import real_records
from tests.support.rounds import game_of_events
from tests.support.writers.tenhou_xml import mjlog_of

NAME = "2026010100gm-0001-0000-handmade.mjlog"
PUBLIC = re.compile(r"<([DEFG]\d|N )")
"""elements that are in the progression"""
OWN = re.compile(r'<([DEFG]\d|N |REACH who="\d" step="1"|AGARI|RYUUKYOKU)')
OTHERS = re.compile(r"<([TUVW]\d|N |AGARI|RYUUKYOKU)")


@cache
def made(index: int) -> tuple[str, ...]:
    """The elements of a simulated game."""
    game = simulate_game(V, 3, index, style=0, rules="tenhou", annotated=False)
    rounds = [recorded.events for recorded in game_of_events(game.events).rounds]
    return elements_of(mjlog_of(rounds, final_scores(rounds[-1]), kind=0x01))


def elements_of(data: bytes) -> tuple[str, ...]:
    return tuple(re.findall(r"<[^>]*>", data.decode()))


def annotated(elements: tuple[str, ...]) -> ReplayResult:
    report = annotate_game(read_tenhou_xml("".join(elements).encode(), NAME), writes_hidden=True)
    assert report.left_out == []
    return report


def is_decided_by_player(annotation: Annotation, elements: tuple[str, ...], first: int) -> bool:
    """Whether the seat is connected at the element after the decision, by a plain reading.

    Args:
        first: index of the round's <INIT>.
    """
    values = {V.sparse.block_of(token).name: token - V.sparse.block_of(token).first for token in annotation.sparse}
    num_events, seat = len(annotation.progression) - 1, values["seat"]
    place = first
    while num_events:
        place += 1
        num_events -= bool(PUBLIC.match(elements[place]))
    is_call = elements[place].startswith("<N ") and f'who="{seat}"' in elements[place]
    following = OWN if "drawn" in values or is_call else OTHERS
    place = next(i for i in range(place + 1, len(elements)) if following.match(elements[i]))
    # a riichi and its discard are one decision
    places = [place, place + 1] if "REACH" in elements[place] else [place]
    return not any(seat in absent_at(elements, i) for i in places)


def absent_at(elements: tuple[str, ...], place: int) -> set[int]:
    absent: set[int] = set()
    for element in elements[:place]:
        if element.startswith("<BYE"):
            absent.add(int(element[10]))
        elif element.startswith("<UN"):
            absent -= {int(seat) for seat in re.findall(r" n(\d)=", element)}
    return absent


def check(elements: tuple[str, ...]) -> ReplayResult:
    """Compares the annotations of a record with the annotations of the same record without <BYE>."""
    found = annotated(elements)
    whole = annotated(tuple(element for element in elements if not element.startswith("<BYE")))
    starts = [i for i, element in enumerate(elements) if element.startswith("<INIT")]
    expected, number = [], -1
    for annotation in whole.annotations:
        number += annotation.progression == (0,) and "drawn" in names_of(annotation)
        if is_decided_by_player(annotation, elements, starts[number]):
            expected.append(annotation)
    assert found.annotations == expected
    left_out = len(whole.annotations) - len(expected)
    assert (found.automatic.total(), found.num_unknown) == (left_out, whole.num_unknown)
    return found


def names_of(annotation: Annotation) -> set[str]:
    return {V.sparse.block_of(token).name for token in annotation.sparse}


def test_decisions_of_players_who_are_away_are_left_out_wherever_the_connection_is_lost() -> None:
    automatic = Counter[str]()
    for seed in range(6):
        rng, elements = random.Random(seed), list(made(seed % 3))
        for _ in range(rng.choice((1, 4, 40))):
            place, seat = rng.randrange(2, len(elements) - 1), rng.randrange(V.num_seats)
            elements.insert(place, rng.choice((f'<BYE who="{seat}"/>', f'<UN n{seat}="%E8%AA%B0"/>')))
        automatic += check(tuple(elements)).automatic
    assert {"discard", "skip"} <= set(automatic)


@pytest.mark.records
def test_for_an_absent_player_the_server_only_discards_and_passes() -> None:
    with_bye = [path for path in real_records("tenhou/houou-4p-2020") if "<BYE" in path.read_text()][:12]
    for path in with_bye:
        assert set(check(elements_of(path.read_bytes())).automatic) <= {"discard", "skip"}
