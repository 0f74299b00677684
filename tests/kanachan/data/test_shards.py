from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.data.columns import columns_of_annotations
from kanachan.data.shard_file import write_shard_file
from kanachan.data.shards import open_shards, rows_of_columns, schema, write_shard
from kanachan.data.text import parse_block
from tests.support.packed import assert_equal_columns
from tests.support.random_annotations import random_annotations

V = FOUR_PLAYERS
MADE = {"sources": ["made up"], "seed": 0}


def rows_of(n: int, seed: int) -> pa.RecordBatch:
    text = "".join(f"{format_line(a)}\n" for a in random_annotations(n, seed))
    return rows_of_columns(parse_block("made up", 1, text.encode(), V)[0], V)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Shards of 40, 1 and 25 rows: the random annotations of seeds 0, 1 and 2."""
    for number, n in enumerate((40, 1, 25)):
        write_shard(tmp_path, "train", number, 3, rows_of(n, seed=number), V, MADE)
    return tmp_path


def test_rows_are_gathered_over_all_files_in_the_requested_order(folder: Path) -> None:
    annotations = [a for seed, n in enumerate((40, 1, 25)) for a in random_annotations(n, seed)]
    shards = open_shards(folder, "train")
    for rows in ([], [5], [40], [3, 2, 1, 3], np.random.default_rng(0).permutation(66).tolist()):
        gathered = shards.gather(np.array(rows, np.int64))
        assert_equal_columns(gathered, columns_of_annotations([annotations[row] for row in rows], V))


def test_selected_rows_are_a_split_of_their_own(folder: Path) -> None:
    shards = open_shards(folder, "train")
    chosen = np.array([3, 39, 40, 41, 60])
    selected = shards.select(chosen)
    assert len(selected) == 5 and selected.checksum not in (shards.checksum, shards.select(chosen[:4]).checksum)
    assert_equal_columns(selected.gather(np.array([4, 1])), shards.gather(np.array([60, 39])))
    assert_equal_columns(selected.select(np.array([2, 3])).gather(np.arange(2)), shards.gather(np.array([40, 41])))
    assert np.array_equal(selected.num_events(np.arange(5)), shards.num_events(chosen))


def test_shards_and_weights_of_different_vocabularies_are_refused_together(folder: Path) -> None:
    other = replace(V, name="kanachan-5p")
    with pytest.raises(ValueError, match=f"^{folder}: the train split .* kanachan-4p .* of the weights is kanachan-5p"):
        open_shards(folder, "train").require(other, "the weights")


def rewritten(folder: Path, number: int = 0, vocabulary: Vocabulary = V, num_rows: int = 40, **made: int) -> None:
    write_shard(folder, "train", number, 3, rows_of(num_rows, seed=0), vocabulary, MADE | made)


def cut(path: Path, length: int | None) -> None:
    path.write_bytes(path.read_bytes()[:length])


def of_another_program(folder: Path) -> None:
    with pa.ipc.new_stream(str(folder / "train-00000.arrow"), schema(V)) as stream:
        stream.write_batch(rows_of(5, seed=0))


def with_one_more_column(folder: Path) -> None:
    rows = rows_of(40, seed=0)
    more = rows.append_column(pa.field("wall", pa.uint16()), pa.array(range(40), pa.uint16()))
    write_shard_file(folder, "train", 0, 3, more, "0", V, MADE)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: rewritten(f, vocabulary=replace(V, num_round_results=20)), f"train-00000.arrow.*{V.fingerprint}"),
        (
            lambda f: rewritten(f, vocabulary=replace(V, name="kanachan-5p")),
            "with the vocabulary kanachan-5p .*this pr",
        ),
        (lambda f: cut(f / "train-00000.arrow", -1), r"train-00000\.arrow.*cut off"),
        (lambda f: cut(f / "train-00000.arrow", -10_000), r"train-00000\.arrow.*cut off"),
        (lambda f: cut(f / "train-00002.arrow", 0), r"train-00002\.arrow"),
        (lambda f: (f / "train-00002.arrow").unlink(), "is one of 3 shards .* but the folder contains 2"),
        (lambda f: rewritten(f, 1, num_rows=5, seed=1), r"train-00001\.arrow.*packed separately"),
        (of_another_program, "not a shard made by kanachan-pack"),
        (with_one_more_column, r"train-00000\.arrow: other columns than a shard has: .*'wall'.*again"),
    ],
)
def test_files_that_are_damaged_or_do_not_belong_together_are_refused(
    folder: Path, damage: Callable[[Path], None], words: str
) -> None:
    damage(folder)
    with pytest.raises(ValueError, match=words):
        open_shards(folder, "train")


def test_another_format_version_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanachan.data.shard_file.FORMAT_VERSION", 2)
    with pytest.raises(ValueError, match=r"train-00000\.arrow: format version 1, this program reads 2"):
        open_shards(folder, "train")


def test_verifying_finds_a_changed_byte(folder: Path) -> None:
    path = folder / "train-00000.arrow"
    open_shards(folder, "train", verify=True)
    changed = bytearray(path.read_bytes())
    place = len(changed) - 200  # among the results
    changed[place] ^= 1
    path.write_bytes(bytes(changed))
    open_shards(folder, "train")
    with pytest.raises(ValueError, match=r"train-00000\.arrow: .*checksum"):
        open_shards(folder, "train", verify=True)
