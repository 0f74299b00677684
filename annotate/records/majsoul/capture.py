"""Unwraps the message of Mahjong Soul's server that contains a game record: captured protobuf, or JSON made from it.

The captured message is `Wrapper(ResGameRecord(head, Wrapper(GameDetailRecords)))`, with or without three bytes of the
WebSocket frame before it. JSON has the same shape; some tools omit names, or leave a wrapper as base64 text. The inner
wrapper may instead be at the response's data_url; then it is in a second file.
"""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from annotate.records.majsoul.protobuf import RECORDS, decode, of_json, squeezed

_NOTICE, _REQUEST, _RESPONSE = 1, 2, 3
"""kinds of frames, by their first byte"""
_FRAME_HEADER = 3
SecondFile = Callable[[str], bytes]
"""returns the content of the file for a data_url; raises ValueError if there is none"""
_NO_NAME = b"\x0a\x00"
_LENGTH_DELIMITED = 2

_RULES = "head.config.mode.detailrule."


@dataclass(frozen=True, slots=True)
class Recording:
    """The messages of one game."""

    head: Message
    """RecordGame"""
    steps: tuple[Message | ValueError, ...]
    """Record… messages, and GameUserInput messages between them if the record has inputs of players; an error for an
    unreadable message"""
    unknown_rules: tuple[str, ...]
    """names of rule settings that are not in the table of fields"""


def is_capture(data: bytes) -> bool:
    """Returns whether `data` starts like a captured message, and thus unlike any text, archive or compressed file."""
    if data[:1] in (bytes([_RESPONSE]), bytes([_REQUEST])) or data.startswith(bytes([_NOTICE, 0x0A])):
        return True
    return data.startswith((_NO_NAME + b"\x12", b"\x12")) or (data[:1] == b"\x0a" and data[2:6] == b".lq.")


def is_capture_json(value: Any) -> bool:
    """Returns whether a JSON document is a game record of Mahjong Soul."""
    if type(value) is not dict:
        return False
    keys = set(map(squeezed, value))
    return "head" in keys or {"name", "data"} <= keys


def open_capture(data: bytes, second_file: SecondFile) -> Recording:
    """Extracts a game record from a captured message, or from one and its second file. Raises ValueError if it is
    another message, is cut off or damaged, or does not contain the game itself."""
    if data[0] in (_NOTICE, _REQUEST):
        raise ValueError("a captured message of Mahjong Soul, but not the response that holds a game record")
    wrapper = decode("Wrapper", data[_FRAME_HEADER:] if data[0] == _RESPONSE else data)
    _require_name(wrapper.name, "ResGameRecord", "the message")
    if not wrapper.data:
        raise ValueError("cut off: a message without content")
    response = decode("ResGameRecord", wrapper.data)
    _require_game(response.error.code, response.HasField("head"))
    data = response.data or _second(response.data_url, second_file)
    rules = UnknownFieldSet(response.head.config.mode.detail_rule)
    unknown = [f"number {rule.field_number}" for rule in rules if rule.wire_type == _LENGTH_DELIMITED or rule.data]
    return Recording(response.head, tuple(_steps(data)), tuple(unknown))


def open_capture_json(value: Any, second_file: SecondFile) -> Recording:
    """Extracts a game record from JSON that a tool made of the message, or from it and the message's second file.
    Raises ValueError if a part is missing or of the wrong type, or the document does not contain the game itself."""
    response = _by_key(_contents(value, "ResGameRecord", "the document"), "the document")
    error = response.get("error")
    _require_game(error.get("code") if type(error) is dict else None, "head" in response)
    head, unknown = of_json("RecordGame", response["head"], "head")
    data = response.get("data") or _second(response.get("dataurl"), second_file)
    rules = [key for key in unknown if key.replace("_", "").lower().startswith(_RULES)]
    return Recording(head, tuple(_steps(data)), tuple(key.rpartition(".")[2] for key in rules))


