"""How a player uses the page of kanachan-review, in a real browser; skipped where there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kanachan.objectives.stages import STAGES
from tests.kanachan.review.conftest import PLAYERS
from tests.support.browser import Browser
from tests.support.review_page import differences, hidden_parts, place

SIZES = [(1366, 768), (1400, 900), (400, 800)]
SEEN_TOGETHER = ("#board", "#hand", "#verdict", "#candidates tbody tr")
TEXT = """(() => {
  const body = document.body.cloneNode(true);
  body.querySelectorAll('.inline-tiles').forEach((picture) => picture.replaceWith('tile'));
  body.querySelectorAll('script, noscript').forEach((element) => element.remove());
  return body.textContent;
})()"""
ENDING = "document.body.dataset.ending"
CUT_OFF = """[...document.querySelectorAll('#candidates :is(th, td)')]
  .filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent)"""

SIDEWAYS = """[...document.querySelectorAll('.scrolling')]
  .filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.lastElementChild.id)"""


@pytest.fixture
def made(all_seats: tuple[Path, Any]) -> tuple[Path, Any]:
    return all_seats


@pytest.fixture
def page(chromium: Browser, made: tuple[Path, Any]) -> Iterator[Browser]:
    chromium.open(made[0])
    yield chromium
    chromium.run("localStorage.clear()")
    assert chromium.complaints == []


@pytest.mark.parametrize(("size", "scheme"), [*((size, "light") for size in SIZES), (SIZES[0], "dark")], ids=str)
def test_table_hand_and_actions_are_seen_together(
    chromium: Browser, made: tuple[Path, Any], size: tuple[int, int], scheme: str
) -> None:
    chromium.open(made[0], *size, scheme)
    for decision in (0, 7, 25):
        chromium.run(f"go({decision})")
        for model in range(len(STAGES)):
            chromium.press(str(model + 1))
            assert hidden_parts(chromium, *SEEN_TOGETHER) == []
            assert chromium.run("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("size", [(320, 640), (390, 844), (800, 600), (1400, 900)], ids=str)
def test_nothing_is_cut_off_and_only_the_table_of_actions_scrolls_to_the_side(
    chromium: Browser, made: tuple[Path, Any], size: tuple[int, int]
) -> None:
    chromium.open(made[0], *size)
    for i, decision in enumerate(made[1]["reviews"][0]["decisions"][:60]):
        if i % 15 == 0 or decision["kinds"] != ["discard"]:
            chromium.run(f"go({i}); openTiles(1)")
            assert chromium.run(CUT_OFF) == []
            assert chromium.run("document.documentElement.scrollWidth") == size[0]
            assert chromium.run("byId('place').offsetHeight") < 40, "two lines at most"
    chromium.run("show({ decision: null, ending: 0 })")
    assert set(chromium.run(SIDEWAYS)) <= {"candidates"}


def test_a_long_name_leaves_the_result_readable(page: Browser) -> None:
    page.resize(1400, 900)
    page.run("byId('title').replaceChildren('x'.repeat(200))")
    assert page.run("byId('about').scrollWidth <= byId('about').clientWidth")
    assert page.run("document.documentElement.scrollWidth") == 1400


@pytest.mark.parametrize("size", (SIZES[0], SIZES[2]), ids=str)
@pytest.mark.parametrize(
    "link", ["#worst-list li:last-child a", "#rounds-table tbody tr:last-child th a", "#chart .surface"]
)
def test_a_click_below_the_table_brings_it_into_view(page: Browser, link: str, size: tuple[int, int]) -> None:
    page.resize(*size)
    page.run("new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))")  # the chart is drawn again
    page.click(link)
    assert place(page) > 0
    assert hidden_parts(page, *SEEN_TOGETHER) == []
    assert page.run("document.activeElement.id") == "situation"


def test_an_address_is_followed_in_an_open_page(page: Browser) -> None:
    followed = "new Promise((f) => addEventListener('hashchange', () => f(), {once: true}))"  # after the page's own
    page.run(f"scrollTo(0, document.body.scrollHeight); location.hash = '#s0-20'; {followed}")
    assert (place(page), page.run("scrollY") < 100) == (19, True)
    page.run(f"location.hash = '#s2-end2'; {followed}")
    assert page.run(f"[data.seat, {ENDING}]") == [2, "1"]
    page.run(f"location.hash = '#s0-100000'; {followed}")
    assert page.run(f"[data.seat, {ENDING}]") == [2, "1"]  # there is no such decision


def test_the_address_of_a_link_leads_to_its_decision_in_a_fresh_page(page: Browser, made: tuple[Path, Any]) -> None:
    address = page.run("document.querySelector('#worst-list li:nth-child(2) a').getAttribute('href')")
    page.call("Page.navigate", url="about:blank")
    page.open(made[0], place=address)
    assert place(page) == differences(made[1]["reviews"][0]["decisions"], 0, made[1]["threshold"])[1]


def test_a_page_that_is_cut_off_says_so(chromium: Browser, made: tuple[Path, Any], tmp_path: Path) -> None:
    (tmp_path / "cut.html").write_text(made[0].read_text()[:-1000])
    chromium.call("Page.navigate", url=(tmp_path / "cut.html").as_uri())
    is_over = "document.readyState === 'complete' && !document.getElementById('board')"
    chromium.run(f"new Promise((f) => {{ setInterval(() => {is_over} && f(), 20); setTimeout(f, 9000); }})")
    assert chromium.run("document.body.innerText").startswith("This page is incomplete")


def test_the_list_and_the_next_difference_honour_the_threshold(page: Browser, made: tuple[Path, Any]) -> None:
    decisions = made[1]["reviews"][0]["decisions"]
    for threshold in (0, 5, 60):
        page.run(f"byId('threshold').value = {threshold}; byId('threshold').dispatchEvent(new Event('input'))")
        differing = sorted(differences(decisions, 0, threshold / 100))
        assert page.run("document.querySelectorAll('#worst-list a').length") == min(12, len(differing))
        assert f"{len(differing)} of {len(decisions)}" in page.run("byId('figures').innerText")
        page.press("Home")
        page.press("n")
        assert place(page) == next((i for i in differing if i), 0)


def test_all_seats_of_a_file_can_be_chosen(page: Browser, made: tuple[Path, Any]) -> None:
    assert page.run("[...byId('seat').options].map((option) => option.text)") == PLAYERS
    for seat, review in enumerate(made[1]["reviews"]):
        page.run(f"byId('seat').value = {seat}; byId('seat').dispatchEvent(new Event('change'))")
        assert page.run("byId('title').textContent") == PLAYERS[seat]
        hand = page.run("[...document.querySelectorAll('[data-hand]')].map((tile) => tile.dataset.hand)")
        table = review["decisions"][0]["table"]
        assert hand == [*table["hand"], *([table["drawn"]] if table["drawn"] else [])]


def test_a_key_shows_the_hands_of_the_other_players(page: Browser, made: tuple[Path, Any]) -> None:
    decision = made[1]["reviews"][0]["decisions"][9]
    faces = "[...document.querySelectorAll('[data-closed=\"%d\"] use')].map((use) => use.getAttribute('href').slice(6))"
    page.run("go(9)")
    assert all(set(page.run(faces % seat)) == {"back"} for seat in (1, 2, 3) if not decision["table"]["melds"][seat])
    page.press("h")
    for seat in (1, 2, 3):
        hand = decision["hands"][seat]
        shown = [*hand["tiles"], *([hand["drawn"]] if hand["drawn"] else [])]
        assert page.run(faces % seat)[: len(shown)] == shown
    page.press("h")
    assert "back" in page.run(faces % 1)


def test_hands_are_shown_and_hidden_in_the_list_of_all_decisions_too(page: Browser) -> None:
    backs = """document.querySelectorAll('#scroll [data-closed] use[href="#tile-back"]').length"""
    page.run("toggleScroll()")
    hidden = page.run(backs)
    page.press("h")
    assert page.run(backs) < hidden / 100  # those of closed kans stay
    page.press("h")
    assert page.run(backs) == hidden


def test_the_end_of_a_round_is_a_step_of_its_own(page: Browser, made: tuple[Path, Any]) -> None:
    review = made[1]["reviews"][0]
    first = review["rounds"][0]
    page.run(f"go({first['decisions'] - 1})")
    page.press("ArrowRight")
    assert page.run(ENDING) == "0"
    shown = page.run("byId('ending').innerText")
    assert all(f"{score:,}" in shown for score in first["end"]["scores_after"])
    assert all(one["name"] in shown for win in first["end"]["wins"] for one in win["yaku"])
    page.press("ArrowLeft")
    assert page.run(f"[{ENDING}, Number(document.body.dataset.decision)]") == ["", first["decisions"] - 1]
    page.press("e")
    page.press("ArrowRight")
    assert page.run(f"[{ENDING}, Number(document.body.dataset.decision)]") == ["", first["decisions"]]


def test_a_riichi_after_the_last_decision_costs_its_seat_the_place(page: Browser) -> None:
    found = page.run(
        "decisionAtEnd(data.decisions[0], { ...data.rounds[0], after: [{ type: 'riichi', seat: 0 }] }).table"
    )
    assert (found["scores"], found["ranks"]) == ([24000, 25000, 25000, 25000], [3, 0, 1, 2])


def test_the_differences_before_and_after_the_end_of_a_round_are_found(page: Browser, made: tuple[Path, Any]) -> None:
    review = made[1]["reviews"][0]
    last = review["rounds"][0]["decisions"] - 1
    page.run("state.threshold = 0")
    page.run("data.decisions.forEach((each) => each.answers.forEach((answer) => { answer.differs = true; }))")
    for key, expected in (("p", last), ("n", last + 1)):
        page.run("show({ decision: null, ending: 0 })")
        page.press(key)
        assert page.run(f"[{ENDING}, Number(document.body.dataset.decision)]") == ["", expected]


def test_letters_and_space_step_and_a_question_mark_opens_the_help(page: Browser) -> None:
    for key, expected in (("j", 1), (" ", 2), ("k", 1)):
        page.press(key)
        assert place(page) == expected, key
    page.press("?")
    assert page.run("byId('help').open")
    page.press("j")
    assert place(page) == 1
    page.click("#close-help")
    assert not page.run("byId('help').open")


def test_a_slider_and_a_list_keep_the_focus_and_their_arrow_keys(page: Browser) -> None:
    page.run("byId('threshold').value = 20; byId('threshold').focus()")
    for expected in ("25", "30"):
        page.press("ArrowRight")
        assert page.run("[byId('threshold').value, document.activeElement.id]") == [expected, "threshold"]
    for control, value in (("seat", "1"), ("language", "ja")):
        page.run(f"byId('{control}').focus(); byId('{control}').value = '{value}'")
        page.run("document.activeElement.dispatchEvent(new Event('change'))")
        page.press("ArrowRight")
        assert page.run("document.activeElement.id") == control
    assert place(page) == 0


def test_a_button_that_is_drawn_again_keeps_the_focus(page: Browser) -> None:
    focused = "document.activeElement.dataset.focus"
    for button, then in (
        ("#models button:nth-child(2)", "document.activeElement.ariaPressed"),
        ("#candidates tr:nth-child(3) button", "document.activeElement.ariaExpanded"),
        ("#players-table tr:nth-child(2) button", "String(data.seat === 1)"),
    ):
        page.run(f"document.querySelector('{button}').focus()")
        before = page.run(focused)
        page.run("document.activeElement.click()")
        assert before and page.run(f"[{focused}, {then}]") == [before, "true"]
        page.press(" ")
        assert place(page) == 0


def test_a_screen_reader_hears_the_tiles(page: Browser, made: tuple[Path, Any]) -> None:
    decisions = made[1]["reviews"][0]["decisions"]
    drawn = next(i for i, one in enumerate(decisions) if one["table"]["drawn"] == "5p")
    page.run(f"go({drawn})")
    heard = page.run("document.querySelector('#since .event:last-child').ariaLabel")
    assert heard == f"{PLAYERS[0]} draws 5 of circles"
    unnamed = "[...document.querySelectorAll('main .inline-tiles')].filter((tiles) => !tiles.ariaLabel).length"
    assert page.run(unnamed) == 0
    page.run("show({ decision: null, ending: 0 })")
    assert page.run(unnamed) == 0


def test_a_swipe_over_the_table_moves_to_another_decision(page: Browser) -> None:
    page.resize(400, 800)
    for start, end, expected in ((300, 100, 1), (300, 100, 2), (100, 300, 1), (200, 220, 1)):
        page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": start, "y": 200}])
        page.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": end, "y": 205}])
        page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        assert place(page) == expected


def test_the_page_is_worded_for_players(page: Browser) -> None:
    """No network's view has identifiers or a blank before a full stop."""
    for decision in range(0, 40, 3):
        page.run(f"go({decision}); selectModel({decision % len(STAGES)})")
        text = page.run(TEXT)
        assert "_" not in text
        assert " ." not in text
        assert "log p" not in text


