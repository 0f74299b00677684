"""The names of grades in tenhou.net/6 JSON: Tenhou's dans, and Mahjong Soul's grades in several languages."""

import unicodedata
from typing import Any

from annotate.game import grading
from annotate.game.origin import TENHOU_DANS

_MJSOUL_GRADES = (
    ("初心", "Novice"),
    ("雀士", "Adept"),
    ("雀傑", "雀杰", "Expert"),
    ("雀豪", "Master"),
    ("雀聖", "雀圣", "Saint"),
    ("魂天", "Celestial"),
)

_LEVELS = {"1": 0, "2": 1, "3": 2, "I": 0, "II": 1, "III": 2, "★": 0, "★★": 1, "★★★": 2}


def tenhou_dan(name: Any) -> int | None:
    """Returns Tenhou's dan, 0 ... 20, by its name."""
    name = _normalised(name)
    if name.startswith("天鳳"):
        return grading.TENHOUI
    return TENHOU_DANS.index(name) if name in TENHOU_DANS else None


def mjsoul_grade(name: Any) -> int | None:
    """Returns Mahjong Soul's grade, 0 ... 15, by its name, such as "雀豪★2" or "Master II"."""
    name = _normalised(name)
    for tier, words in enumerate(_MJSOUL_GRADES):
        word = next((word for word in words if name.startswith(word)), None)
        if word is None:
            continue
        if 3 * tier == grading.CELESTIAL:
            return grading.CELESTIAL
        level = name.removeprefix(word).strip()
        if len(level) > 1 and level[1:] in "123":
            level = level.removeprefix("★")
        return 3 * tier + _LEVELS[level] if level in _LEVELS else None
    return None


def _normalised(name: Any) -> str:
    return unicodedata.normalize("NFKC", name) if isinstance(name, str) else ""
