"""The file of a shard: an Arrow IPC stream of one record batch, described in its metadata under "kanachan".

`datasets.Dataset.from_file` can open it. Decisions (`kanachan.data.shards`) and rounds (`kanachan.data.round_shards`)
are stored in such files.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from annotate.runtime.files import replacing
from annotate.vocabulary import Vocabulary, known_vocabularies, vocabulary_with
from kanachan.data.columns import Ragged
from kanachan.data.shard_folder import shard_name

FORMAT_VERSION = 1
_METADATA_KEY = b"kanachan"
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def rows_of(columns: object, schema: pa.Schema) -> pa.RecordBatch:
    """Returns columns, which are attributes of an object, as rows."""
    arrays = [_array(getattr(columns, field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: Ragged | NDArray[np.generic], type_: pa.DataType) -> pa.Array:
    if isinstance(column, Ragged):
        return pa.ListArray.from_arrays(column.starts.astype(np.int32), pa.array(column.values), type=type_)
    if not pa.types.is_fixed_size_list(type_):
        return pa.array(column, type_)
    values = pa.array(np.ascontiguousarray(column).reshape(-1), type_.value_type)
    return pa.FixedSizeListArray.from_arrays(values, type=type_)


def write_shard_file(
    folder: Path,
    split: str,
    number: int,
    of: int,
    rows: pa.RecordBatch,
    checksum: str,
    vocabulary: Vocabulary,
    made: dict[str, Any],
) -> Path:
    """Writes shard `number` of `of` of a split; the file gets its name only when it is complete. Makes the folder if
    there is none. `made`: description of the data's origin, as JSON values; stored in every shard."""
    description = {
        "format_version": FORMAT_VERSION,
        "vocabulary": vocabulary.name,
        "fingerprint": vocabulary.fingerprint,
        "split": split,
        "shard": number,
        "shards": of,
        "rows": rows.num_rows,
        "checksum": checksum,
        "made": made,
    }
    path = folder / shard_name(split, number)
    described = rows.schema.with_metadata({_METADATA_KEY: json.dumps(description).encode()})
    with replacing(path) as temporary, pa.OSFile(str(temporary), "wb") as file:
        with pa.ipc.new_stream(file, described) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays(rows.columns, schema=described))
    return path


def open_shard_file(path: Path) -> tuple[dict[str, Any], pa.RecordBatch]:
    """Maps a file into memory and returns its description and rows. Raises ValueError, naming the file, if it is cut
    off, of another format version or vocabulary, or not a shard."""
    try:
        with pa.ipc.open_stream(pa.memory_map(str(path))) as stream:
            description = _description(path, stream.schema)
            batches = list(stream)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a shard, or cut off ({error})") from None
    with open(path, "rb") as file:
        file.seek(-len(_END_OF_STREAM), 2)
        is_whole = file.read() == _END_OF_STREAM
    if len(batches) != 1 or not is_whole or batches[0].num_rows != description["rows"]:
        raise ValueError(f"{path}: cut off: {description['rows']} rows and the end of the stream expected")
    return description, batches[0]


def open_shard_files(split: str, paths: list[Path]) -> list[tuple[dict[str, Any], pa.RecordBatch]]:
    """Maps all files of a split into memory, in order. Raises ValueError like `open_shard_file`, or if they are not all
    shards of the split or were not packed together."""
    opened = [open_shard_file(path) for path in paths]
    for number, (path, (description, _)) in enumerate(zip(paths, opened, strict=True)):
        if (description["split"], description["shard"]) != (split, number):
            raise ValueError(f"{path}: its metadata name shard {description['shard']} of {description['split']!r}")
        if description["shards"] != len(paths) or description["made"] != opened[0][0]["made"]:
            raise ValueError(
                f"{path}: is one of {description['shards']} shards that were packed together, but the folder contains "
                f"{len(paths)}, or shards that were packed separately"
            )
    return opened


def _description(path: Path, found: pa.Schema) -> dict[str, Any]:
    metadata = found.metadata or {}
    if _METADATA_KEY not in metadata:
        raise ValueError(f"{path}: an Arrow file, but not a shard made by kanachan-pack")
    description: dict[str, Any] = json.loads(metadata[_METADATA_KEY])
    if description["format_version"] != FORMAT_VERSION:
        raise ValueError(
            f"{path}: format version {description['format_version']}, this program reads {FORMAT_VERSION}; pack the "
            "annotations again"
        )
    if vocabulary_with(description["vocabulary"], description["fingerprint"]) is None:
        raise ValueError(
            f"{path}: packed with the vocabulary {description['vocabulary']} {description['fingerprint']}, but this "
            f"program's is {known_vocabularies()}; annotate and pack the records again"
        )
    return description
