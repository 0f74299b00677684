"""kanachan-pack: annotation text to shards, and back.

Rows get a key from their content and the seed, and stand in its order: shuffled, and the same whatever the order of
the input. Rows are collected into runs on disk, each sorted by key; a shard is one range of keys taken out of all runs.
So memory holds about one run or one shard at a time.
"""

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annotate.terminal import run_cleanly
from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.config import SPLITS

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PROGRAM = "kanachan-pack"
DESCRIPTION = """Packs annotations (text, as kanachan-annotate writes it) into a folder of shards that kanachan-train
reads. Every line is checked; the first wrong one ends the program and is named. Games go to the train, validation and
test split by a hash of their id, so a game never changes sides when data are added; or whole files are named as a
split. Rows are shuffled once. Files may be plain, .gz or .zst; "-" is standard input. Memory: about 2 GB at the default
--rows-per-shard, in proportion to it, whatever the amount of data; temporary files as large as the shards are kept
beside them until the end. With --unpack, shards become text again; ids of games are then 16 hexadecimal digits of their
hash, as shards keep no more of them (so do not pack that text again together with the original: its games would count
as other games)."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=DESCRIPTION)
    parser.add_argument("annotations", nargs="*", help="files to be split by game")
    for split in SPLITS:
        parser.add_argument(
            f"--{split}", nargs="+", default=[], metavar="FILE", help=f"files that are the {split} split as a whole"
        )
    parser.add_argument("-o", "--out", required=True, help="folder of the shards; with --unpack the text file")
    parser.add_argument(
        "--fractions",
        default="0.9,0.05,0.05",
        help="shares of the games that go to train, validation and test (default: %(default)s)",
    )
    parser.add_argument("--rows-per-shard", type=int, default=1_000_000, help="about so many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the order of the rows (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="replace the shards that are in the folder")
    parser.add_argument("--unpack", metavar="SHARDS", help="write the shards of this folder as text")
    parser.add_argument("--split", choices=SPLITS, help="with --unpack: this split alone")
    arguments = parser.parse_args(argv)
    return run_cleanly(PROGRAM, lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    named = {split: tuple(getattr(arguments, split)) for split in SPLITS}
    if arguments.unpack:
        if arguments.annotations or any(named.values()):
            raise ValueError("--unpack takes one folder of shards, and no files of annotations")
        num_rows = unpack(Path(arguments.unpack), arguments.out, FOUR_PLAYERS, arguments.split)
        print(f"{num_rows:,} decisions written to {arguments.out}", file=sys.stderr)
        return 0
    if arguments.split:
        raise ValueError("--split goes with --unpack; to name files as a split use --train, --validation, --test")
    if any(named.values()) and arguments.annotations:
        raise ValueError("files are either split by game, or named as splits: name all of them, or none")
    sources = named if any(named.values()) else tuple(arguments.annotations)
    if not sources:
        raise ValueError("no files of annotations given")
    packing = Packing(_fractions(arguments.fractions), arguments.rows_per_shard, arguments.seed)
    tally = pack(sources, Path(arguments.out), FOUR_PLAYERS, packing, force=arguments.force)
    _report(tally, Path(arguments.out))
    return 0


@dataclass(frozen=True, slots=True)
class Packing:
    """How rows are split, shuffled and shared out."""

    fractions: tuple[float, float, float] = (0.9, 0.05, 0.05)
    rows_per_shard: int = 1_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        if any(share < 0 for share in self.fractions) or abs(sum(self.fractions) - 1) > 1e-6:
            raise ValueError(f"fractions must be three shares that sum to 1, not {self.fractions}")
        if not 1 <= self.rows_per_shard <= 10_000_000:  # offsets into a column of tokens have 32 bits
            raise ValueError(f"rows per shard must be in 1 ... 10,000,000, not {self.rows_per_shard}")
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative, not {self.seed}")


@dataclass(slots=True)
class Tally:
    """What was packed, by split."""

    rows: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    split_of_game: dict[int, str] = field(default_factory=dict)

    @property
    def games(self) -> Counter[str]:
        return Counter(self.split_of_game.values())


def pack(
    sources: Sequence[str] | dict[str, tuple[str, ...]],
    folder: Path,
    vocabulary: Vocabulary,
    packing: Packing = Packing(),  # noqa: B008 (frozen)
    *,
    force: bool = False,
) -> Tally:
    """Writes the shards of annotation files into `folder`, which gets all of them or none.

    Args:
        sources: files to be split by game, or whole files by split.
        force: replace shards that are there.

    Raises:
        ValueError: a line is wrong ("file:line: …"), a game is in two splits, or there is nothing to pack.
    """
    from kanachan.shards import splits_in

    old = [path for paths in splits_in(folder).values() for path in paths]
    if old and not force:
        raise ValueError(f"{folder}: holds shards already ({old[0].name} …); --force replaces them")
    tally = Tally()
    with _temporary_folder(folder) as temporary:
        runs = _write_runs(sources, temporary, vocabulary, packing, tally)
        made = _account(sources, packing, tally)
        new = []
        for split in runs:
            new += _write_split(split, runs[split], temporary, vocabulary, packing, tally, made)
        for path in old:
            path.unlink()
        for path in new:
            path.rename(folder / path.name)
    return tally


def unpack(folder: Path, out: str, vocabulary: Vocabulary, split: str | None = None) -> int:
    """Writes a split, or all that are there, as annotation text; returns the number of lines.

    The id of a game becomes 16 hexadecimal digits, the key that stands for it in the shards.
    """
    import numpy as np

    from annotate.annotation import format_line
    from annotate.files import writing_text
    from kanachan.columns import annotations_of_columns
    from kanachan.shards import open_shards, splits_in

    opened = [open_shards(folder, name, vocabulary) for name in ([split] if split else splits_in(folder) or SPLITS[:1])]
    with writing_text(out) as text:
        for shards in opened:
            for first in range(0, len(shards), 10_000):
                rows = np.arange(first, min(first + 10_000, len(shards)))
                annotations = annotations_of_columns(shards.gather(rows, vocabulary))
                text.writelines(f"{format_line(annotation)}\n" for annotation in annotations)
    return sum(map(len, opened))


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """A folder inside `folder` that is gone afterwards; so is `folder` if it was made for nothing."""
    was_there = folder.exists()
    temporary = folder / f".{PROGRAM}.{os.getpid()}.part"
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary)
        if not was_there and not any(folder.iterdir()):
            folder.rmdir()


def _write_runs(
    sources: Sequence[str] | dict[str, tuple[str, ...]],
    temporary: Path,
    vocabulary: Vocabulary,
    packing: Packing,
    tally: Tally,
) -> dict[str, list[Path]]:
    from tqdm import tqdm

    from kanachan.lines import parse_block, read_blocks

    named = sources if isinstance(sources, dict) else {"": tuple(sources)}
    paths = [(split, path) for split in named for path in named[split]]
    num_bytes = sum(os.path.getsize(path) for _, path in paths if path != "-")
    runs: dict[str, list[Path]] = {}
    waiting: list[pa.RecordBatch] = []
    with tqdm(total=num_bytes or None, unit="B", unit_scale=True, desc="reading", disable=None) as bar:
        for split, path in paths:
            for line, block in read_blocks(path, bar.update):
                rows, games = parse_block(path, line, block, vocabulary)
                _assign(path, games, split, packing, tally)
                waiting.append(_keyed(rows, packing.seed))
                if sum(batch.num_rows for batch in waiting) >= packing.rows_per_shard:
                    _write_run(waiting, temporary, tally, runs)
                    waiting.clear()
        if waiting:
            _write_run(waiting, temporary, tally, runs)
    if not runs:
        raise ValueError(f"there is no annotation in {', '.join(path for _, path in paths)}")
    return {split: runs[split] for split in SPLITS if split in runs}


def _assign(path: str, games: list[str], split: str, packing: Packing, tally: Tally) -> None:
    """Notes the split of each game; `split` is empty if the game's hash decides."""
    from kanachan.columns import game_key

    for game in games:
        key = game_key(game)
        side = split or _split_of_key(key, packing.fractions)
        if tally.split_of_game.setdefault(key, side) != side:
            raise ValueError(
                f"{path}: the game {game} is in the {side} split and in the {tally.split_of_game[key]} split; "
                "what is learnt of it would be asked again"
            )


