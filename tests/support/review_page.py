"""Pages of kanachan-review with their data, and questions that tests ask about them."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

from kanachan.cli.review import main
from tests.support.browser import Browser


def reviewed(record: Path, weights: list[str], folder: Path, seat: int | str, *more: str) -> tuple[Path, Any]:
    """Reviews a game; returns the page's path and its data."""
    out, data = folder / "out.html", folder / "out.json"
    assert main([str(record), *weights, "--seat", str(seat), "-o", str(out), "--json", str(data), *more]) == 0
    return out, json.loads(data.read_text())


def data_of(page: str) -> Any:
    """Returns the data in a page."""
    found = re.search(r' id="data">([A-Za-z0-9+/=]+)</script>', page)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def place(page: Browser) -> int:
    """Returns the index of the decision that is shown."""
    return int(page.run("Number(document.body.dataset.decision)"))


def hidden_parts(page: Browser, *selectors: str) -> list[str]:
    """Returns the selectors whose first element is not wholly inside the window or is covered at its centre."""
    test = """((selectors) => selectors.filter((selector) => {
      const element = document.querySelector(selector);
      const box = element.getBoundingClientRect();
      const inside = box.top >= -1 && box.left >= -1 && box.bottom <= innerHeight + 1 && box.right <= innerWidth + 1;
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return !(inside && top && (element.contains(top) || top.contains(element)));
    }))"""
    return list(page.run(f"{test}({json.dumps(selectors)})"))


def differences(decisions: list[dict[str, Any]], model: int, threshold: float) -> list[int]:
    """Returns the decisions in which a network prefers another action, the largest difference first."""
    answers = [(decision["answers"][model], decision["chosen"]) for decision in decisions]
    found = [i for i, (one, chosen) in enumerate(answers) if one["best"] != chosen and one["gap"] >= threshold]
    return sorted(found, key=lambda i: -answers[i][0]["gap"])