def _require_game(error: Any, has_head: bool) -> None:
    if error:
        raise ValueError(f"the server responded with error {error}: no game was sent")
    if not has_head:
        raise ValueError("no head: the game's id, room and players are missing")


def _second(url: Any, second_file: SecondFile) -> bytes:
    if not url:
        raise ValueError("the game itself (data) is missing")
    return second_file(ascii(str(url)[:200])[1:-1])


def _steps(data: Any) -> Iterator[Message | ValueError]:
    """Yields the messages of records (version 0), or of the results and inputs of actions (later versions). `data`: the
    wrapper of GameDetailRecords as bytes or base64 text; or JSON of the wrapper, of its content or of the records.
    """
    if type(data) is str:
        data = _of_base64(data, "data")
    if type(data) is bytes:
        wrapper = decode("Wrapper", data)
        _require_name(wrapper.name, "GameDetailRecords", "data")
        content = wrapper.data
    else:
        content = _contents({"records": data} if type(data) is list else data, "GameDetailRecords", "data")
    if type(content) is str:
        content = _of_base64(content, "data.data")
    if type(content) is bytes:
        details = decode("GameDetailRecords", content)
        records = details.records
        actions = [(each.result, each.user_input if each.HasField("user_input") else None) for each in details.actions]
    else:
        keys = _by_key(content, "data")
        records, listed = _list(keys.get("records"), "data.records"), _list(keys.get("actions"), "data.actions")
        parts = [_by_key(each, "") if type(each) is dict else {"result": each} for each in listed]
        actions = [(part.get("result"), part.get("userinput")) for part in parts]
    for number, record in enumerate(records if not actions else ()):
        yield _readable(_record, record, f"records[{number}]")
    for number, (result, user_input) in enumerate(actions):
        if result:
            yield _readable(_record, result, f"actions[{number}].result")
        if user_input:
            yield _readable(_user_input, user_input, f"actions[{number}].user_input")


def _readable(read: Callable[[Any, str], Message], value: Any, where: str) -> Message | ValueError:
    try:
        return read(value, where)
    except ValueError as error:
        return error


def _user_input(value: Any, where: str) -> Message:
    return value if isinstance(value, Message) else of_json("GameUserInput", value, where)[0]


def _record(value: Any, where: str) -> Message:
    if type(value) is str:
        value = _of_base64(value, where)
    try:
        if type(value) is bytes:
            wrapper = decode("Wrapper", value)
            return decode(_record_name(wrapper.name), wrapper.data)
        parts = _by_key(value, "it")
        name = _record_name(parts.get("name"))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    content = parts.get("data")
    if type(content) is str:
        return decode(name, _of_base64(content, f"{where}.data"))
    return of_json(name, {} if content is None else content, f"{where}.data")[0]


def _record_name(name: Any) -> str:
    bare = _bare(name)
    if bare not in RECORDS:
        raise ValueError(f"a record of an unknown kind, {ascii(name)[:60]}: of other rules or of a later version")
    return bare


def _require_name(name: Any, expected: str, where: str) -> None:
    if name and _bare(name) != expected:
        raise ValueError(f"{where} is a {ascii(name)[:60]}, where a {expected} is expected")


def _bare(name: Any) -> str:
    return name.removeprefix(".").removeprefix("lq.") if type(name) is str else ""


def _contents(value: Any, name: str, where: str) -> Any:
    """Returns the content of a wrapper, or `value` itself if a tool omitted the wrapper."""
    parts = _by_key(value, where)
    if "data" in parts and "name" in parts and "head" not in parts:
        _require_name(parts["name"], name, where)
        return parts["data"]
    return value


def _by_key(value: Any, where: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError(f"{where} must be an object")
    return {squeezed(key): part for key, part in value.items()}


def _list(value: Any, where: str) -> list[Any]:
    if value is not None and type(value) is not list:
        raise ValueError(f"{where} must be a list")
    return value or []


def _of_base64(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{where} must be an object, or bytes as base64") from None
