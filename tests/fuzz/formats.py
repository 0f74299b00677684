"""The formats of records taken apart into trees that can be damaged, and put together again. Nothing is checked."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.trees import Deep, Original, Tree, damaged_bytes

_TAG = re.compile(r"<(\w+)([^<>]*?)\s*/?>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_MEMBER = re.compile(r'"\w+": ?(?:-?\d+|"[^"\\]*"|true|false|null)')
_DEEP = "\x00deep\x00"


@dataclass(frozen=True)
class Format:
    """How the files of one reader are taken apart and put together."""

    name: str
    parse: Callable[[bytes], Tree]
    write: Callable[[Tree], bytes]
    is_json: bool = False

    def damage(self, original: Original, donor: Original, rng: random.Random) -> bytes:
        """A damaged copy of a record."""
        kind = rng.random()
        if kind >= 0.88:
            return damaged_bytes(self.write(original.tree), self.write(donor.tree), rng)
        data = self.write(original.damaged(donor.tree, rng))
        if self.is_json and rng.random() < 0.03:
            return _member_twice(data, rng)
        return damaged_bytes(data, data, rng) if kind < 0.02 else data


def _member_twice(data: bytes, rng: random.Random) -> bytes:
    """Repeats a member of an object, with another value."""
    text = data.decode("utf-8", "surrogatepass")
    found = list(_MEMBER.finditer(text))
    if not found:
        return data
    member = rng.choice(found)
    name = member[0].partition(":")[0]
    value = rng.choice(found)[0].partition(":")[2]
    return f"{text[: member.start()]}{name}:{value},{text[member.start() :]}".encode("utf-8", "surrogatepass")


def _json_text(tree: Tree) -> str:
    deep: list[str] = []

    def instead(value: Any) -> str:
        if not isinstance(value, Deep):
            return repr(value)
        deep.append(value.text)
        return _DEEP

    text = json.dumps(tree, default=instead, separators=(",", ":"))
    for one in deep:
        text = text.replace(json.dumps(_DEEP), one, 1)
    return text


def _write_json(tree: Tree) -> bytes:
    return _json_text(tree).encode()


def _parse_lines(data: bytes) -> Tree:
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def _write_lines(tree: Tree) -> bytes:
    lines = tree if isinstance(tree, list) else [tree]
    return "".join(f"{_json_text(line)}\n" for line in lines).encode()


def _parse_xml(data: bytes) -> Tree:
    elements = [[tag[1], [list(pair) for pair in _ATTRIBUTE.findall(tag[2])]] for tag in _TAG.finditer(data.decode())]
    return [element for element in elements if element[0] != "mjloggm"]


def _write_xml(tree: Tree) -> bytes:
    elements = "".join(map(_element, tree if isinstance(tree, list) else [tree]))
    return f'<mjloggm ver="2.3">{elements}</mjloggm>'.encode("utf-8", "surrogatepass")


def _element(element: Any) -> str:
    if not isinstance(element, list):
        return _written(element)
    tag, *rest = element or [""]
    attributes = rest[0] if rest and isinstance(rest[0], list) else []
    pairs = [pair if isinstance(pair, list) else [pair] for pair in attributes]
    text = "".join(f' {_written(pair[0] if pair else "")}="{",".join(map(_written, pair[1:]))}"' for pair in pairs)
    return f"<{_written(tag)}{text}/>"


def _written(value: Any) -> str:
    if isinstance(value, Deep):
        return "<a>" * value.depth + "</a>" * value.depth
    return value if isinstance(value, str) else f"{value}"


_VARINT, _EIGHT, _LENGTHY, _FOUR = 0, 1, 2, 5
_MOST_DEPTH = 12


def _parse_wire(data: bytes) -> Tree:
    skipped = 3 if data[:1] == b"\x03" else 0
    return [data[:skipped], _fields(data[skipped:], 0)]


def _fields(data: bytes, depth: int) -> Tree:
    """The fields of a message; `data` itself where it is none."""
    fields: list[Any] = []
    place = 0
    try:
        while place < len(data):
            key, place = _read_varint(data, place)
            number, kind = key >> 3, key & 7
            value: Any
            if kind == _VARINT:
                value, place = _read_varint(data, place)
            elif kind == _LENGTHY:
                length, place = _read_varint(data, place)
                value, place = data[place : place + length], place + length
                if place > len(data):
                    return data
                is_text = value.isascii() and value.decode("ascii").isprintable()
                value = value if is_text or depth == _MOST_DEPTH else _fields(value, depth + 1)
            else:
                return data
            if number == 0:
                return data
            fields.append([number, kind, value])
    except IndexError:
        return data
    return fields


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return value, place


def _write_wire(tree: Tree) -> bytes:
    if not isinstance(tree, list):
        return _value_bytes(tree)
    return b"".join(map(_value_bytes, tree))


def _value_bytes(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join(map(_field_bytes, value))
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):
        return _varint(value)
    return str(value).encode("utf-8", "surrogatepass") if not isinstance(value, Deep) else b"\x12\x02" * value.depth


def _field_bytes(field: Any) -> bytes:
    if not isinstance(field, list) or len(field) != 3 or not isinstance(field[0], int) or not isinstance(field[1], int):
        return _value_bytes(field)
    number, kind, value = field
    data = _varint(number << 3 | kind & 7)
    if kind == _VARINT and isinstance(value, int):
        return data + _varint(value)
    content = _value_bytes(value)
    return data + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    value &= (1 << 80) - 1 if value >= 1 << 64 else (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


FORMATS = {
    one.name: one
    for one in (
        Format("mjlog", _parse_xml, _write_xml),
        Format("mjai", _parse_lines, _write_lines, is_json=True),
        Format("majsoul", _parse_wire, _write_wire),
        Format("majsoul-json", json.loads, _write_json, is_json=True),
        Format("tenhou-json", json.loads, _write_json, is_json=True),
    )
}
