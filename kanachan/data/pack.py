"""kanachan-pack: converts annotation text to shards and back, and merges folders of shards into one.

`kanachan.data.sorted_runs` describes how rows are shuffled and how much memory this needs.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from annotate.annotation import FIELDS, HIDDEN, format_line
from annotate.runtime.files import check_output, locking, require_exists, require_folder, writing_text
from annotate.runtime.signals import noting_stop_signals
from annotate.vocabulary import Vocabulary, vocabulary_of_seats
from kanachan.config import SPLITS
from kanachan.data.columns import Columns, annotations_of_columns, game_key, splitmix64
from kanachan.data.merge import Merge
from kanachan.data.pack_options import Packing, Tally
from kanachan.data.round_columns import RoundColumns
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_file import open_shard_file
from kanachan.data.shard_folder import ROUNDS, SELF_PLAY, names_in, require_finished, require_no_shards, splits_in
from kanachan.data.shards import LOG_PROBABILITY, open_shards, publish_shards
from kanachan.data.sorted_runs import Runs, keyed, splits_of_games
from kanachan.data.text import mixed_hidden, parse_block, read_blocks, vocabulary_of_block

_TEMPORARY, _LOCK = ".kanachan-pack.part", "lock"
_ROWS_AT_ONCE = 100_000


def pack(
    sources: Sequence[str] | dict[str, tuple[str, ...]],
    folder: Path,
    packing: Packing = Packing(),  # noqa: B008 (frozen)
    *,
    keeps_splits: bool = False,
    force: bool = False,
) -> Tally:
    """Writes shards into `folder`, all of them or none. Raises ValueError if a line is wrong ("file:line: …"), a game
    is in two splits, there is nothing to pack, `folder` is a file, or another process packs into it.

    Args:
        sources: files of annotations and folders of shards: a list, to be split by game, or a mapping from splits to
            whole files and folders. All must have the vocabulary of the first line or folder.
        keeps_splits: the sources are folders of shards, whose rows stay in their splits; the new shards keep the
            settings of self-play if all have them.
        force: replace existing shards.
    """
    require_folder(folder / ROUNDS)
    named = sources if isinstance(sources, dict) else {"": tuple(sources)}
    by_split = [(split, path) for split, paths in named.items() for path in paths]
    paths = [path for _, path in by_split]
    for path in paths:
        if path != "-":
            require_exists(path)
        if keeps_splits and not os.path.isdir(path):
            raise ValueError(f"{path}: not a folder of shards, but --keep-splits needs one")
    if paths.count("-") > 1:
        raise ValueError("-: standard input can be read only once")
    require_finished(folder)
    if not force:
        require_no_shards(folder)
    old = names_in(folder)
    with _temporary_folder(folder) as temporary, closing(Runs(temporary, packing.rows_per_shard)) as runs:
        vocabulary, splits, unhidden = _write_runs(by_split, runs, packing, keeps_splits)
        runs.games = splits.count()
        merge = Merge(runs, vocabulary, packing)
        merge.tally.differing = splits.num_differing
        merge.tally.without_rounds = splits.num_without_rounds()
        merge.tally.unhidden = unhidden
        more = _inherited(paths, keeps_splits) if all(map(os.path.isdir, paths)) else {}
        splits_made = "by file" if isinstance(sources, dict) else "kept" if keeps_splits else list(packing.fractions)
        new = merge.write(temporary, sources, splits_made, more)
        with noting_stop_signals():  # which takes a moment and is not interrupted
            publish_shards(temporary, new, old, folder)
    return merge.tally


def unpack(folder: Path, out: str, split: str | None = None, *, force: bool = False) -> int:
    """Writes a split, or all existing splits, as annotation text; returns the number of lines. The id of a game becomes
    its key, 16 hexadecimal digits; the hidden field is written if the shards have it."""
    check_output(out, map(str, folder.rglob("*")), may_stream=True, force=force)
    splits = [split] if split else splits_in(folder) or SPLITS[:1]
    opened = [open_shards(folder, name, hidden=None) for name in splits]
    with writing_text(out) as text:
        for shards in opened:
            for first in range(0, len(shards), 10_000):
                rows = np.arange(first, min(first + 10_000, len(shards)))
                annotations = annotations_of_columns(shards.gather(rows))
                text.writelines(f"{format_line(annotation)}\n" for annotation in annotations)
    return sum(map(len, opened))


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Makes a folder inside `folder`, empty even after a killed run. Afterwards removes it, and also `folder` if that
    is new and empty. Raises ValueError if another process uses the folder."""
    was_there, temporary = folder.exists(), folder / _TEMPORARY
    temporary.mkdir(parents=True, exist_ok=True)
    with locking(temporary / _LOCK, f"{folder}: another process is packing into this folder"):
        try:
            for path in temporary.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != _LOCK:
                    path.unlink()
            yield temporary
        finally:
            shutil.rmtree(temporary)
            if not was_there and not any(folder.iterdir()):
                folder.rmdir()


