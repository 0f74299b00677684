"""Writes games to shards one at a time, for kanachan-annotate --pack and kanachan-selfplay; runs can be resumed.

The processes that replay or play games also compute the columns and keys of their decisions; the process that collects
them only sorts. Rows, order and splits are the same as from kanachan-pack with the same annotations as text.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from annotate.annotation import Annotation
from annotate.game.results import GameSummary
from annotate.pipeline.outputs import Encode, Output
from annotate.runtime.files import require_folder
from annotate.runtime.journal import RESTART, hash_of_sources
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import columns_of_annotations
from kanachan.data.dataset_card import README_NAME
from kanachan.data.merge import Merge
from kanachan.data.pack_options import Packing, Tally
from kanachan.data.shard_file import FORMAT_VERSION
from kanachan.data.shard_folder import ROUNDS, names_in, require_finished, require_no_shards
from kanachan.data.shards import publish_shards
from kanachan.data.sorted_runs import Runs, encode_game, keyed_schema


def encode_rows(
    annotations: Sequence[Annotation],
    summary: GameSummary | None,
    seed: int,
    vocabulary: Vocabulary,
    log_probability: Sequence[float | None] | None = None,
) -> bytes:
    """Encodes the keyed rows of a game and its rounds (`kanachan.data.sorted_runs.encode_game`); returns nothing if
    there are no rows. `seed`: seed for the order of rows."""
    if not annotations:
        return b""
    assert summary is not None
    columns = columns_of_annotations(annotations, vocabulary, log_probability)
    return encode_game(columns, summary, seed, vocabulary)


class ShardOutput(Output):
    """Writes shards of decisions of one vocabulary to a temporary folder, then publishes them. Raises ValueError if
    `folder` is a file, if another run into it is not finished, or if it holds shards, `force` is not given and no run
    is resumed.

    Args:
        journal: path of the run's journal in `folder`; the journal's folder is the temporary folder.
        sources: sources of the decisions.
        optional: the optional columns of the decisions (`kanachan.data.shards.OPTIONAL`).
        by: names of the players whose decisions are written, if not all.
        force: replace existing shards.
        restart: discard the data of an interrupted run.
    """

    seconds_between_saves = 30.0
    """time between saves; every save writes a run, so this bounds the number of runs"""

    def __init__(
        self,
        folder: Path,
        journal: str,
        packing: Packing,
        sources: list[str],
        vocabulary: Vocabulary,
        *,
        optional: Sequence[str],
        by: Sequence[str] = (),
        force: bool,
        restart: bool,
    ) -> None:
        require_folder(folder / ROUNDS)
        self.name = str(folder)
        self.journal: Path = folder / journal
        self.left_out: Path | None = folder / "left-out.txt"
        self.settings: dict[str, Any] = {
            "output": f"shards, format {FORMAT_VERSION}",
            "writer of shards": hash_of_sources(Path(__file__).parent.glob("*.py")),
            "fractions": packing.fractions,
            "rows per shard": packing.rows_per_shard,
            "seed": packing.seed,
        }
        self.encode: Encode = partial(encode_rows, seed=packing.seed, vocabulary=vocabulary)
        self._vocabulary = vocabulary
        self._folder, self._packing, self._sources, self._by = folder, packing, sources, list(by)
        self._temporary = self.journal.parent
        self._schema = keyed_schema(vocabulary, optional)
        self._is_new_folder = not folder.exists()
        require_finished(folder, own=self.journal)
        if not force and (restart or not self.journal.exists()):
            require_no_shards(folder)

    def begin(self, saved: dict[str, Any] | None) -> None:
        self.runs = Runs(self._temporary, self._packing.rows_per_shard)
        if saved is not None:
            self.runs.add_files(saved)
        files = [*self.runs.files.values(), *self.runs.round_files.values()]
        saved_paths = {self._temporary / name for of_split in files for name in of_split}
        for path in saved_paths:
            if not path.exists():
                raise ValueError(f"{path}: this file of the interrupted run is missing; {RESTART}")
        self._clear(saved_paths)

    def write(self, data: bytes) -> None:
        if data:
            self.runs.add_game(data, self._schema, self._packing.fractions, self._vocabulary)

    def save(self) -> dict[str, Any]:
        self.runs.flush()
        return self.runs.as_json()

    def publish(self, saved: dict[str, Any]) -> None:
        self._tally = self.publish_shards(saved, {"by": self._by} if self._by else {})

    def report(self) -> None:
        self._tally.report("kanachan-annotate", self._folder, self._packing.fractions)

    def publish_shards(self, saved: dict[str, Any], more: dict[str, Any]) -> Tally:
        """Publishes the saved games; `more` belongs to the description of the data's origin."""
        self.begin(saved)
        merge = Merge(self.runs, self._vocabulary, self._packing)
        new = merge.write(self._temporary, self._sources, list(self._packing.fractions), more)
        publish_shards(self._temporary, new, names_in(self._folder), self._folder)
        return merge.tally

    def discard(self) -> None:
        self._clear(set())

    def _clear(self, but: set[Path]) -> None:
        patterns = ("*.run", "*.arrow", "*.part", f"{ROUNDS}/*.arrow", f"{ROUNDS}/*.part", README_NAME)
        for path in {path for pattern in patterns for path in self._temporary.glob(pattern)} - but:
            path.unlink()

    def close(self) -> None:
        """Removes the temporary folder, and a new output folder, if they are empty."""
        folders = [self._temporary / ROUNDS, self._temporary, *([self._folder] if self._is_new_folder else [])]
        for folder in folders:
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
