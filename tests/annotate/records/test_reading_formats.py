"""The same game in every format gives the same annotation lines.

Games made up here are written as mjai, tenhou.net/6 JSON, Tenhou's XML and Mahjong Soul's messages of both versions and
their JSON, and read back by the code that recognises formats. Content of only some formats is stated exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from annotate.annotation import Annotation, format_line
from annotate.game.record import Game, Rules
from annotate.replay.replay import ReplayResult, annotate_game
from annotate.vocabulary import Vocabulary
from tests.support.rare_rounds import ROUNDS, ROUNDS_OF_THREE, THREE_WINNERS
from tests.support.rounds import V3, V
from tests.support.writers.all_formats import WRITERS, of_tenhou, read, tenhou_xml
from tests.support.writers.majsoul_made import MadeGame, made_round, simulated
from tests.support.writers.majsoul_writer import document, message

SEEDS = (1, 57, 8)  # together they have every kind of call, and claims that another's hid
_ALL_WIN = "0 discard 3p; 1 ron; 2 ron; 3 ron"
ONLY_MJSOUL = ("a closed kan of a wind and thirteen orphans", "a closed kan that is robbed")
TENHOU_ROUNDS: dict[str, tuple[str, Sequence[str], dict[str, Any]]] = {
    **{name: ROUNDS[name] for name in ROUNDS if name not in ONLY_MJSOUL and not name.startswith("three winners")},
    "three winners that abort": (_ALL_WIN, THREE_WINNERS, {}),
    "a riichi that three seats win": (
        "0 riichi 3p; 1 ron; 2 ron; 3 ron",
        ["123m789p789s1122z", *THREE_WINNERS[1:]],
        {"draws": "3p"},
    ),
}


HEADERS_OF = {"mjsoul": {"mjai", "tenhou.net/6", *(name for name in WRITERS if name.startswith("Mahjong Soul"))}}
HEADERS_OF["tenhou"] = {"mjai", "tenhou.net/6", "mjlog"}
"""the formats that contain the same room, grades, points and rules"""


def game_in(name: str, made: MadeGame) -> Game:
    """The game as read from a format; from a format of the other platform, only the rounds are used."""
    game = read(WRITERS[name](made), f"{made.id}.mjlog")
    return game if name in HEADERS_OF[made.rules] else replace(made.game, rounds=game.rounds)


@cache
def rare(rules: Rules, name: str) -> MadeGame:
    rounds_of_four = ROUNDS if rules == "mjsoul" else TENHOU_ROUNDS
    script, hands, wall = {**rounds_of_four, **ROUNDS_OF_THREE}[name]
    vocabulary = V3 if name in ROUNDS_OF_THREE else V
    made = made_round(script, hands, rules=rules, vocabulary=vocabulary, **wall)
    return made if rules == "mjsoul" else of_tenhou(made)


@cache
def whole(rules: Rules, seed: int, vocabulary: Vocabulary = V) -> MadeGame:
    made = simulated(seed, style=int(seed == SEEDS[-1] or vocabulary is V3), rules=rules, vocabulary=vocabulary)
    return made if rules == "mjsoul" else of_tenhou(made)


def annotated(game: Game, writes_hidden: bool = False) -> ReplayResult:
    report = annotate_game(game, writes_hidden=writes_hidden)
    assert report.left_out == []
    return report


def lines(annotations: Iterable[Annotation]) -> list[str]:
    return [format_line(annotation) for annotation in annotations]


def require_same_lines(made: MadeGame) -> list[str]:
    annotations = annotated(made.game).annotations
    known = [decision for decision in made.decisions if not decision.is_preempted]
    # except for room and grades, which differ between the platforms
    assert [(a.observation[1:], a.chosen) for a in annotations] == [(d.observation[1:], d.chosen) for d in known]
    expected = lines(annotations)
    for name in WRITERS:
        report = annotated(game_in(name, made))
        assert lines(report.annotations) == expected, name
        assert report.num_unknown == sum(decision.is_preempted for decision in made.decisions), name
    return expected


@pytest.mark.parametrize(
    ("rules", "seed", "vocabulary"),
    [
        *(("mjsoul", seed, V) for seed in SEEDS),
        *(("tenhou", seed, V) for seed in SEEDS[:2]),
        *(("mjsoul", seed, V3) for seed in (1, 3)),
        *(("tenhou", seed, V3) for seed in (1, 2)),
    ],
)
def test_a_whole_game_gives_the_same_lines_in_all_formats(rules: Rules, seed: int, vocabulary: Vocabulary) -> None:
    made = whole(rules, seed, vocabulary)
    assert len(require_same_lines(made)) > 200
    assert len(made.rounds) >= 4


@pytest.mark.parametrize("name", [*ROUNDS, *ROUNDS_OF_THREE])
def test_rare_rounds_give_the_same_lines_in_all_formats(name: str) -> None:
    require_same_lines(rare("mjsoul", name))


@pytest.mark.parametrize("name", [*TENHOU_ROUNDS, *ROUNDS_OF_THREE])
def test_rare_rounds_by_tenhous_rules_give_the_same_lines_in_all_formats(name: str) -> None:
    require_same_lines(rare("tenhou", name))


@pytest.mark.parametrize("seed", SEEDS[:2])
def test_recorded_inputs_add_only_the_choices_that_another_seat_hid(seed: int) -> None:
    game = whole("mjsoul", seed)
    expected = annotated(game.game).annotations
    report = annotated(read(message(document(game))))
    places = [place for place, decision in enumerate(game.decisions) if decision.is_preempted]
    annotations = report.annotations

    assert report.num_unknown == 0 and len(places) > 0
    assert lines(annotations[place] for place in range(len(annotations)) if place not in places) == lines(expected)
    for place in places:
        decision = game.decisions[place]
        seen, found = decision.observation, annotations[place]
        assert (found.sparse, found.progression, found.actions, found.chosen) == (
            *(seen.sparse, seen.progression, seen.actions, decision.chosen),
        )


@pytest.mark.parametrize("name", ["mjai", "Mahjong Soul", "Mahjong Soul as JSON, version 0"])
def test_formats_with_the_wall_give_the_same_hidden_field(name: str) -> None:
    made = whole("mjsoul", SEEDS[0])
    found = annotated(game_in(name, made), writes_hidden=True).annotations
    assert lines(found) == lines(annotated(game_in("mjai", made), writes_hidden=True).annotations)
    assert all(len(a.hidden or ()) > 60 for a in found if len(a.progression) < 10)


@pytest.mark.parametrize("name", ["tenhou.net/6", "mjlog"])
def test_formats_without_the_wall_give_only_the_same_hidden_hands(name: str) -> None:
    made = whole("mjsoul", SEEDS[0])
    wall = V.hidden["wall"].first
    expected = annotated(game_in("mjai", made), writes_hidden=True).annotations
    found = annotated(game_in(name, made), writes_hidden=True)
    assert found.notes == ["wall unknown: the hidden field holds hands alone"]
    assert lines(found.annotations) == lines(
        a._replace(hidden=tuple(token for token in a.hidden or () if token < wall)) for a in expected
    )


def test_without_an_id_the_game_is_named_after_its_content_and_nothing_else_changes() -> None:
    made = whole("tenhou", SEEDS[0])
    expected = lines(annotated(made.game).annotations)
    game = read(tenhou_xml(made), "another-name.xml")
    assert game.id != made.id and game.id.startswith("mjlog-")
    assert lines(annotated(replace(game, id=made.id)).annotations) == expected
