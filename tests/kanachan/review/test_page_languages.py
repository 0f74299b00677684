"""The languages of the page of kanachan-review."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kanachan.objectives.stages import STAGES
from tests.kanachan.review.conftest import page_of_all_seats
from tests.support.browser import Browser
from tests.support.paths import ROOT
from tests.support.rounds import V3, V

ASSETS = ROOT / "kanachan" / "review" / "assets"
FOREIGN = ["ja", "zh"]
UNTRANSLATED = {"English", "Home", "End", "Space"}
"""names of a language and of keys"""
TEXT = re.compile(r"^  '([^']+)': \[(.*)\],$")
SHOWN = """(() => {
  const root = document.body.cloneNode(true);
  root.querySelectorAll('script, noscript, #notes').forEach((element) => element.remove());
  const labels = [...root.querySelectorAll('*')].flatMap((one) => [one.getAttribute('title'), one.ariaLabel]);
  return [root.textContent, document.title, ...labels.filter(Boolean)].join(' / ');
})()"""


def texts() -> dict[str, list[str]]:
    lines = (ASSETS / "texts.js").read_text().splitlines()
    found = [match for line in lines if (match := TEXT.match(line))]
    assert len({match[1] for match in found}) == len(found) > 150
    return {match[1]: re.findall(r"'((?:[^'\\]|\\.)*)'", match[2]) for match in found}


def test_every_text_exists_in_all_languages_with_the_same_placeholders() -> None:
    for key, versions in texts().items():
        assert len(versions) == 1 + len(FOREIGN), key
        assert all(versions), key
        assert len({tuple(sorted(re.findall(r"\{\w+\}", version))) for version in versions}) == 1, key


def test_no_text_is_left_in_english() -> None:
    for key, (_, *others) in texts().items():
        for text in others:
            assert not re.search(r"[A-Za-z]{2}", re.sub(r"\{\w+\}|\\u\w{4}", "", text)), key


def test_every_text_is_used_and_every_used_text_exists() -> None:
    sources = [path.read_text() for path in ASSETS.iterdir() if path.name != "texts.js"]
    keys = set(texts())
    named = {key for source in sources for key in re.findall(r"\b(?:t|phrase|about|card)\('([^']+)'", source)}
    named |= {key for source in sources for key in re.findall(r'data-(?:text|title)="([^"]+)"', source)}
    assert named <= keys
    quoted = "\n".join(sources)
    families = set(re.findall(r"[`']([\w.]+\.)\$\{", quoted))
    unused = {key for key in keys if f"'{key}'" not in quoted and f'"{key}"' not in quoted}
    assert {key for key in unused if not any(key.startswith(family) for family in families)} == set()


@pytest.fixture(scope="module", params=[V, V3], ids=lambda vocabulary: vocabulary.name)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    if request.param is V:
        found: tuple[Path, Any] = request.getfixturevalue("all_seats")
        return found
    return page_of_all_seats(request.getfixturevalue("weights_of_three"), V3, tmp_path_factory.mktemp("page"))


@pytest.fixture(autouse=True)
def english(request: pytest.FixtureRequest) -> Iterator[None]:
    """Resets the language of the browser afterwards, as other tests use it too."""
    yield
    if "chromium" in request.fixturenames:
        chromium = request.getfixturevalue("chromium")
        chromium.run("localStorage.clear()")
        chromium.call("Emulation.setUserAgentOverride", userAgent="x", acceptLanguage="en-US")


def test_nothing_on_the_page_stays_english(chromium: Browser, made: tuple[Path, Any]) -> None:
    chromium.open(made[0])
    places = [f"go({i}); selectModel({i % len(STAGES)})" for i in range(0, 40, 5)]
    places += [f"show({{ decision: null, ending: {i} }})" for i in range(3)]
    for language in FOREIGN:
        chromium.run(f"byId('language').value = '{language}'; byId('language').dispatchEvent(new Event('change'))")
        for place in places:
            chromium.run(place)
            words = set(re.findall(r"[A-Za-z]{3,}", chromium.run(SHOWN)))
            assert words <= UNTRANSLATED
        assert chromium.run("document.documentElement.lang").startswith(language)
    assert chromium.complaints == []


def test_the_language_is_the_browsers_until_one_is_chosen(chromium: Browser, all_seats: tuple[Path, Any]) -> None:
    chromium.open(all_seats[0])
    chromium.run("localStorage.clear()")
    for code, expected in (("ja-JP", "ja"), ("zh-CN", "zh"), ("fr-FR", "en")):
        chromium.call("Emulation.setUserAgentOverride", userAgent="x", acceptLanguage=code)
        chromium.open(all_seats[0])
        assert chromium.run("language") == expected
    chromium.run("byId('language').value = 'zh'; byId('language').dispatchEvent(new Event('change'))")
    chromium.open(all_seats[0])
    assert chromium.run("language") == "zh"
    assert chromium.run("byId('language').value") == "zh"
