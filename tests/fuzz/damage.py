"""Damage done to records by hypothesis: to their parts, where a file can be taken apart, and to their bytes."""

import copy
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.support.writers.majsoul_writer import message

Tree = Any
"""nested dicts and lists with values at the leaves"""
_TAG, _ATTRIBUTE = re.compile(r"<(\w+)([^<>]*?)\s*/?>"), re.compile(r'(\w+)="([^"]*)"')
_NUMBERS = st.one_of(st.integers(-2, 140), st.sampled_from((10**3, 2**31, 2**32 - 1, 2**64, 10**30)))
_STEPS = st.sampled_from((1, -1, 2, 4, 36, 100, -100, 1000, -1000))
_TEXTS = st.sampled_from(("", "?", "0", "1z", "0m", "5mr", "E", "nan", "1e9", "١", "\ud800", "\x00", "\n", "a" * 999))
_ODD = st.one_of(_NUMBERS, _TEXTS, st.sampled_from((None, True, 1.5, float("nan"), 10**400)))
_CONTAINERS = st.sampled_from(("[]", "{}", "[[]]", '{"":{}}'))
_CUTS = st.one_of(st.just(1), st.integers(0, 400))


def _places(root: Tree) -> list[tuple[Any, Any]]:
    """For every value of a tree, its container and its key there."""
    found, waiting = [], [root]
    for holder in waiting:
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return found


def _altered(value: Any, draw: Any) -> Any:
    numbers = list(re.finditer(r"-?\d+", value)) if isinstance(value, str) else []
    if type(value) is bool:
        return not value
    if isinstance(value, int):
        return draw(st.one_of(st.builds(value.__add__, _STEPS), _NUMBERS, st.just(str(value))))
    if numbers:
        number = draw(st.sampled_from(numbers))
        return f"{value[: number.start()]}{_altered(int(number[0]), draw)}{value[number.end() :]}"
    if isinstance(value, (dict, list)):
        return json.loads(draw(_CONTAINERS))
    return draw(_ODD)


def _change(root: list[Tree], draw: Any) -> None:
    """Changes one part of a tree."""
    places = _places(root)
    if not places:
        return
    choice = places
    if not draw(st.integers(0, 2)):  # a field first, so that rare fields are damaged as well
        of_field: dict[str, list[tuple[Any, Any]]] = {}
        for holder, key in places:
            of_field.setdefault(key if isinstance(holder, dict) else "", []).append((holder, key))
        choice = of_field[draw(st.sampled_from(sorted(of_field)))]
    holder, key = choice[draw(st.integers(0, len(choice) - 1))]
    value = holder[key]
    alike = [h[k] for h, k in places if type(h[k]) is type(value) and (k == key or isinstance(holder, list))]
    other = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    kind = draw(st.sampled_from((*("alter", "alike", "swap all") * 3, "odd", "delete", "double", "swap")))
    if kind == "alter":
        holder[key] = _altered(value, draw)
    elif kind == "alike":
        holder[key] = copy.deepcopy(draw(st.sampled_from(alike)))
    elif kind == "odd":
        holder[key] = draw(_ODD)
    elif kind == "delete":
        del holder[key]
    elif kind == "double" and isinstance(holder, list):
        holder.insert(other, copy.deepcopy(value))
    elif kind == "swap all" and not isinstance(value, (dict, list)):  # everywhere: the record may stay possible
        second = draw(st.sampled_from(alike))
        for h, k in places:
            if type(h[k]) is type(value) and h[k] in (value, second):
                h[k] = second if h[k] == value else value
    else:
        holder[key], holder[other] = holder[other], holder[key]


@st.composite
def damaged_trees(draw: Any, trees: Sequence[Tree]) -> Tree:
    root = [copy.deepcopy(draw(st.sampled_from(trees)))]
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 4)))):
        _change(root, draw)
    return root[0] if root else None


@st.composite
def damaged_bytes(draw: Any, data: bytes) -> bytes:
    """The bytes, some of them changed, lost, doubled or made up."""
    for _ in range(draw(st.integers(1, 3))):
        place, length = draw(st.integers(0, len(data))), draw(_CUTS)
        span = data[place : place + length]
        new = draw(
            st.one_of(st.just(b""), st.just(span * 2), st.binary(max_size=4), st.sampled_from((b"0", b"9", b"<")))
        )
        data = data[:place] + new + data[place + len(span) :]
    return draw(st.sampled_from((data, data, data, data[: draw(st.integers(0, len(data)))], b"\xef\xbb\xbf" + data)))


def _xml_tree(data: bytes) -> Tree:
    return [[tag[1], dict(_ATTRIBUTE.findall(tag[2]))] for tag in _TAG.finditer(data.decode()) if tag[1] != "mjloggm"]


def _element(element: Any) -> str:
    tag, attributes = element if isinstance(element, list) and len(element) == 2 else (element, None)
    pairs = attributes.items() if isinstance(attributes, dict) else ()
    text = " ".join(f'{name}="{value}"' for name, value in pairs)
    return f"<{tag} {text}/>"


def _xml_bytes(tree: Tree) -> bytes:
    elements = tree if isinstance(tree, list) else [tree]
    return f'<mjloggm ver="2.3">{"".join(map(_element, elements))}</mjloggm>'.encode("utf-8", "surrogatepass")


def _lines(tree: Tree) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in (tree if isinstance(tree, list) else [tree])).encode()


Taken = tuple[Callable[[bytes], Tree], Callable[[Tree], bytes]]
"""takes a file apart, and puts it together"""
JSON: Taken = (json.loads, lambda tree: json.dumps(tree).encode())
APART: dict[str, Taken] = {
    "mjai": (lambda data: [json.loads(line) for line in data.splitlines()], _lines),
    "tenhou.net/6": JSON,
    "mjlog": (_xml_tree, _xml_bytes),
    "Mahjong Soul": (json.loads, message),
    "Mahjong Soul as JSON": JSON,
}
"""by format; the tree of a message of Mahjong Soul is its JSON"""


@st.composite
def damaged_records(draw: Any, format_: str, trees: Sequence[Tree]) -> bytes:
    write = APART[format_][1]
    if draw(st.integers(0, 9)):
        try:
            return write(draw(damaged_trees(trees)))
        except (AttributeError, KeyError, TypeError, ValueError):
            pass  # protobuf cannot hold such a value
    return draw(damaged_bytes(write(draw(st.sampled_from(trees)))))
