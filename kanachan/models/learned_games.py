"""Which games a network has learned from, itself or through those before it, as cards keep them.

Shapes: G games of a set, B decisions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanachan.data import game_keys

GAMES_KEY = "learned_games"
"""entry of the card of weights"""


@dataclass(frozen=True)
class LearnedGames:
    """The games of records that a network has learned from."""

    key_G: NDArray[np.uint64]
    """`kanachan.data.game_keys.truncated`, sorted"""
    is_complete: bool
    """whether these are all; not with a network before it whose card has none"""

    @classmethod
    def of_card(cls, card: Mapping[str, Any], path: Path | str) -> "LearnedGames":
        """Reads those of a card; raises ValueError, naming the file, if the entry is damaged."""
        if GAMES_KEY not in card:
            return cls(np.zeros(0, np.uint64), is_complete=False)
        entry = card[GAMES_KEY]
        return cls(game_keys.decode(entry, str(path)), bool(entry.get("is_complete")))

    def encode(self) -> dict[str, Any]:
        """Returns the entry of a card, as JSON values."""
        return {**game_keys.encode(self.key_G), "is_complete": self.is_complete}

    def __or__(self, other: "LearnedGames") -> "LearnedGames":
        key_G = game_keys.union([self.key_G, other.key_G])
        return LearnedGames(key_G, self.is_complete and other.is_complete)

    def has(self, game_B: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Returns which of the games, by their whole keys, are among these [B]."""
        return game_keys.contains(self.key_G, game_B)


def any_learned(learned: Sequence[LearnedGames], game_B: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which of the games, by their whole keys, any of some networks has learned from [B]."""
    return np.logical_or.reduce([np.zeros(len(game_B), bool), *(each.has(game_B) for each in learned)])


def in_words(learned: Mapping[str, LearnedGames], game_X: NDArray[np.uint64], *, left_out: bool = False) -> str:
    """Says how many of the games at hand each network, by its name, has learned from."""
    counts = {name: int(each.has(game_X).sum()) for name, each in learned.items()}
    listed = ", ".join(f"{name} {count:,}".strip() for name, count in counts.items())
    unknown = [name for name, each in learned.items() if not each.is_complete]
    several = "" if len(learned) == 1 else f" ({', '.join(unknown)})" if len(unknown) < len(learned) else ""
    note = f"; maybe more: not all are known{several}" if unknown else ""
    return f"games that it has learned from: {listed} of {len(game_X):,}{', left out' if left_out else ''}{note}"


NONE = LearnedGames(np.zeros(0, np.uint64), is_complete=True)
"""those of a network from scratch"""


def keys_of_games(columns: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Returns the cut keys [G] of the games of some shards, of which each has a column of whole keys."""
    return game_keys.union(np.unique(game_keys.truncated(column)) for column in columns)
