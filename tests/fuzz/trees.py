"""Damage done to records at random: to their parts, where a file can be taken apart, and to their bytes.

A tree is what a file holds as nested dicts and lists with values at the leaves; see tests.fuzz.formats.
"""

import pickle
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Tree = Any
Place = tuple[Any, Any]
"""what holds a value (a dict or list), and its key there"""

MOST_CHANGES = 6
_NEAR = (1, -1, 2, -2, 4, 10, 36, 100, -100, 300, 1000, -1000, 1300)
_ODD_NUMBERS = (-1, 4, 13, 14, 60, 135, 136, 255, 256, 1000, 2**15, 2**31, 2**32 - 1, 2**63, 2**64, 10**30, 10**400)
_ODD_TEXTS = (
    "",
    " ",
    "?",
    "0",
    "-1",
    "1z",
    "0m",
    "5mr",
    "E",
    "nan",
    "1e9",
    "١",
    "\ud800",
    "\x00",
    "\n",
    "é" * 9,
    "a" * 999,
)
_ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    "",
    [],
    {},
    [None],
    [[]],
    {"": {}},
)
_DEEP = (3, 200, 900, 3000, 20_000)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\n \t", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd")
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "shift_jis", "utf-7")


def places(tree: Tree) -> list[Place]:
    """Every value of a tree, parents first."""
    found: list[Place] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], (dict, list)) and holder[key]:
                waiting.append(holder[key])
    return found


