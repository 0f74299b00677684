"""JSON that says one thing: no name twice in an object. Readers of records take nothing else."""

import json
from typing import Any


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON, is nested too deeply, or an object has a name twice: which of the two values is
            meant cannot be known.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def objects_of(line: str) -> list[str]:
    """The texts of a line's objects, of which there are several where a file without a last line feed was put before
    another; what is no object stays as it is."""
    if "}{" not in line:  # which may stand in a name, too
        return [line]
    parts, place = list[str](), 0
    while place < len(line):
        try:
            end = _DECODER.raw_decode(line, place)[1]
        except (ValueError, RecursionError):
            end = line.find("}{", place) + 1 or len(line)
        parts.append(line[place:end])
        place = end
    return parts


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {ascii(name)[:40]} twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