def _split_of_key(key: int, fractions: tuple[float, float, float]) -> str:
    position = key / 2**64
    if position < fractions[0]:
        return "train"
    return "validation" if position < fractions[0] + fractions[1] or fractions[2] == 0 else "test"


def _keyed(rows: "pa.RecordBatch", seed: int) -> "pa.RecordBatch":
    """Adds the key: a hash of the row's content and the seed, so that equal keys are equal rows."""
    import numpy as np
    import pyarrow as pa

    key_B = _mixed(rows["game"].to_numpy() ^ _mixed(np.array([seed], np.uint64)))
    for number, name in enumerate(("sparse", "progression", "actions")):
        starts = rows[name].offsets.to_numpy()
        token = rows[name].values.to_numpy().astype(np.uint64)
        place = np.arange(len(token)) - np.repeat(starts[:-1], np.diff(starts))
        token ^= (place.astype(np.uint64) << np.uint64(16)) | np.uint64(number << 32)
        key_B = _mixed(key_B + np.add.reduceat(_mixed(token), starts[:-1]))
    numbers = [rows["chosen"].to_numpy()[:, None]]
    numbers += [rows[n].values.to_numpy().reshape(rows.num_rows, -1) for n in ("numeric", "results")]
    for column in np.concatenate(numbers, axis=1).T:
        key_B = _mixed(key_B + column.astype(np.uint64))
    return rows.append_column("key", pa.array(key_B))


