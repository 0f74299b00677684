"""The hidden field, compared with hands and walls that are followed through the events."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from annotate.annotation import Annotation, format_line, parse_line
from annotate.game.hands import Hands
from annotate.game.record import Event, Game, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import tile_of_slot
from kanachan.cli.annotate import main as annotate
from tests.support.paths import HANDMADE_RECORDS
from tests.support.rare_rounds import ROUNDS
from tests.support.real_records import real_records
from tests.support.rounds import DULL, NUM_SEATS, V, game_of, game_of_events, play_round, wall_of_deal

CALLS = ("dahai", "chi", "pon", "daiminkan", "ankan", "kakan")
KANS = ("daiminkan", "ankan", "kakan")


def hands_after(events: Sequence[Event], num_public: int) -> tuple[list[list[str]], int, bool]:
    """The concealed hands after `num_public` discards and calls; how many are kans, and whether the last one is."""
    hands, calls = Hands(events[0]), list[str]()
    for event in events[1:]:
        if len(calls) == num_public:
            break
        hands.follow(event)
        calls += [event["type"]] if event["type"] in CALLS else []
    return hands.concealed, sum(kind in KANS for kind in calls), bool(calls) and calls[-1] in KANS


def require_hidden(annotation: Annotation, recorded: Round) -> None:
    """Compares the hidden field with the round's events and wall."""
    assert annotation.hidden is not None
    found = [V.hidden.describe(token) for token in annotation.hidden]
    hands, num_kans, after_kan = hands_after(recorded.events, len(annotation.progression) - 1)
    seat = next(at["seat"] for name, at in map(V.sparse.describe, annotation.sparse) if name == "seat")
    for relative_seat in range(NUM_SEATS - 1):
        slots = [at["slot"] for name, at in found if name == "hand" and at["relative_seat"] == relative_seat]
        tiles = map(tile_of_slot, slots)
        hand = hands[(seat + 1 + relative_seat) % NUM_SEATS]
        assert sorted(MJAI_NAMES[tile] for tile in tiles) == sorted(hand)
    wall = [MJAI_NAMES[at["tile"]] for name, at in found if name == "wall"]
    if recorded.wall is None:
        assert wall == []
        return
    left = next(69 - at["drawn"] for name, at in map(V.sparse.describe, annotation.sparse) if name == "left")
    is_own_turn = annotation.actions[-1] < V.action["skip"].first
    num_kans -= after_kan and not is_own_turn  # the tile after the kan has not been drawn
    live = recorded.wall[52:122]
    assert wall == list(live[: 70 - num_kans][70 - num_kans - left :])


def require_hidden_of_game(game: Game) -> int:
    """Checks all annotations of a game whose rounds all replay; returns their number."""
    num_annotations = 0
    for round_ in game.rounds:
        report = annotate_game(game_of(round_, rules=game.rules), writes_hidden=True)
        assert report.left_out == []
        for annotation in report.annotations:
            require_hidden(annotation, round_)
            assert parse_line(format_line(annotation), V) == annotation
        num_annotations += len(report.annotations)
    return num_annotations


def names(wall: Sequence[int]) -> tuple[str, ...]:
    return tuple(MJAI_NAMES[TILE_OF_ID[tile]] for tile in wall)


KNOWN_AND_NOT = ("nothing can be called", "a kan in riichi", "a robbed kan", "an open kan, then a closed one")


@pytest.mark.parametrize("name", [*KNOWN_AND_NOT, "a closed kan of a wind and thirteen orphans"])
@pytest.mark.parametrize("is_known", [True, False])
def test_the_hidden_field_holds_the_other_hands_and_the_wall_if_it_is_known(name: str, is_known: bool) -> None:
    script, hands, deal = ROUNDS[name]
    played = play_round(script, hands, **deal)
    wall = names(wall_of_deal(hands, **deal)) if is_known else None
    assert require_hidden_of_game(game_of(Round(tuple(played.events), wall=wall))) > 3


def test_the_seven_fields_are_the_same_with_and_without_the_hidden_one() -> None:
    game = game_of(play_round("", DULL).round)
    without, with_hidden = (annotate_game(game, writes_hidden=hidden).annotations for hidden in (False, True))
    assert [line.hidden for line in without] == [None] * len(without)
    assert [format_line(line).split("\t")[:7] for line in with_hidden] == [
        format_line(line).split("\t") for line in without
    ]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of the handmade game, with the hidden field."""
    record = HANDMADE_RECORDS / "handmade.jsonl"
    path = tmp_path_factory.mktemp("lines") / "lines.gz"
    assert annotate([str(record), "-o", str(path), "--hidden"]) == 0
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_the_command_writes_and_explains_the_hidden_field(lines: list[str], tmp_path: Path, capsys: Any) -> None:
    assert all(len(line.split("\t")) == 8 for line in lines)
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in lines))
    assert annotate([str(tmp_path / "lines.txt"), "--explain", "1"]) == 0
    assert "hidden hands: seat 1 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("hidden", "message"),
    [
        ("0,1,445", "field 7 (hidden), element 2: 445 is not in 0 ... 444"),
        ("0,2,1", "field 7 (hidden): the hands (0 ... 407) must be strictly ascending, before the wall"),
        ("0,0", "must be strictly ascending"),
        ("0,408,1", "must be strictly ascending, before the wall"),
        ("", "field 7 (hidden) is not a comma-separated list of integers"),
        ("0\t1", "7 tab-separated fields expected, 9 found"),
    ],
)
def test_an_error_says_what_is_wrong_with_a_hidden_field(lines: list[str], hidden: str, message: str) -> None:
    line = "\t".join([*lines[0].split("\t")[:7], hidden])
    with pytest.raises(ValueError) as caught:
        parse_line(line, V)
    assert message in str(caught.value)


@pytest.mark.records
def test_the_hidden_field_of_real_games_holds_their_hands_and_walls() -> None:
    paths = real_records("tenhou/houou-4p-2021")[::100] + real_records("tenhou/houou-4p-2020")[::300]
    games = [game for path in paths for game in read_games(str(path))]
    assert sum(map(require_hidden_of_game, games)) > 2000


def test_the_record_of_a_simulated_game_contains_its_walls() -> None:
    game = game_of_events(simulate_game(V, 1, style=0, annotated=False).events)
    assert all(round_.wall is not None for round_ in game.rounds)
    assert require_hidden_of_game(game) > 100


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"wall": ["1m"] * 84}, "are not the 136 tiles of the game"),
        ({"wall": ["?"] * 84}, "wall must be a list of tiles"),
        ([], '"kanachan" must be an object'),
    ],
)
def test_an_impossible_wall_is_refused_with_its_line(part: Any, message: str) -> None:
    start, *rest = play_round("", DULL).events
    with pytest.raises(ValueError) as caught:
        game_of_events([{"type": "start_game"}, {**start, "kanachan": part}, *rest, {"type": "end_game"}])
    assert str(caught.value).startswith("line 2: start_kyoku: ") and message in str(caught.value)
