"""The games that weights learned from, as a set of truncated keys that is small enough for a card.

A key (`kanachan.data.columns.game_key`) is cut to its upper 32 bits. The sorted keys are written as differences, in
bytes of seven bits each, compressed: about 2.8 bytes a game in a set of 60,000, as text. A game that is not in a set of
N is taken to be in it with the probability N / 2^32: 1 in 70,000 in a set of 60,000. Sets are joined without loss.

Shapes: G games of a set, X games that are looked up.
"""

import base64
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 32
_MOST_BYTES = -(-BITS // 7)


def truncated(game_X: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the keys of games, cut."""
    return game_X >> np.uint64(64 - BITS)


def encode(key_X: NDArray[np.uint64]) -> dict[str, Any]:
    """Encodes the set of cut keys, in any order, as JSON values."""
    key_G = np.unique(key_X)
    difference_G = np.diff(key_G, prepend=np.uint64(0))
    shift = np.arange(0, 7 * _MOST_BYTES, 7, dtype=np.uint64)
    byte_GM = (difference_G[:, None] >> shift).astype(np.uint64)
    is_used_GM = byte_GM > 0
    is_used_GM[:, 0] = True
    byte_GM = byte_GM & np.uint64(0x7F)
    byte_GM[:, :-1] |= np.where(is_used_GM[:, 1:], np.uint64(0x80), np.uint64(0))
    packed = zlib.compress(byte_GM.astype(np.uint8)[is_used_GM].tobytes(), 9)
    return {"games": len(key_G), "bits": BITS, "keys": base64.b85encode(packed).decode()}


def decode(encoded: Any, where: str) -> NDArray[np.uint64]:
    """Returns the sorted cut keys [G] of an encoded set; raises ValueError, which starts with `where`, if it is
    none."""
    try:
        if encoded["bits"] != BITS:
            raise ValueError(f"keys of {encoded['bits']} bits, {BITS} expected")
        byte = np.frombuffer(zlib.decompress(base64.b85decode(encoded["keys"])), np.uint8).astype(np.uint64)
        (last_G,) = np.nonzero(byte < 0x80)
        first_G = np.append(0, last_G + 1)[: len(last_G)]
        place = np.arange(len(byte)) - np.repeat(first_G, last_G - first_G + 1)
        part = (byte & np.uint64(0x7F)) << (np.uint64(7) * place.astype(np.uint64))
        key_G = np.cumsum(np.add.reduceat(part, first_G), dtype=np.uint64) if len(byte) else byte
        if len(key_G) != encoded["games"]:
            raise ValueError(f"{len(key_G):,} keys, {encoded['games']:,} expected")
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"{where}: the keys of the games are damaged ({error})") from None
    return key_G


def union(sets: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Joins sets of cut keys, sorted."""
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *sets]))


def contains(key_G: NDArray[np.uint64], game_X: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns whether each game, by its whole key, is in a set [X]; a few that are not seem to be."""
    return np.isin(truncated(game_X), key_G)