def _mixed(x: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    """SplitMix64's finaliser: every bit of the result depends on every bit of `x`."""
    import numpy as np

    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _write_run(waiting: list["pa.RecordBatch"], temporary: Path, tally: Tally, runs: dict[str, list[Path]]) -> None:
    """Sorts the waiting rows and writes them to one file for each split."""
    import numpy as np
    import pyarrow as pa

    rows = pa.Table.from_batches(waiting).combine_chunks()
    games, game_B = np.unique(rows["game"].to_numpy(), return_inverse=True)
    split_B = np.array([SPLITS.index(tally.split_of_game[game]) for game in games.tolist()])[game_B]
    by_key = np.argsort(rows["key"].to_numpy(), kind="stable")
    for number, split in enumerate(SPLITS):
        chosen = by_key[split_B[by_key] == number]
        if len(chosen):
            path = temporary / f"{split}-{len(runs.get(split, []))}.run"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as stream:
                stream.write_batch(rows.take(pa.array(chosen)).combine_chunks().to_batches()[0])
            runs.setdefault(split, []).append(path)
            tally.rows[split] += len(chosen)


def _write_split(
    split: str,
    runs: list[Path],
    temporary: Path,
    vocabulary: Vocabulary,
    packing: Packing,
    tally: Tally,
    made: dict[str, Any],
) -> list[Path]:
    """Merges the runs: each shard is the rows whose keys lie in one of equal ranges."""
    import numpy as np
    import pyarrow as pa
    from tqdm import tqdm

    from kanachan.shards import write_shard

    opened = [pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0) for path in runs]
    num_ranges = -(-tally.rows[split] // packing.rows_per_shard)
    limits = np.array([2**64 * i // num_ranges for i in range(1, num_ranges)], np.uint64)
    cuts = [np.concatenate([[0], np.searchsorted(b["key"].to_numpy(), limits), [b.num_rows]]) for b in opened]
    filled = [i for i in range(num_ranges) if any(cut[i + 1] > cut[i] for cut in cuts)]
    paths = []
    for number, i in enumerate(tqdm(filled, desc=f"writing {split}", unit="shard", disable=None)):
        parts = [b.slice(cut[i], cut[i + 1] - cut[i]) for b, cut in zip(opened, cuts, strict=True)]
        rows = pa.Table.from_batches(parts).combine_chunks()
        key = rows["key"].to_numpy()
        order = np.argsort(key, kind="stable")
        tally.repeated[split] += int((np.diff(key[order]) == 0).sum())
        batch = rows.drop_columns("key").take(pa.array(order)).combine_chunks().to_batches()[0]
        paths.append(write_shard(temporary, split, number, len(filled), batch, vocabulary, made))
    return paths


def _account(sources: Sequence[str] | dict[str, tuple[str, ...]], packing: Packing, tally: Tally) -> dict[str, Any]:
    """How the data were made, kept in every shard."""
    return {
        "sources": {split: list(files) for split, files in sources.items()}
        if isinstance(sources, dict)
        else list(sources),
        "splits": "by file" if isinstance(sources, dict) else list(packing.fractions),
        "seed": packing.seed,
        "decisions": dict(tally.rows),
        "games": dict(tally.games),
        "version": version("kanachan"),
    }


def _report(tally: Tally, folder: Path) -> None:
    for split in SPLITS:
        if not tally.rows[split]:
            print(f"{PROGRAM}: warning: the {split} split is empty", file=sys.stderr)
    repeated = sum(tally.repeated.values())
    if repeated:
        print(f"{PROGRAM}: warning: {repeated:,} decisions are repetitions (a file given twice?)", file=sys.stderr)
    print(f"{'split':<12}{'decisions':>14}{'games':>12}")
    for split in SPLITS:
        print(f"{split:<12}{tally.rows[split]:>14,}{tally.games[split]:>12,}")
    print(f"{'all':<12}{sum(tally.rows.values()):>14,}{len(tally.split_of_game):>12,}  in {folder}")


def _fractions(text: str) -> tuple[float, float, float]:
    try:
        train, validation, test = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--fractions must be three numbers such as 0.9,0.05,0.05, not {text!r}") from None
    return train, validation, test
