"""Decisions of players who are not connected, in made-up mjlog with <BYE> and <UN> at any place."""

import random
import re
from functools import cache

import pytest

from annotate.annotation import Annotation
from annotate.game.decisions import kind_of
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


def bye(*seats: int) -> tuple[str, ...]:
    return tuple(f'<BYE who="{seat}"/>' for seat in seats)


def back(*seats: int) -> str:
    return "<UN " + " ".join(f'n{seat}="%E8%AA%B0"' for seat in seats) + "/>"


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
    """Compares the annotations of a record with those of the same one without <BYE>."""
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


def index_of(elements: tuple[str, ...], start: str, after: int = 0) -> int:
    return next(i for i in range(after, len(elements)) if elements[i].startswith(start))


def inserted(elements: tuple[str, ...], place: int, *more: str) -> tuple[str, ...]:
    return (*elements[:place], *more, *elements[place:])


@pytest.mark.parametrize("seed", range(6))
def test_decisions_of_players_who_are_away_are_left_out_wherever_the_connection_is_lost(seed: int) -> None:
    rng, elements = random.Random(seed), list(made(seed % 3))
    for _ in range(rng.choice((1, 4, 40))):
        place = rng.randrange(4, len(elements) - 1)
        seat = rng.randrange(V.num_seats)
        elements.insert(place, rng.choice((bye(seat)[0], back(seat))))
    check(tuple(elements))


def away_at(elements: tuple[str, ...], place: int, seat: int) -> tuple[str, ...]:
    """The seat is away at one element."""
    return (*elements[:place], *bye(seat), elements[place], back(seat), *elements[place + 1 :])


def test_a_player_who_is_back_before_the_discard_has_decided_it() -> None:
    elements = made(0)
    assert check(away_at(elements, index_of(elements, "<T", index_of(elements, "<INIT")), 0)) == annotated(elements)


def test_a_player_who_leaves_between_the_draw_and_the_discard_has_not_decided_it() -> None:
    elements = made(0)
    assert check(away_at(elements, index_of(elements, "<D"), 0)).automatic == {"discard": 1}


def test_a_pass_while_the_player_is_away_is_left_out() -> None:
    elements = made(0)
    whole = annotated(elements)
    passed = next(a for a in whole.annotations if kind_of(a.actions[a.chosen], V) == "skip")
    seat = next(token for token in passed.sparse if V.sparse.block_of(token).name == "seat") - V.sparse["seat"].first
    place = index_of(elements, "<INIT")
    for _ in passed.progression[1:]:
        place = next(i for i in range(place + 1, len(elements)) if PUBLIC.match(elements[i]))
    following = next(i for i in range(place + 1, len(elements)) if OTHERS.match(elements[i]))
    assert check(away_at(elements, following, seat)).automatic == {"skip": 1}


def test_the_events_of_players_who_are_away_stay_in_the_history_of_the_others() -> None:
    elements = made(1)
    found = check(inserted(elements, index_of(elements, "<INIT"), *bye(1, 2, 3)))
    whole = annotated(elements)
    first = V.sparse["seat"].first
    assert [a for a in found.annotations if first in a.sparse] == [a for a in whole.annotations if first in a.sparse]


def test_the_first_names_of_a_game_end_every_absence() -> None:
    elements = made(0)
    assert check(inserted(elements, 2, *bye(0, 1, 2, 3))).automatic.total() == 0


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/houou-4p-2021"])
def test_the_server_discards_what_an_absent_player_draws_and_passes(folder: str) -> None:
    with_bye = [path for path in real_records(folder) if "<BYE" in path.read_text()][:12]
    for path in with_bye:
        assert set(check(elements_of(path.read_bytes())).automatic) <= {"discard", "skip"}
