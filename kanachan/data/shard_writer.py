"""Writes annotations directly to shards, for kanachan-annotate --pack.

The processes that replay the records also compute columns and keys of their annotations; the one that collects them
only sorts. Rows, their order and their splits equal those of kanachan-pack for the same annotations as text.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from annotate.annotation import Annotation
from annotate.game.results import GameSummary
from annotate.pipeline.journal import RESTART, hash_of_sources
from annotate.pipeline.outputs import Encode, Output
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import columns_of_annotations
from kanachan.data.dataset_card import CARD_NAME
from kanachan.data.external_sort import Merge, Runs, encode_game, keyed_schema
from kanachan.data.pack_options import UNFINISHED, Packing, Tally, require_folder
from kanachan.data.shard_file import FORMAT_VERSION
from kanachan.data.shard_folder import ROUNDS, names_in, require_no_shards
from kanachan.data.shards import publish_shards


def encode_rows(
    annotations: Sequence[Annotation], summary: GameSummary | None, seed: int, vocabulary: Vocabulary
) -> bytes:
    """Encodes the rows of a game, with keys, and its rounds; nothing if there are no rows."""
    if not annotations:
        return b""
    assert summary is not None
    return encode_game(columns_of_annotations(annotations, vocabulary), summary, seed, vocabulary)


class ShardOutput(Output):
    """A folder of shards."""

    seconds_between_saves = 30.0
    """a save writes a run, so this bounds the number of runs"""

    def __init__(
        self,
        folder: Path,
        packing: Packing,
        sources: list[str],
        vocabulary: Vocabulary,
        *,
        program: str,
        force: bool,
        hidden: bool,
        by: Sequence[str] = (),
        restart: bool = False,
    ) -> None:
        """Prepares the output of annotations of one vocabulary, with or without hidden hands; `by`: the names of the
        players whose decisions they are, if not all.

        Raises ValueError if `folder` is a file; or if it holds shards, `force` is not given and no run is resumed.
        """
        require_folder(folder / ROUNDS)
        self.name = str(folder)
        self.journal: Path | None = folder / UNFINISHED
        self.left_out: Path | None = folder / "left-out.txt"
        self.settings: dict[str, Any] = {
            "output": f"shards, format {FORMAT_VERSION}",
            "writer of shards": hash_of_sources(Path(__file__).parent.glob("*.py")),
            "records": sources,
            "fractions": packing.fractions,
            "rows per shard": packing.rows_per_shard,
            "seed": packing.seed,
        }
        self.encode: Encode = partial(encode_rows, seed=packing.seed, vocabulary=vocabulary)
        self._vocabulary = vocabulary
        self._folder, self._packing, self._sources, self._program = folder, packing, sources, program
        self._by = list(by)
        self._temporary = self.journal.parent
        self._schema = keyed_schema(vocabulary, hidden=hidden)
        self._is_new_folder = not folder.exists()
        if not force and (restart or not self.journal.exists()):
            require_no_shards(folder)

    def begin(self, saved: dict[str, Any] | None) -> None:
        self._runs = Runs(self._temporary, self._packing.rows_per_shard)
        if saved is not None:
            self._runs.add_files(saved)
        files = [*self._runs.files.values(), *self._runs.round_files.values()]
        saved_paths = {self._temporary / name for of_split in files for name in of_split}
        for path in saved_paths:
            if not path.exists():
                raise ValueError(f"{path}: this file of the interrupted run is missing; {RESTART}")
        patterns = ("*.run", "*.arrow", "*.part", f"{ROUNDS}/*.arrow", f"{ROUNDS}/*.part", CARD_NAME)
        left = [path for pattern in patterns for path in self._temporary.glob(pattern)]
        for path in {*left} - saved_paths:
            path.unlink()

    def write(self, data: bytes) -> None:
        if data:
            self._runs.add_game(data, self._schema, self._packing.fractions, self._vocabulary)

    def save(self) -> dict[str, Any]:
        self._runs.flush()
        return self._runs.as_json()

    def complete(self, saved: dict[str, Any]) -> dict[str, Any]:
        self.begin(saved)
        merge = Merge(self._runs, self._vocabulary, self._packing)
        more = {"by": self._by} if self._by else {}
        new = merge.write(self._temporary, self._sources, list(self._packing.fractions), more)
        return {"new": new, "old": names_in(self._folder), "tally": merge.tally.as_json()}

    def publish(self, completed: dict[str, Any]) -> None:
        publish_shards(self._temporary, completed["new"], completed["old"], self._folder)
        self.discard()
        Tally(**{name: Counter(counts) for name, counts in completed["tally"].items()}).report(
            self._program, self._folder
        )

    def discard(self) -> None:
        for path in self._temporary.glob("*.run"):
            path.unlink()

    def close(self) -> None:
        """Removes the temporary folder, and a new output folder, if they are empty."""
        folders = [self._temporary / ROUNDS, self._temporary, *([self._folder] if self._is_new_folder else [])]
        for folder in folders:
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
