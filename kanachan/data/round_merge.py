"""Merges the rounds of games, which files hold sorted by game, into shards of rounds.

kanachan-annotate --pack and kanachan-selfplay know the rounds of the games that they write, and folders of shards hold
them. Annotation lines have none, so games that are packed from lines have no rounds.

Shapes: G games, N rounds.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotate.vocabulary import Vocabulary
from kanachan.data.round_columns import RoundColumns, concatenated
from kanachan.data.round_shards import open_round_files, rounds_of_rows, write_rounds
from kanachan.data.shard_folder import ROUNDS, splits_in

Games = NDArray[np.uint64]
"""sorted keys of games [G]"""


class RoundPart(NamedTuple):
    """The rounds of a file, sorted by game, in memory that is mapped, and the games of which they are used."""

    rounds: RoundColumns
    game_G: Games


class RoundMerge:
    """The merge of rounds into shards; of a game that several files hold, the rounds of the first are taken. `parts`:
    by the split that their games are packed into."""

    def __init__(self, parts: Mapping[str, Sequence[RoundPart]]) -> None:
        self._parts = parts
        self.rounds: Counter[str] = Counter()
        """number of rounds written, by split"""

    @classmethod
    def of_folders(cls, games: Mapping[tuple[str, str], Games]) -> Self:
        """Returns the merge of the rounds that folders of shards hold, for the games of each source, by its path, and
        split. Raises ValueError if the rounds of a folder are damaged, or were not packed together with its
        decisions."""
        parts: dict[str, list[RoundPart]] = defaultdict(list)
        files = {path: _rounds_in(path) for path, _ in games}
        for (path, split), game_G in games.items():
            for rounds in files[path]:
                used_G = np.intersect1d(rounds.game, game_G)
                if len(used_G):
                    parts[split].append(RoundPart(rounds, used_G))
        return cls(parts)

    @classmethod
    def of_files(cls, folder: Path, files: Mapping[str, Iterable[str]]) -> Self:
        """Returns the merge of the rounds in files by split, as `kanachan.data.external_sort.Runs` writes them."""
        rounds = {split: [_mapped(folder / name) for name in names] for split, names in files.items()}
        return cls({split: [RoundPart(r, np.unique(r.game)) for r in found] for split, found in rounds.items()})

    def write(
        self, split: str, folder: Path, rows_per_shard: int, vocabulary: Vocabulary, made: dict[str, Any]
    ) -> list[Path]:
        """Writes all shards of the rounds of a split into the subfolder of `folder`; none if there are no rounds."""
        ranges = list(self._ranges(split, rows_per_shard))
        paths = []
        for number, rounds in enumerate(ranges):
            self.rounds[split] += len(rounds)
            paths.append(write_rounds(folder, split, number, len(ranges), rounds, vocabulary, made))
        return paths

    def _ranges(self, split: str, rows_per_shard: int) -> Iterator[RoundColumns]:
        """Yields the rounds in each of equal ranges of games, if it contains any."""
        parts = self._parts.get(split, [])
        num_ranges = -(-sum(len(part.rounds) for part in parts) // rows_per_shard)
        limits: Games = np.array([2**64 * i // num_ranges for i in range(1, num_ranges)], np.uint64)
        cuts = [[0, *np.searchsorted(part.rounds.game, limits), len(part.rounds)] for part in parts]
        for i in range(num_ranges):
            found, seen_G = list[RoundColumns](), np.zeros(0, np.uint64)
            for (rounds, game_G), cut in zip(parts, cuts, strict=True):
                rounds = rounds.rows(cut[i], cut[i + 1])
                rounds = rounds.take(np.isin(rounds.game, game_G) & ~np.isin(rounds.game, seen_G))
                seen_G = np.union1d(seen_G, rounds.game)
                found.append(rounds)
            merged = concatenated(found)
            if len(merged):
                yield merged.take(np.argsort(merged.game, kind="stable"))


def _mapped(path: Path) -> RoundColumns:
    with pa.memory_map(str(path)) as file:  # the mapping outlives the file
        return rounds_of_rows(pa.ipc.open_file(file).get_batch(0))


def _rounds_in(path: str) -> list[RoundColumns]:
    splits = splits_in(Path(path) / ROUNDS) if os.path.isdir(path) else {}
    return [rounds for split in splits for rounds in open_round_files(Path(path), split, verify=True)]