def test_each_chance_is_shown_with_how_often_it_came_true(page: Browser) -> None:
    page.run("file.chances = { win: [[0, 0.1, 0.12, 90], [0.25, 0.4, 0.25, 1000]], tenpai: [[0, 0.5, 0.4, 80]] }")
    page.run("data.decisions[3].opponents.forEach((one) => { one.win = 0.28; one.tenpai = 0.6; }); go(3)")
    titles = page.run("[...document.querySelectorAll('[data-plate] title')].map((title) => title.textContent)")
    wanted = "wins 28% (in 1,000 cases like this: 25%), tenpai 60% (in 80 cases like this: 40%)"
    assert sum(wanted in title for title in titles) == 3


def test_each_round_has_the_rating_of_its_decisions(page: Browser, made: tuple[Path, Any]) -> None:
    review = made[1]["reviews"][0]
    page.run("selectModel(0)")
    cells = page.run("[...document.querySelectorAll('#rounds-table tbody tr')].map((row) => row.lastChild.textContent)")
    for number, cell in enumerate(cells):
        own = [decision for decision in review["decisions"] if decision["round"] == number]
        shown = [(decision["answers"][0]["shown"], decision["chosen"]) for decision in own]
        rating = 100 * sum(of[chosen] / max(of) for of, chosen in shown) / max(1, len(own))
        assert cell == "" if not own else float(cell) == pytest.approx(rating, abs=0.06)


