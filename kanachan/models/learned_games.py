"""The games that a network or its predecessors learned from, as a set that is small enough for a card.

Keys (`kanachan.data.columns.game_key`) are truncated to their upper 32 bits. The differences of the sorted keys are
written in bytes of seven bits each, and compressed: as text about 2.8 bytes per game in a set of 60,000. In a set of N
games, any other game is wrongly found with probability N / 2^32: 1 in 70,000 in a set of 60,000. The union of sets is
lossless.

Shapes: G games of a set, B decisions or games that are looked up.
"""

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kanachan.data.columns import spans

GAMES_KEY = "learned_games"
"""entry of a weights card"""
BITS = 32
_MOST_BYTES = -(-BITS // 7)


@dataclass(frozen=True)
class LearnedGames:
    """The recorded games that a network has learned from."""

    key_G: NDArray[np.uint64]
    """keys of the games, `truncated` and sorted"""
    is_complete: bool
    """whether these are all games; False if the card of a predecessor has no games"""

    @classmethod
    def of_card(cls, card: Mapping[str, Any], path: Path | str) -> "LearnedGames":
        """Reads the games of a card; raises ValueError, naming the file, if the entry is damaged."""
        if GAMES_KEY not in card:
            return cls(np.zeros(0, np.uint64), is_complete=False)
        entry = card[GAMES_KEY]
        return cls(_decoded(entry, path), bool(entry.get("is_complete")))

    def encode(self) -> dict[str, Any]:
        """Returns the entry of a card, as JSON values."""
        difference_G = np.diff(self.key_G, prepend=np.uint64(0))
        shift = np.arange(0, 7 * _MOST_BYTES, 7, dtype=np.uint64)
        byte_GM = (difference_G[:, None] >> shift).astype(np.uint64)
        is_used_GM = byte_GM > 0
        is_used_GM[:, 0] = True
        byte_GM = byte_GM & np.uint64(0x7F)
        byte_GM[:, :-1] |= np.where(is_used_GM[:, 1:], np.uint64(0x80), np.uint64(0))
        packed = zlib.compress(byte_GM.astype(np.uint8)[is_used_GM].tobytes(), 9)
        keys = base64.b85encode(packed).decode()
        return {"games": len(self.key_G), "bits": BITS, "keys": keys, "is_complete": self.is_complete}

    def __or__(self, other: "LearnedGames") -> "LearnedGames":
        return LearnedGames(np.union1d(self.key_G, other.key_G), self.is_complete and other.is_complete)

    def has(self, game_B: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Returns which games, given by whole keys, are in this set [B]; with a few false positives."""
        return np.isin(truncated(game_B), self.key_G)


NONE = LearnedGames(np.zeros(0, np.uint64), is_complete=True)
"""the games of a network before training"""


def truncated(game_B: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the truncated keys of games."""
    return game_B >> np.uint64(64 - BITS)


def keys_of_games(columns: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Returns the sorted, truncated keys [G] of games from columns of whole keys, one column per shard."""
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *(np.unique(truncated(column)) for column in columns)]))


def any_learned(learned: Sequence[LearnedGames], game_B: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which games, given by whole keys, at least one of several networks has learned from [B]."""
    return np.logical_or.reduce([np.zeros(len(game_B), bool), *(each.has(game_B) for each in learned)])


def learned_text(learned: Mapping[str, LearnedGames], game_X: NDArray[np.uint64], *, left_out: bool = False) -> str:
    """Returns a text: how many of the given games each network, named, has learned from."""
    counts = {name: int(each.has(game_X).sum()) for name, each in learned.items()}
    listed = ", ".join(f"{name} {count:,}".strip() for name, count in counts.items())
    unknown = [name for name, each in learned.items() if not each.is_complete]
    several = "" if len(learned) == 1 else f" ({', '.join(unknown)})" if len(unknown) < len(learned) else ""
    note = f"; maybe more: not all are known{several}" if unknown else ""
    return (
        f"recorded games that it has learned from: {listed} of {len(game_X):,}{', left out' if left_out else ''}{note}"
    )


def _decoded(encoded: Any, path: Path | str) -> NDArray[np.uint64]:
    try:
        if encoded["bits"] != BITS:
            raise ValueError(f"keys of {encoded['bits']} bits, {BITS} expected")
        byte = np.frombuffer(zlib.decompress(base64.b85decode(encoded["keys"])), np.uint8).astype(np.uint64)
        (last_G,) = np.nonzero(byte < 0x80)
        first_G = np.append(0, last_G + 1)[: len(last_G)]
        place = spans(0, last_G - first_G + 1)
        part = (byte & np.uint64(0x7F)) << (np.uint64(7) * place.astype(np.uint64))
        key_G = np.cumsum(np.add.reduceat(part, first_G), dtype=np.uint64) if len(byte) else byte
        if len(key_G) != encoded["games"]:
            raise ValueError(f"{len(key_G):,} keys, {encoded['games']:,} expected")
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"{path}: the keys of the games are damaged ({error})") from None
    return key_G
