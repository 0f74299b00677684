from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS, known_vocabularies
from kanachan.data.columns import columns_of_annotations
from kanachan.data.shards import open_shards, schema, write_shard
from kanachan.data.text import parse_block
from tests.support.packed import assert_equal_columns
from tests.support.random_annotations import random_annotations

V = FOUR_PLAYERS
MADE = {"sources": ["made up"], "seed": 0}


def rows_of(n: int, seed: int) -> pa.RecordBatch:
    text = "".join(f"{format_line(a)}\n" for a in random_annotations(n, seed))
    return parse_block("made up", 1, text.encode(), V)[0]


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


def test_one_file_is_gathered_the_same_way(tmp_path: Path) -> None:
    write_shard(tmp_path, "test", 0, 1, rows_of(40, seed=3), V, MADE)
    rows = np.random.default_rng(0).permutation(40)
    annotations = random_annotations(40, seed=3)
    gathered = open_shards(tmp_path, "test").gather(rows)
    assert_equal_columns(gathered, columns_of_annotations([annotations[row] for row in rows], V))


def test_selected_rows_are_a_split_of_their_own(folder: Path) -> None:
    shards = open_shards(folder, "train")
    chosen = np.array([3, 39, 40, 41, 60])
    selected = shards.select(chosen)
    assert len(selected) == 5 and selected.checksum not in (shards.checksum, shards.select(chosen[:4]).checksum)
    assert_equal_columns(selected.gather(np.array([4, 1])), shards.gather(np.array([60, 39])))
    assert_equal_columns(selected.select(np.array([2, 3])).gather(np.arange(2)), shards.gather(np.array([40, 41])))
    assert np.array_equal(selected.num_events(np.arange(5)), shards.num_events(chosen))


def test_the_number_of_events_is_known_without_gathering(folder: Path) -> None:
    shards = open_shards(folder, "train")
    rows = np.random.default_rng(0).permutation(66)
    assert shards.num_events(rows).tolist() == shards.gather(rows).progression.lengths.tolist()


def test_a_shard_is_a_data_set_of_hugging_face(folder: Path) -> None:
    import datasets

    rows = datasets.Dataset.from_file(str(folder / "train-00000.arrow"))
    first = random_annotations(40, seed=0)[0]
    assert len(rows) == 40
    assert tuple(rows[0]["progression"]) == first.progression
    assert tuple(rows[0]["results"]) == first.results
    assert rows[0]["chosen"] == first.chosen


def test_another_fingerprint_is_refused_and_both_are_named(folder: Path) -> None:
    other = replace(V, num_round_results=20)
    write_shard(folder, "train", 0, 3, rows_of(40, seed=0), other, MADE)
    with pytest.raises(ValueError, match=f"train-00000.arrow.*{other.fingerprint}.*{V.fingerprint}"):
        open_shards(folder, "train")


def test_a_vocabulary_that_is_not_there_is_refused_in_one_line(folder: Path) -> None:
    other = replace(V, name="kanachan-5p")
    write_shard(folder, "train", 0, 3, rows_of(40, seed=0), other, MADE)
    with pytest.raises(ValueError) as error:
        open_shards(folder, "train")
    assert str(error.value) == (
        f"{folder / 'train-00000.arrow'}: packed with the vocabulary kanachan-5p {other.fingerprint}, but this "
        f"program's is {known_vocabularies()}; annotate and pack the records again"
    )


def test_shards_have_the_vocabulary_that_they_name(folder: Path) -> None:
    shards = open_shards(folder, "train")
    assert shards.vocabulary is V
    shards.require(V, "the weights")


def test_shards_and_weights_of_different_vocabularies_are_refused_together(folder: Path) -> None:
    other = replace(V, name="kanachan-5p")
    with pytest.raises(ValueError, match=f"^{folder}: the train split .* kanachan-4p .* of the weights is kanachan-5p"):
        open_shards(folder, "train").require(other, "the weights")


@pytest.mark.parametrize("bytes_lost", [1, 8, 100, 10_000])
def test_a_cut_off_shard_is_named(folder: Path, bytes_lost: int) -> None:
    path = folder / "train-00000.arrow"
    path.write_bytes(path.read_bytes()[:-bytes_lost])
    with pytest.raises(ValueError, match=r"train-00000\.arrow.*cut off"):
        open_shards(folder, "train")


def test_an_empty_file_is_named(folder: Path) -> None:
    (folder / "train-00002.arrow").write_bytes(b"")
    with pytest.raises(ValueError, match=r"train-00002\.arrow"):
        open_shards(folder, "train")


def test_a_missing_shard_is_noticed(folder: Path) -> None:
    (folder / "train-00002.arrow").unlink()
    with pytest.raises(ValueError, match="is one of 3 shards .* but the folder contains 2"):
        open_shards(folder, "train")


def test_shards_of_two_packings_do_not_mix(folder: Path) -> None:
    write_shard(folder, "train", 1, 3, rows_of(5, seed=9), V, MADE | {"seed": 1})
    with pytest.raises(ValueError, match=r"train-00001\.arrow.*another packing"):
        open_shards(folder, "train")


def test_a_missing_split_is_an_error_that_names_what_is_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no shards of the split 'test'; there are: train"):
        open_shards(folder, "test")
    with pytest.raises(ValueError, match="kanachan-pack"):
        open_shards(tmp_path / "nowhere", "train")


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


def test_an_arrow_file_of_another_program_is_refused(tmp_path: Path) -> None:
    with pa.ipc.new_stream(str(tmp_path / "train-00000.arrow"), schema(V)) as stream:
        stream.write_batch(rows_of(5, seed=0))
    with pytest.raises(ValueError, match="not a shard made by kanachan-pack"):
        open_shards(tmp_path, "train")