@pytest.mark.slow
def test_all_decisions_can_be_listed_and_only_the_differences_are_printed(
    page: Browser, made: tuple[Path, Any]
) -> None:
    decisions = made[1]["reviews"][0]["decisions"]
    articles = "document.querySelectorAll('#scroll article').length"
    assert page.run(articles) == 0
    page.run("toggleScroll()")
    assert page.run(articles) == len(decisions) == page.run("document.querySelectorAll('#scroll .candidates').length")
    page.run("toggleScroll()")
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    assert page.run(articles) == page.run("differences(state.model).length") > 0
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert page.run(articles) == 0


def test_the_opinion_can_be_hidden_until_an_action_is_chosen(page: Browser) -> None:
    values = "document.querySelectorAll('#candidates td.value').length"
    marks = "document.querySelectorAll('#hand .bar, #hand .dot, #hand .played').length"
    page.run("go(0)")
    assert page.run(values) > 0 and page.run(marks) > 0
    page.run("toggleGuessing()")
    assert page.run(values) == page.run(marks) == 0
    shown = "['worst', 'course', 'scroll'].filter((id) => byId(id).offsetHeight > 0)"
    assert page.run(shown) == []
    page.run("document.querySelectorAll('#candidates button')[1].click()")
    assert page.run(values) > 0 and page.run(marks) > 0
    assert page.run("byId('verdict').innerText").startswith("Your choice:")
    page.run("go(1)")
    assert page.run(values) == 0
    page.run("toggleGuessing()")
    assert page.run(values) > 0 and len(page.run(shown)) == 3


def test_the_tile_that_may_be_called_stays_framed_while_the_opinion_is_hidden(
    page: Browser, made: tuple[Path, Any]
) -> None:
    decisions = made[1]["reviews"][0]["decisions"]
    called = next(i for i, one in enumerate(decisions) if {"pon", "chi"} & set(one["kinds"]))
    page.run(f"go({called})")
    assert page.run("document.querySelectorAll('#board .framed').length") == 1
    page.run("toggleGuessing()")
    assert page.run("document.querySelectorAll('#board .framed').length") == 1
    assert page.run("document.querySelectorAll('#board :is(.bar, .dot, .played)').length") == 0


def test_all_players_are_in_one_table_and_several_rows_of_tiles_can_be_open(page: Browser) -> None:
    assert page.run("document.querySelectorAll('#players-table tbody tr').length") == page.run("reviews.length")
    page.run("go(0); openTiles(0); openTiles(1)")
    assert page.run("document.querySelectorAll('#candidates tr.accepted').length") == 2
    page.run("openTiles(0)")
    assert page.run("document.querySelectorAll('#candidates tr.accepted').length") == 1
