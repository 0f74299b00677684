"""The rounds that are known before rows are merged: of annotated records, or of folders that are packed again.

Of folders, a game has the same rounds wherever it is packed, if all of its decisions come from one folder: they are
copied. The rounds of a game with decisions from several sources are derived from all of these.

Shapes: B decisions, G games, N rounds.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_shards import open_round_files, rounds_of_rows
from kanachan.data.shard_folder import ROUNDS, splits_in

Games = NDArray[np.uint64]
"""sorted keys of games [G]"""


class StoredPart(NamedTuple):
    """The rounds of a file, sorted by game, in memory that is mapped, and the games of which they are used."""

    rounds: RoundColumns
    game_G: Games


class StoredRounds:
    """Rounds of games by the split that the games are packed into.

    Args:
        parts: of which each split has some.
    """

    def __init__(self, parts: Mapping[str, Sequence[StoredPart]]) -> None:
        self._parts = parts
        nothing_G = np.zeros(0, np.uint64)
        self._games = {
            split: np.sort(np.concatenate([nothing_G, *(part.game_G for part in of_split)]))
            for split, of_split in parts.items()
        }

    @classmethod
    def of_sources(cls, games: Mapping[tuple[str, str], Games]) -> Self:
        """Returns the rounds that folders of shards hold.

        Args:
            games: whose decisions all come from one source, by the path of the source and the split.
        """
        parts: dict[str, list[StoredPart]] = defaultdict(list)
        files = {path: _rounds_in(path) for path, _ in games}
        for (path, split), game_G in games.items():
            for rounds in files[path]:
                used_G = np.intersect1d(rounds.game, game_G)
                if len(used_G):
                    parts[split].append(StoredPart(rounds, used_G))
        return cls(parts)

    @classmethod
    def of_files(cls, folder: Path, files: Mapping[str, Iterable[str]]) -> Self:
        """Returns the rounds in files by split, as `kanachan.data.external_sort.Runs` writes them."""
        rounds = {split: [_mapped(folder / name) for name in names] for split, names in files.items()}
        return cls({split: [StoredPart(r, np.unique(r.game)) for r in found] for split, found in rounds.items()})

    def holds(self, split: str, game_B: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Returns whether the rounds of games are here [B]."""
        return _are_in(game_B, self._games.get(split, np.zeros(0, np.uint64)))

    def ranges(self, split: str, limits: NDArray[np.uint64]) -> Iterator[list[RoundColumns]]:
        """Yields the rounds of a split in each of the ranges of games that `limits` separate, copied one range at a
        time."""
        parts = self._parts.get(split, [])
        cuts = [[0, *np.searchsorted(rounds.game, limits), len(rounds)] for rounds, _ in parts]
        for i in range(len(limits) + 1):
            found = [part.rounds.rows(cut[i], cut[i + 1]) for part, cut in zip(parts, cuts, strict=True)]
            found = [f.take(_are_in(f.game, part.game_G)) for f, part in zip(found, parts, strict=True)]
            yield [rounds for rounds in found if len(rounds)]


def _mapped(path: Path) -> RoundColumns:
    with pa.memory_map(str(path)) as file:  # the mapping outlives the file
        return rounds_of_rows(pa.ipc.open_file(file).get_batch(0))


def _rounds_in(path: str) -> list[RoundColumns]:
    """Returns the rounds of all splits of a folder, file by file; none if it has none, or damaged ones, or other ones
    than its decisions have, which are derived again."""
    if not os.path.isdir(path):
        return []
    try:
        return [
            rounds
            for split in splits_in(Path(path) / ROUNDS)
            for rounds in open_round_files(Path(path), split, verify=True)
        ]
    except ValueError:
        return []


def _are_in(game_X: NDArray[np.uint64], game_G: Games) -> NDArray[np.bool_]:
    place_X = np.searchsorted(game_G, game_X)
    is_in_X = place_X < len(game_G)
    is_in_X[is_in_X] = game_G[place_X[is_in_X]] == game_X[is_in_X]
    return is_in_X
