"""Decisions given as lines, annotations or rows of shards are the same decisions."""

from pathlib import Path

import pyarrow as pa
import pytest

from annotate.annotation import Annotation, format_line
from annotate.vocabulary import FOUR_PLAYERS
from annotate.words import describe
from kanachan.data.columns import columns_of_annotations, game_key
from kanachan.data.decisions import Rows, annotations_of, describe_row, observations_of
from kanachan.data.shards import rows_of_columns
from tests.support.packed import packed
from tests.support.random_annotations import altered, random_annotations

ANNOTATIONS = random_annotations(5, seed=1)
BATCH = rows_of_columns(columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS), FOUR_PLAYERS)
KEYED = [a._replace(game=f"{game_key(a.game):016x}") for a in ANNOTATIONS]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([format_line(a) for a in ANNOTATIONS], ANNOTATIONS),
        (ANNOTATIONS, ANNOTATIONS),
        (BATCH, KEYED),
        (pa.Table.from_batches([BATCH]), KEYED),
        (BATCH.slice(2, 3), KEYED[2:]),
        (BATCH.to_pydict(), KEYED),
        (BATCH.to_pylist(), KEYED),
        (BATCH.to_pylist()[0], KEYED[:1]),
        (format_line(ANNOTATIONS[0]), ANNOTATIONS[:1]),
        (ANNOTATIONS[0], ANNOTATIONS[:1]),
        ({}, []),
        ({name: [] for name in BATCH.schema.names}, []),
    ],
    ids="lines annotations batch table slice columns rows row line annotation nothing no-rows".split(),
)
def test_every_form_holds_the_same_decisions(rows: Rows, expected: list[Annotation]) -> None:
    assert annotations_of(rows) == expected
    assert observations_of(rows, FOUR_PLAYERS) == [a.observation for a in expected]


@pytest.mark.parametrize("format", ["numpy", "torch"])
def test_rows_of_datasets_may_be_arrays_or_tensors(format: str, tmp_path: Path) -> None:
    from datasets import Dataset

    plain = Dataset.from_file(str(packed(tmp_path / "shards", train=5) / "train-00000.arrow"))
    expected = observations_of(plain, FOUR_PLAYERS)
    dataset = plain.with_format(format, columns=["sparse", "numeric", "progression", "actions"])
    assert len(expected) == 5
    assert observations_of(dataset[:5], FOUR_PLAYERS) == observations_of(dataset, FOUR_PLAYERS) == expected


def test_a_row_has_the_same_description_as_its_annotation() -> None:
    assert describe_row(BATCH.to_pylist()[0]) == describe(KEYED[0], FOUR_PLAYERS)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["game\t1,2"], "line 1: 7 tab-separated fields expected"),
        ([format_line(ANNOTATIONS[0]), "x"], "line 2: 7 tab-separated"),
        ([{"sparse": [1]}], "row 1: the column 'numeric' is missing"),
        ({"game": 5}, "row 1: the column 'sparse' is missing"),
        ([ANNOTATIONS[0], altered(ANNOTATIONS[1], sparse=(600,))], r"row 2: field 1 \(sparse\), element 0: 600 is not"),
        ([BATCH.to_pylist()[0] | {"actions": None}], "row 1: the column 'actions' is not a list of integers: None"),
        ([BATCH.to_pylist()[0] | {"numeric": [1.5] * 6}], "row 1: the column 'numeric' is not a list of integers"),
        (BATCH.to_pydict() | {"actions": [[1]]}, "the columns have different numbers of rows: .*'actions': 1"),
        ([17], "row 1: an annotation line or a row of a shard expected, not int"),
    ],
)
def test_an_invalid_decision_is_refused_with_its_number(rows: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        observations_of(rows, FOUR_PLAYERS)
