"""Parses JSON strictly: an object with a repeated name is refused."""

import json
from typing import Any


def parse_json(text: str) -> Any:
    """Parses a JSON text. Raises ValueError if it is not JSON, is nested too deeply, or an object has a name twice, so
    that the name's value is ambiguous."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def objects_of(line: str) -> list[str]:
    """Splits a line into the texts of its objects. There are several if a file without a final line feed was
    concatenated with another. Anything else is returned unchanged."""
    if "}{" not in line:  # "}{" may also be part of a name
        return [line]
    parts, place = list[str](), 0
    while place < len(line):
        end = end_of_value(line, place) or line.find("}{", place) + 1 or len(line)
        parts.append(line[place:end])
        place = end
    return parts


def end_of_value(text: str, start: int) -> int | None:
    """Returns the end of the JSON value that starts at `start` in a text, None if there is none."""
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {ascii(name)[:40]} twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
