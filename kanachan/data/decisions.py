"""Reads decisions in any form: annotation lines, parsed annotations, observations, or rows of shards.

A row of a shard is a mapping from column names to values, as `datasets` returns it. Several rows are a list of rows, a
mapping from names to lists, or an Arrow record batch or table. This module uses neither torch nor pyarrow.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import index
from typing import Any, Protocol, TypeVar

from annotate.annotation import (
    FIELDS,
    HIDDEN,
    Annotation,
    Observation,
    check,
    check_observation,
    parse_line,
    vocabulary_of_line,
    vocabulary_of_numbers,
)
from annotate.vocabulary import Vocabulary
from annotate.words import describe


class ArrowRows(Protocol):
    """A `pyarrow.RecordBatch` or `pyarrow.Table` in the columns of a shard."""

    def to_pylist(self) -> list[dict[str, Any]]: ...


Row = str | Annotation | Observation | Mapping[str, Any]
"""an annotation line, a parsed annotation, an observation (without action and results), or a row of a shard"""
ConvertedT = TypeVar("ConvertedT")
Rows = Row | Iterable[Row] | ArrowRows
"""one or several of these"""


def annotations_of(rows: Rows) -> list[Annotation]:
    """Returns the decisions in the same order, checked unless they were parsed before; the vocabulary of each decision
    is recognised by its numbers. In rows of shards, a game's id is its key as 16 hexadecimal digits. Raises ValueError,
    with the number of the row (from 1) and the reason, if a row is not a decision."""
    return _converted(rows, _annotation)


def observations_of(rows: Rows, vocabulary: Vocabulary) -> list[Observation]:
    """Returns the checked observations in the order of the rows, which need no other columns. Raises ValueError, with
    the number of the row (from 1) and the reason, if a row is not a decision of this vocabulary."""

    def observation(row: Row) -> Observation:
        if isinstance(row, str):
            return parse_line(row, vocabulary).observation
        found = row.observation if isinstance(row, Annotation) else row
        found = found if isinstance(found, Observation) else _observation_of_row(found)
        check_observation(found, vocabulary)
        return found

    return _converted(rows, observation)


def describe_row(row: Row) -> str:
    """Describes a decision on several lines, like kanachan-annotate --explain. Raises ValueError if it is not one."""
    (annotation,) = annotations_of(row)
    return describe(annotation, vocabulary_of_numbers(len(annotation.numeric)))


def _converted(rows: Rows, convert: Callable[[Row], ConvertedT]) -> list[ConvertedT]:
    found = []
    for number, row in enumerate(_each(rows), start=1):
        try:
            found.append(convert(row))
        except ValueError as error:
            raise ValueError(f"{'line' if isinstance(row, str) else 'row'} {number}: {error}") from None
    return found


def _each(rows: Rows) -> Iterator[Row]:
    if isinstance(rows, str | Annotation | Observation):
        yield rows
    elif isinstance(rows, Mapping):
        values = {name: _plain(column) for name, column in rows.items()}
        first = next(iter(values.get("sparse", [0] * len(values))), None)  # without this column one row, to be refused
        if isinstance(first, int):
            yield values
        else:
            lengths = {name: len(column) for name, column in values.items()}
            if len({*lengths.values()}) > 1:
                raise ValueError(f"the columns have different numbers of rows: {lengths}")
            yield from (dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True))
    elif hasattr(rows, "to_pylist"):
        yield from rows.to_pylist()
    else:
        yield from rows


def _annotation(row: Row) -> Annotation:
    if isinstance(row, str):
        return parse_line(row, vocabulary_of_line(row))
    if isinstance(row, Annotation):
        return row
    if isinstance(row, Observation):
        raise ValueError("an observation has neither an action taken nor results")
    found = Annotation(
        game=f"{_integer(row, 'game'):016x}",
        **_observation_of_row(row)._asdict(),
        chosen=_integer(row, "chosen"),
        results=_integers(row, "results"),
        hidden=None if row.get(HIDDEN) is None else _integers(row, HIDDEN),
    )
    check(found, vocabulary_of_numbers(len(found.numeric)))
    return found


def _observation_of_row(row: Mapping[str, Any]) -> Observation:
    return Observation(*(_integers(row, name) for name in Observation._fields))


def _integers(row: Mapping[str, Any], name: str) -> tuple[int, ...]:
    values = _plain(_value(row, name))
    try:
        return tuple(map(index, values))
    except TypeError:
        raise ValueError(f"the column {name!r} is not a list of integers: {str(values)[:80]}") from None


def _integer(row: Mapping[str, Any], name: str) -> int:
    try:
        return index(_value(row, name))
    except TypeError:
        raise ValueError(f"the column {name!r} is not an integer: {str(row[name])[:80]}") from None


def _value(row: Mapping[str, Any], name: str) -> Any:
    if not isinstance(row, Mapping):
        raise ValueError(f"an annotation line or a row of a shard expected, not {type(row).__name__}")
    if name not in row:
        raise ValueError(f"the column {name!r} is missing; a shard has {', '.join(FIELDS)}")
    return row[name]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