class Original:
    """A record taken apart, ready to be copied and damaged often."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._pickled = pickle.dumps([tree], pickle.HIGHEST_PROTOCOL)
        self._paths = list(_paths([tree], ()))

    def damaged(self, donor: Tree, rng: random.Random) -> Tree:
        """A copy with one or some changes; `donor` is another tree of the same format."""
        root = pickle.loads(self._pickled)
        for _ in range(1 if rng.random() < 0.6 else rng.randint(2, MOST_CHANGES)):
            place = self._place(root, rng)
            if place is not None:
                (change,) = rng.choices(_CHANGES, _WEIGHTS)
                change(*place, root, donor, rng)
        return root[0] if root else None

    def _place(self, root: Tree, rng: random.Random) -> Place | None:
        """A value of the tree, however much of it has been changed before."""
        holder: Any = root
        key: Any = 0
        if not root:
            return None
        if rng.random() < 0.3:  # parts that are near the root are few
            while isinstance(holder[key], (dict, list)) and holder[key] and rng.random() < 0.9:
                holder = holder[key]
                key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            return holder, key
        for key in rng.choice(self._paths):
            try:
                value = holder[key]
            except (IndexError, KeyError, TypeError):
                return None
            if not isinstance(value, (dict, list)):
                return holder, key
            above, holder = holder, value
        return above, key


def _paths(tree: Tree, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield (*path, key)
        if isinstance(tree[key], (dict, list)):
            yield from _paths(tree[key], (*path, key))


Change = Callable[[Any, Any, Tree, Tree, random.Random], None]


def _change(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    value = holder[key]
    kind = rng.random()
    if isinstance(value, (dict, list)):
        if kind < 0.4 and isinstance(value, list):
            rng.shuffle(value)
        elif kind < 0.6 and isinstance(value, list):
            del value[rng.randrange(len(value) + 1) :]
        else:
            holder[key] = _odd_value(rng)
    elif kind < 0.45:
        found = [(k, one) for h, k in places(root) if type(one := h[k]) is type(value) and one != value]
        alike = [one for k, one in found if k == key] if isinstance(holder, dict) else []
        others = alike or [one for _, one in found]
        if others:
            holder[key] = rng.choice(others)
    elif kind < 0.92:
        holder[key] = _altered(value, rng)
    else:
        holder[key] = _odd_value(rng)


def _altered(value: Any, rng: random.Random) -> Any:
    if type(value) is bool:
        return not value
    if isinstance(value, (int, float)):
        return altered_number(int(value) if value == value and abs(value) < 1e300 else 0, rng)
    if isinstance(value, str):
        return _altered_text(value, rng)
    if isinstance(value, bytes):
        if value.isascii() and rng.random() < 0.7:
            return _altered_text(value.decode(), rng).encode("utf-8", "surrogatepass")
        return damaged_bytes(value, value, rng)
    return _odd_value(rng)


def _odd_value(rng: random.Random) -> Any:
    return pickle.loads(pickle.dumps(rng.choice(_ODD_VALUES)))  # the next change may be inside of it


def altered_number(value: int, rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.45:
        return value + rng.choice(_NEAR)
    if kind < 0.7:
        return rng.randrange(rng.choice((2, 4, 10, 54, 136)))
    if kind < 0.8:
        return -value
    return rng.choice(_ODD_NUMBERS) if kind < 0.95 else rng.choice((str(value), float(value), not value))


def _altered_text(text: str, rng: random.Random) -> str:
    numbers = list(re.finditer(r"-?\d+", text))
    if numbers and rng.random() < 0.75:
        number = rng.choice(numbers)
        digits = number[0][:300]
        return f"{text[: number.start()]}{altered_number(int(digits), rng)}{text[number.end() :]}"
    kind = rng.random()
    if kind < 0.3 or not text:
        return rng.choice(_ODD_TEXTS)
    place = rng.randrange(len(text))
    if kind < 0.5:
        return text[:place] + text[place + 1 :]
    if kind < 0.7:
        return text[:place] + text[place] + text[place:]
    if kind < 0.85:
        return text[:place] + rng.choice("0123456789mpszrESWNPFC|,. -\"'<&") + text[place + 1 :]
    return text.swapcase() if kind < 0.95 else text + rng.choice(_ODD_TEXTS)


def _delete(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    if isinstance(holder, list) and rng.random() < 0.2:
        del holder[key : key + rng.randrange(1, 5)]
    else:
        del holder[key]


def _double(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    copied = pickle.loads(pickle.dumps(holder[key]))
    if isinstance(holder, list):
        holder.insert(rng.choice((key, rng.randrange(len(holder) + 1))), copied)
    else:
        holder[_altered_text(key, rng)] = copied


def _swap(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    other = rng.choice(keys)
    if isinstance(holder, list) and rng.random() < 0.5:
        other = min(key + 1, len(holder) - 1)
    holder[key], holder[other] = holder[other], holder[key]


def _move(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    value = holder.pop(key)
    lists = [h[k] for h, k in places([[], value]) if isinstance(h[k], list)] if isinstance(value, (dict, list)) else []
    inside = set(map(id, lists))  # JSON cannot hold a list in itself
    targets = [h for h, _ in places(root) if isinstance(h, list) and id(h) not in inside]
    target = holder if isinstance(holder, list) and rng.random() < 0.7 or not targets else rng.choice(targets)
    if isinstance(target, list):
        target.insert(rng.randrange(len(target) + 1), value)
    else:
        target[key] = value


def _exchange(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    """Of two values, everywhere: the record may stay a possible one."""
    first, found = holder[key], places(root)
    alike = [one for h, k in found if type(one := h[k]) is type(first)]
    if isinstance(first, (dict, list)) or not alike:
        return
    second = rng.choice(alike)
    for h, k in found:
        if type(h[k]) is type(first) and h[k] in (first, second):
            h[k] = second if h[k] == first else first


def _graft(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    """A part of another record of the same shape."""
    value = holder[key]
    grafts = [one for h, k in places([donor]) if type(one := h[k]) is type(value)]
    if isinstance(value, dict):
        named = value.get("type", value.get("name"))
        grafts = [one for one in grafts if one.get("type", one.get("name")) == named] or grafts
    elif isinstance(holder, dict):
        grafts = [h[k] for h, k in places([donor]) if k == key and type(h[k]) is type(value)] or grafts
    if grafts:
        holder[key] = pickle.loads(pickle.dumps(rng.choice(grafts)))


def _nest(holder: Any, key: Any, root: Tree, donor: Tree, rng: random.Random) -> None:
    value = holder[key]
    is_dict = rng.random() < 0.5
    if rng.random() < 0.8:
        holder[key] = {"type": value} if is_dict else [value]
        return
    holder[key] = Deep(rng.choice(_DEEP), is_dict)


class Deep:
    """Brackets in brackets, which are written as text, as no encoder supports such a depth."""

    def __init__(self, depth: int, is_dict: bool) -> None:
        self.depth, self.is_dict = depth, is_dict

    @property
    def text(self) -> str:
        return '{"a":' * self.depth + "0" + "}" * self.depth if self.is_dict else "[" * self.depth + "]" * self.depth


_TABLE: tuple[tuple[Change, int], ...] = (
    (_change, 55),
    (_delete, 10),
    (_double, 8),
    (_swap, 10),
    (_move, 4),
    (_exchange, 6),
    (_graft, 6),
    (_nest, 1),
)
_CHANGES, _WEIGHTS = zip(*_TABLE, strict=True)


def damaged_bytes(data: bytes, donor: bytes, rng: random.Random) -> bytes:
    """A copy of `data` with some bytes changed, lost, doubled or taken from `donor`, or in another encoding."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place, length = rng.randrange(len(changed) + 1), rng.choice((1, 1, 1, 2, 4, 8, 40, 400))
        span = changed[place : place + length]
        kind = rng.randrange(12)
        if kind < 3 and span:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind < 4:
            changed[place : place + 1] = rng.randbytes(1)
        elif kind < 6:
            digits = [i for i in range(place, min(place + 200, len(changed))) if 48 <= changed[i] < 58]
            if digits:
                changed[rng.choice(digits)] = rng.randrange(48, 58)
        elif kind == 6:
            del changed[place : place + length]
        elif kind == 7:
            changed[place:place] = span
        elif kind == 8:
            changed[place:place] = rng.randbytes(length)
        elif kind == 9:
            start = rng.randrange(len(donor) + 1)
            changed[place : place + length] = donor[start : start + length]
        elif kind == 10:
            other = rng.randrange(len(changed) + 1)
            changed[place : place + length], changed[other : other + length] = changed[other : other + length], span
        elif rng.random() < 0.6:
            del changed[place:]
    if rng.random() < 0.04:
        return _strange(bytes(changed), donor, rng)
    return bytes(changed)


def _strange(data: bytes, donor: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(_BOMS) + data
    if kind == 1:
        return data.decode("utf-8", "replace").encode(rng.choice(_ENCODINGS), "replace")
    if kind == 2:
        return data + donor
    return data[: rng.randrange(len(data) + 1)] + donor[rng.randrange(len(donor) + 1) :]
