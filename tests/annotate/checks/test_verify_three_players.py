"""kanachan-annotate --verify on lines of three players: what is right passes, and what is altered is found."""

from functools import cache
from pathlib import Path

import pytest

from annotate.annotation import Annotation, format_line
from annotate.checks.verify import Verification, verify
from annotate.observation import Observation
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from tests.support.real_records import real_records
from tests.support.rounds import V3
from tests.support.writers.majsoul_made import MadeGame, made_round, simulated

NORTH = "4z19m147p258s1235z"
WAITS_FOR_NORTH = "123p456p789s22z44z"
KITA = V3.action["kita"].first
ROUNDS = {
    "a north that is won": (
        "1 riichi 1m; 2 cut; 0 kita; 1 ron",
        [NORTH, WAITS_FOR_NORTH, "19m369p369s13467z"],
        "6z1m7z7z",
    ),
    "a tsumo of the first draw": ("1 tsumo", ["", "123p456p789s2255z", ""], "6z5z"),
    "nine terminals": ("0 kyushu", ["19m19p19s123z2468p"], "5z"),
    "norths of all seats": ("0 kita; 0 cut; 1 kita; 2 kita", [NORTH, NORTH, NORTH], "6z6z6z"),
}


@cache
def annotations_of(made: str) -> tuple[Annotation, ...]:
    game: MadeGame
    if made in ROUNDS:
        script, hands, draws = ROUNDS[made]
        game = made_round(script, hands, draws, "tenhou", vocabulary=V3)
    else:
        game = simulated(int(made), style=1, rules="tenhou", vocabulary=V3)
    report = annotate_game(game.game, writes_hidden=True)
    assert report.left_out == []
    return tuple(report.annotations)


def verified(annotations: list[Annotation] | tuple[Annotation, ...], folder: Path) -> Verification:
    path = folder / "lines.txt"
    path.write_text("".join(f"{format_line(annotation)}\n" for annotation in annotations))
    return verify([str(path)], 1)


@pytest.mark.parametrize("made", [*ROUNDS, "1", "2"])
def test_lines_of_three_players_pass(made: str, tmp_path: Path) -> None:
    result = verified(annotations_of(made), tmp_path)
    assert [str(violation) for violation in result.shown] == []
    assert result.rounds > 0


def altered(annotation: Annotation, **changed: tuple[int, ...]) -> Annotation:
    fields = annotation.observation._asdict() | {k: v for k, v in changed.items() if k in Observation._fields}
    rest = {name: value for name, value in changed.items() if name not in Observation._fields}
    return annotation._replace(observation=Observation(**fields), **rest)  # type: ignore[arg-type]


def at_north() -> tuple[list[Annotation], int]:
    """Lines, and the index of one that may set a North aside and does something else."""
    lines = list(annotations_of("a north that is won"))
    return lines, next(i for i, a in enumerate(lines) if KITA in a.actions and a.actions[a.chosen] != KITA)


def test_a_north_that_may_be_set_aside_must_be_an_option(tmp_path: Path) -> None:
    lines, i = at_north()
    chosen = lines[i].actions[lines[i].chosen]
    without = tuple(action for action in lines[i].actions if action != KITA)
    lines[i] = altered(lines[i], actions=without)._replace(chosen=without.index(chosen))
    assert "possible, but missing: 219 (kita 4z)" in str(verified(lines, tmp_path).shown[0])


def test_a_north_that_is_not_in_the_hand_cannot_be_set_aside(tmp_path: Path) -> None:
    lines = list(annotations_of("a tsumo of the first draw"))
    i = next(
        i for i, a in enumerate(lines) if KITA not in a.actions and 0 in V3.action["discard"].indices(a.actions[0])[1:]
    )
    actions = tuple(sorted((*lines[i].actions, KITA)))
    lines[i] = altered(lines[i], actions=actions)._replace(chosen=actions.index(lines[i].actions[lines[i].chosen]))
    assert "not possible: 219 (kita 4z)" in str(verified(lines, tmp_path).shown[0])


def test_what_an_empty_seat_would_pay_is_found(tmp_path: Path) -> None:
    lines = [
        a._replace(results=(a.results[0], -16000, 32000, -8000, *a.results[4:]))
        for a in annotations_of("a tsumo of the first draw")
    ]
    assert "deltas" in verified(lines, tmp_path).kinds


def test_a_wrong_number_of_tiles_left_is_found(tmp_path: Path) -> None:
    lines = list(annotations_of("1"))
    left = V3.sparse["left"]
    sparse = tuple(t + 1 if left.first <= t < left.first + left.size else t for t in lines[3].sparse)
    lines[3] = altered(lines[3], sparse=sparse)
    assert "left" in verified(lines, tmp_path).kinds


@pytest.mark.records
def test_a_sample_of_real_games_of_three_passes(tmp_path: Path) -> None:
    for path in real_records("tenhou/houou-3p-2020")[::60]:
        (game,) = read_games(str(path))
        result = verified(annotate_game(game, writes_hidden=True).annotations, tmp_path)
        assert [str(violation) for violation in result.shown] == []