def _write_runs(
    paths: Sequence[tuple[str, str]], runs: Runs, packing: Packing, keeps_splits: bool
) -> tuple[Vocabulary, "_Splits", str | None]:
    """Writes all rows. Returns their vocabulary and splits, and a source without hidden hands if, because of it, those
    of the others were left out."""
    num_bytes = sum(_size(path) for _, path in paths)
    splits = _Splits()
    vocabulary: Vocabulary | None = None
    hidden: bool | None = None
    unhidden: str | None = None
    without = next((path for _, path in paths if _has_hidden(path) is False), None)
    behaviour = all(
        os.path.isdir(path) and all(LOG_PROBABILITY in schema.names for schema in _schemas(path)) for _, path in paths
    )
    with tqdm(total=num_bytes or None, unit="B", unit_scale=True, desc="reading", disable=None) as bar:
        for split, path in paths:
            if os.path.isdir(path):
                _add_rounds(path, split, runs, packing, splits, keeps_splits)
            for its_vocabulary, columns, ids, its_split in _rows_of(path, vocabulary, bar.update, behaviour=behaviour):
                split = its_split if keeps_splits else split
                vocabulary = its_vocabulary
                if without is not None and columns.hidden is not None:
                    columns, unhidden = replace(columns, hidden=None), without
                if hidden is None:
                    hidden = columns.hidden is not None
                if (columns.hidden is not None) != hidden:
                    raise ValueError(f"{path}: {mixed_hidden(not hidden)}")
                split_B = _splits_of(columns.game, split, packing)
                splits.note(path, columns.game, split_B, ids)
                runs.add(keyed(columns, packing.seed, vocabulary), split_B)
    runs.flush()
    if not runs.files:
        raise ValueError(f"there is no annotation in {', '.join(path for _, path in paths)}")
    assert vocabulary is not None
    return vocabulary, splits, unhidden


def _inherited(folders: Sequence[str], keeps_splits: bool) -> dict[str, Any]:
    """Returns what new shards keep of the origins of all folders: settings of self-play, and names of players."""
    made = [open_shard_file(next(iter(splits_in(folder).values()))[0])[0]["made"] for folder in folders]
    found: dict[str, Any] = {}
    if keeps_splits and all(SELF_PLAY in origin for origin in made):
        found[SELF_PLAY] = [run for origin in made for run in origin[SELF_PLAY]]
    if all("by" in origin for origin in made):
        found["by"] = sorted({name for origin in made for name in origin["by"]})
    return found


def _splits_of(game_B: NDArray[np.uint64], split: str, packing: Packing) -> NDArray[np.intp]:
    """Returns the index into SPLITS of each row: the index of `split` if it is not empty."""
    return np.full(len(game_B), SPLITS.index(split)) if split else splits_of_games(game_B, packing.fractions)


def _add_rounds(path: str, split: str, runs: Runs, packing: Packing, splits: "_Splits", keeps_splits: bool) -> None:
    """Adds the rounds in a folder of shards, except for games whose rounds were added before; counts games that had
    other rounds before."""
    for its_split in splits_in(Path(path) / ROUNDS):
        rounds = open_rounds(path, its_split, verify=True)
        of_game, known = _hashes(rounds), splits.rounds
        splits.num_differing += sum(found != known.get(game, found) for game, found in of_game.items())
        rounds = rounds.take(~np.isin(rounds.game, np.fromiter(known, np.uint64)))
        splits.rounds = of_game | known
        split_N = _splits_of(rounds.game, its_split if keeps_splits else split, packing)
        runs.add_rounds(rounds, split_N, vocabulary_of_seats(rounds.num_seats))


