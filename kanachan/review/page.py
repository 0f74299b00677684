"""Renders a review as one self-contained HTML page that is safe against injection by texts in a record.

Texts of the record are embedded as compressed JSON in base64, which cannot end the enclosing element, and are shown as
text. In addition, the page's content security policy allows only the page's own script, by hash, and nothing is loaded.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from kanachan.review.tiles import tile_symbols

_ASSETS = "assets"
_SCRIPTS = (
    "texts yaku elements state language melds hand board candidates events ending lists scroll charts header "
    "navigation review"
)
"""names of the scripts, in their order in the page"""


def page(review: Mapping[str, Any]) -> str:
    """Returns the page of a review, which kanachan.review.report.review_of returns."""
    style = _asset("review.css")
    script = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS.split())
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
    policy += "base-uri 'none'; form-action 'none'"
    return Template(_asset("review.html")).substitute(
        policy=escape(policy),
        title=escape(_title(review)),
        style=style,
        tiles=tile_symbols(),
        data=embedded(review),
        script=script,
    )


def _title(review: Mapping[str, Any]) -> str:
    """Returns the game's id, and the player if only one is reviewed."""
    if "reviews" in review:
        return f"Review of {review['game']}"
    name = review["players"][review["seat"]]["name"]
    return f"Review of {review['game']}, {name or 'seat ' + str(review['seat'])}"


def embedded(value: Any) -> str:
    """Returns `value` as JSON, compressed, in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _hash(text: str) -> str:
    """Returns the content security policy's source for an element with exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files("kanachan.review").joinpath(_ASSETS, name).read_text(encoding="utf-8")
