"""The page of kanachan-review in a real browser; skipped where there is none."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game
from annotate.vocabulary import FOUR_PLAYERS
from annotate.words import describe
from kanachan.objectives.stages import STAGES
from tests.support.browser import Browser
from tests.support.rare_rounds import ROUNDS_OF_THREE
from tests.support.rare_rounds import events_of as events_of_round
from tests.support.real_records import real_records
from tests.support.review_page import differences, reviewed
from tests.support.reviewed import events_of, with_empty_rounds, write_record
from tests.support.rounds import V3, play_three

SEAT = 1
EVIL = "</script><script>window.injected=1</script><img src=x onerror='window.injected=2'>"
HAND = "[...document.querySelectorAll('[data-hand]')].map((tile) => tile.dataset.hand)"
PLACE = "Number(document.body.dataset.decision)"


@pytest.fixture(scope="module")
def made(weights: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The page of a simulated game whose id is markup, and its data."""
    folder = tmp_path_factory.mktemp("page")
    return reviewed(write_record(folder / "game.jsonl", events_of(5, EVIL)), weights, folder, SEAT)


@pytest.fixture(scope="module")
def made_of_three(weights_of_three: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("page")
    return reviewed(write_record(folder / "game.jsonl", events_of(5, EVIL, V3)), weights_of_three, folder, SEAT)


def test_reviews_of_three_players_have_three_seats_and_norths(made_of_three: tuple[Path, Any]) -> None:
    review, num_norths = made_of_three[1], 0
    assert len(review["players"]) == 3 and sorted(review["final"]["ranks"]) == [0, 1, 2]
    for found in review["rounds"]:
        assert len(found["end"]["hands"]) == len(found["deltas"]) == 3
    for decision in review["decisions"]:
        table, kinds = decision["table"], [candidate["kind"] for candidate in decision["candidates"]]
        assert [len(table[key]) for key in ("scores", "rivers", "melds", "norths", "grades")] == [3] * 5
        assert sorted(table["ranks"]) == [0, 1, 2] and len(decision["opponents"]) == 2
        if "kita" in kinds:
            place, num_norths = kinds.index("kita"), num_norths + 1
            assert 0 < decision["answers"][0]["shown"][place] < 1 and "kita" in decision["kinds"]
            assert len(decision["answers"][list(STAGES).index("rank")]["rank_probability"][place]) == 3
    kinds = {row["kind"] for row in review["models"][0]["summary"]}
    assert num_norths > 0 and "kita" in kinds and "chi" not in kinds


@pytest.fixture
def opened(chromium: Browser, made: tuple[Path, Any]) -> Iterator[Browser]:
    """The page, opened; at the end nothing may have gone wrong on it."""
    yield from without_complaint(chromium, made[0])


@pytest.fixture(params=["made", "made_of_three"])
def either(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[tuple[Browser, Any]]:
    """The page of four or of three players, opened, and its data."""
    page, data = request.getfixturevalue(request.param)
    for opened in without_complaint(chromium, page):
        yield opened, data


def without_complaint(chromium: Browser, page: Path) -> Iterator[Browser]:
    chromium.requests.clear()
    chromium.open(page)
    yield chromium
    chromium.run("1")  # lets all reports arrive
    assert chromium.complaints == []
    assert {url.partition("#")[0] for url in chromium.requests} == {page.as_uri()}


def hand_of(table: dict[str, Any]) -> list[str]:
    return [*table["hand"], *([table["drawn"]] if table["drawn"] else [])]


def test_each_decision_shows_its_hand_rivers_and_candidates(either: tuple[Browser, Any]) -> None:
    opened, data = either
    missing = "[...document.querySelectorAll('use')].filter((use) => !document.querySelector(use.getAttribute('href')))"
    for place, decision in enumerate(data["decisions"][:30:3]):
        opened.run(f"go({3 * place})")
        assert opened.run(f"{missing}.length") == 0, "a tile is used and not drawn"
        table = decision["table"]
        assert opened.run(HAND) == hand_of(table)
        rivers = "[...document.querySelectorAll('[data-river]')].map((river) => [Number(river.dataset.river), "
        rivers += "[...river.querySelectorAll('[data-tile]')].map((tile) => tile.dataset.tile)])"
        assert dict(map(tuple, opened.run(rivers))) == {
            seat: [tile["tile"] for tile in river] for seat, river in enumerate(table["rivers"])
        }
        assert opened.run("document.querySelectorAll('#board .norths use').length") == sum(table["norths"])
        rows = "[...document.querySelectorAll('#candidates tbody tr')].map((row) => Number(row.dataset.token))"
        assert sorted(opened.run(rows)) == [candidate["token"] for candidate in decision["candidates"]]
        played = "document.querySelector('#candidates tr.played').dataset.token"
        assert int(opened.run(played)) == decision["candidates"][decision["chosen"]]["token"]


def test_keys_go_through_decisions_and_rounds(opened: Browser, made: tuple[Path, Any]) -> None:
    firsts = [found["first"] for found in made[1]["rounds"]]
    last = len(made[1]["decisions"]) - 1
    for key, place in (
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("ArrowUp", 0),
        ("ArrowDown", firsts[1]),
        ("PageDown", firsts[2]),
        ("PageUp", firsts[1]),
        ("End", last),
        ("ArrowRight", last),
        ("PageUp", firsts[-1]),
        ("Home", 0),
    ):
        opened.press(key)
        assert opened.run(PLACE) == place, key


def test_networks_are_selected_by_number_and_by_click(opened: Browser, made: tuple[Path, Any]) -> None:
    pressed = "[...document.querySelectorAll('#models button')].findIndex((b) => b.ariaPressed === 'true')"
    for model in range(len(STAGES)):
        opened.press(str(model + 1))
        assert opened.run(pressed) == model
        found = differences(made[1]["decisions"], model, made[1]["threshold"])
        assert opened.run("document.querySelectorAll('#worst-list li').length") == min(12, len(found))
        assert opened.run("document.querySelectorAll('.area').length") == 4 * (list(STAGES)[model] == "rank")
    opened.click("#models button")
    assert opened.run(pressed) == 0


def test_an_id_that_is_markup_is_shown_as_text(opened: Browser) -> None:
    assert opened.run("document.querySelector('h1').textContent") == EVIL
    assert opened.run("document.title").startswith(f"Review of {EVIL}")
    assert opened.run("[typeof window.injected, document.querySelectorAll('img').length]") == ["undefined", 0]


def test_rounds_without_decisions_are_listed_and_skipped(chromium: Browser, weights: list[str], tmp_path: Path) -> None:
    page, data = reviewed(write_record(tmp_path / "game.jsonl", with_empty_rounds()), weights[:1], tmp_path, seat=2)
    chromium.open(page)
    cells = "[...row.children].map((cell) => cell.textContent)"
    rows = chromium.run(f"[...document.querySelectorAll('#rounds-table tbody tr')].map((row) => {cells})")
    names = [
        f"East {found['dealer'] + 1}" + f", honba {found['honba']}" * bool(found["honba"]) for found in data["rounds"]
    ]
    assert [row[0] for row in rows] == names
    endings = ["Nine terminals", "Exhaustive draw", "right: ron on left", "Exhaustive draw", "across: ron on right"]
    assert [row[1] for row in rows] == endings
    assert [row[3] == "no decisions" for row in rows] == [True, False, True, False, True]
    assert chromium.run("document.querySelectorAll('.rounds g').length") == 2
    for key, place in (("ArrowUp", 0), ("ArrowDown", 17), ("ArrowDown", 34), ("ArrowUp", 17), ("ArrowUp", 0)):
        chromium.press(key)
        assert chromium.run(PLACE) == place, key
    shown = "data.rounds.map((_, ending) => { show({ decision: null, ending }); return document.body.dataset.ending; })"
    assert chromium.run(shown) == [str(i) for i in range(len(data["rounds"]))]
    assert chromium.complaints == []


SIDES = """[...document.querySelectorAll('[data-closed]')].map((row) => {
  const [hand, table] = [row, byId('board')].map((part) => part.getBoundingClientRect());
  const side = hand.height < hand.width ? 'across' : hand.x > table.x + table.width / 2 ? 'right' : 'left';
  return [Number(row.dataset.closed), side];
})"""


def test_other_players_sit_in_turn_order(either: tuple[Browser, Any]) -> None:
    opened, data = either
    sides = {3: [[2, "right"], [0, "left"]], 4: [[2, "right"], [3, "across"], [0, "left"]]}[len(data["players"])]
    assert opened.run(SIDES) == sides
    names = "[...document.querySelectorAll('[data-plate] .name')].map((name) => name.textContent)"
    assert opened.run(names) == ["you", *(side for _, side in sides)]


FRAMED = """[...document.querySelectorAll('#board .framed')].map((frame) => {
  const box = frame.getBoundingClientRect();
  const inside = (other) => other.left > box.left - 3 && other.right < box.right + 3
    && other.top > box.top - 3 && other.bottom < box.bottom + 3;
  const tiles = [...document.querySelectorAll('#board use')];
  return tiles.filter((tile) => inside(tile.getBoundingClientRect())).map((tile) => tile.getAttribute('href').slice(6));
})"""


@pytest.mark.parametrize(
    "name, seat, tiles",
    [
        ("three who may win", 3, ["3p"]),
        ("a robbed kan", 3, ["3p"]),
        ("the second of two kans robbed", 3, ["7p"]),
        ("a closed kan of a wind and thirteen orphans", 2, ["back", "1z", "1z", "back"]),
    ],
)
def test_the_tile_that_a_decision_reacts_to_is_framed(
    name: str, seat: int, tiles: list[str], chromium: Browser, weights: list[str], tmp_path: Path
) -> None:
    game = [{"type": "start_game", "kanachan": {"rules": "mjsoul"}}, *events_of_round(name, "mjsoul")[0]]
    record = write_record(tmp_path / "game.jsonl", [*game, {"type": "end_kyoku"}])
    page, data = reviewed(record, weights[:1], tmp_path, seat)
    chromium.open(page)
    framed = chromium.run(f"data.decisions.map((_, place) => {{ go(place); return {FRAMED}; }})")
    offered = [{candidate["kind"] for candidate in decision["candidates"]} for decision in data["decisions"]]
    assert [frames for frames, kinds in zip(framed, offered, strict=True) if "ron" in kinds][-1] == [tiles]
    assert all(len(frames) == ("skip" in kinds) for frames, kinds in zip(framed, offered, strict=True))


def test_a_north_that_may_be_won_is_framed(chromium: Browser, weights_of_three: list[str], tmp_path: Path) -> None:
    script, hands, wall = ROUNDS_OF_THREE["a North won"]
    game = [{"type": "start_game", "kanachan": {"rules": "mjsoul"}}, *play_three(script, hands, **wall).events]
    record = write_record(tmp_path / "game.jsonl", [*game, {"type": "end_kyoku"}])
    page, data = reviewed(record, weights_of_three[:1], tmp_path, seat=1)
    chromium.open(page)
    chromium.run("go(data.decisions.length - 1)")
    assert "ron" in {candidate["kind"] for candidate in data["decisions"][-1]["candidates"]}
    assert chromium.run(FRAMED) == [["4z"]]
    assert chromium.complaints == []


@pytest.mark.records
def test_a_real_game_is_shown_as_it_was_played(chromium: Browser, weights: list[str], tmp_path: Path) -> None:
    record = real_records("tenhou/houou-4p-2021")[-1]
    out, data = reviewed(record, weights, tmp_path, SEAT)
    (game,) = read_games(str(record))
    texts = [describe(annotation, FOUR_PLAYERS) for annotation in annotate_game(game).annotations]
    texts = [text for text in texts if f"\nseat {SEAT} may:" in text]
    chromium.open(out)
    chromium.press("ArrowRight")
    assert chromium.run(PLACE) == 1
    hands = chromium.run(f"data.decisions.map((_, place) => {{ go(place); return {HAND}; }})")
    for shown, text, decision in zip(hands, texts, data["decisions"], strict=True):
        assert shown == hand_of(decision["table"])
        (hand,) = re.findall(r"^hand: (.*?)(?:  \[|$)", text, re.MULTILINE)
        assert spoken(shown, decision["table"]["drawn"] is not None) == hand
    assert chromium.complaints == []


def spoken(hand: list[str], is_drawn: bool) -> str:
    """Returns a hand as `annotate.words` writes it."""
    held, drawn = (hand[:-1], f" + {hand[-1]}") if is_drawn else (hand, "")
    by_suit = {suit: "".join(tile[0] for tile in held if tile[1] == suit) for suit in "mpsz"}
    return " ".join(numbers + suit for suit, numbers in by_suit.items() if numbers) + drawn