def _hashes(rounds: RoundColumns) -> dict[int, int]:
    """Returns a hash of the rounds of each game."""
    games, starts = np.unique(rounds.game, return_index=True)
    hash_N = np.zeros(len(rounds), np.uint64)
    for numbers in np.concatenate([rounds.number[:, None], rounds.score, rounds.delta], axis=1).T:
        hash_N = splitmix64(hash_N + numbers.astype(np.uint64))
    return dict(zip(games.tolist(), np.add.reduceat(hash_N, starts).tolist(), strict=True))


def _size(path: str) -> int:
    if path == "-":
        return 0
    files = sorted(Path(path).glob("*.arrow")) if os.path.isdir(path) else [path]
    return sum(map(os.path.getsize, files))


def _has_hidden(path: str) -> bool | None:
    """Returns whether all decisions of a file or folder have hidden hands; None if it has no decisions, or is a pipe,
    which can be read only once."""
    if os.path.isdir(path):
        schemas = _schemas(path)
        return all(HIDDEN in schema.names for schema in schemas) if schemas else None
    block = next(read_blocks(path, lambda _: None), None) if os.path.isfile(path) else None
    return None if block is None else block[1].partition(b"\n")[0].count(b"\t") >= len(FIELDS)


def _schemas(folder: str) -> list[pa.Schema]:
    """Returns the schemas of all shards that are not empty."""
    opened = [open_shard_file(file)[1] for file in chain.from_iterable(splits_in(folder).values())]
    return [rows.schema for rows in opened if rows.num_rows]


def _rows_of(
    path: str, vocabulary: Vocabulary | None, progress: Callable[[int], object], *, behaviour: bool
) -> Iterator[tuple[Vocabulary, Columns, dict[int, str], str]]:
    """Yields from a file of annotations or a folder of shards: the vocabulary (equal to `vocabulary` if given), rows,
    the ids of their games by key, and the split of shards."""
    if not os.path.isdir(path):
        for line, block in read_blocks(path, progress):
            vocabulary = vocabulary or vocabulary_of_block(path, line, block)
            columns, games = parse_block(path, line, block, vocabulary)
            yield vocabulary, columns, {game_key(game): game for game in games}, ""
        return
    require_finished(Path(path))
    present = splits_in(path)
    if not present:
        raise ValueError(f"{path}: holds no shards; kanachan-annotate makes annotations from game records")
    for split in present:
        shards = open_shards(path, split, verify=True, hidden=None, behaviour=behaviour)
        vocabulary = vocabulary or shards.vocabulary
        shards.require(vocabulary, "the other annotations")
        for first in range(0, len(shards), _ROWS_AT_ONCE):
            rows = np.arange(first, min(first + _ROWS_AT_ONCE, len(shards)))
            yield vocabulary, shards.gather(rows), {}, split
        progress(sum(map(os.path.getsize, present[split])))


class _Splits:
    def __init__(self) -> None:
        self._split_of_game: dict[int, int] = {}
        self.rounds: dict[int, int] = {}
        """hash of the rounds of each game whose rounds were added"""
        self.num_differing = 0
        """number of games of which several folders have different rounds"""

    def note(self, path: str, game_B: NDArray[np.uint64], split_B: NDArray[np.intp], ids: Mapping[int, str]) -> None:
        """Records the splits of games; raises ValueError if a game is also in another split."""
        games, places = np.unique(game_B, return_index=True)
        for game, split in zip(games.tolist(), split_B[places].tolist(), strict=True):
            other = self._split_of_game.setdefault(game, split)
            if other != split:
                raise ValueError(
                    f"{path}: the game {ids.get(game, f'{game:016x}')} is in the {SPLITS[split]} split and in the "
                    f"{SPLITS[other]} split; name each game in one split only"
                )

    def num_without_rounds(self) -> int:
        """Returns the number of games without rounds if other games have them, otherwise 0."""
        return len(self._split_of_game.keys() - self.rounds.keys()) if self.rounds else 0

    def count(self) -> Counter[str]:
        return Counter(SPLITS[split] for split in self._split_of_game.values())
