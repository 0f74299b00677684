"""The wire format of Mahjong Soul's messages, written for tests from a table of the protocol's field numbers.

Fields that the program does not read are among them: it must skip them.
"""

from typing import Any

_WRAPPED = "a Wrapper of the message that it names"

_Number = int | tuple[int, str]
"""of a field, and the message that it holds"""

_TABLE: dict[str, dict[str, _Number]] = {
    "Wrapper": {"name": 1, "data": 2},
    "ResGameRecord": {"error": (1, "Error"), "head": (3, "RecordGame"), "data": (4, _WRAPPED), "data_url": 5},
    "Error": {"code": 1},
    "RecordGame": {
        "uuid": 1,
        "start_time": 2,
        "config": (5, "GameConfig"),
        "accounts": (11, "AccountInfo"),
        "result": (12, "GameEndResult"),
    },
    "GameConfig": {"category": 1, "mode": (2, "GameMode"), "meta": (3, "GameMetaData")},
    "GameMode": {"mode": 1, "detail_rule": (6, "GameDetailRule"), "testing_environment": (7, "Testing")},
    "GameDetailRule": {
        **{"time_fixed": 1, "time_add": 2, "dora_count": 3, "shiduan": 4, "init_point": 5, "fandian": 6},
        **{"fanfu": 41, "of_tomorrow": 99},
    },
    "Testing": {"paixing": 1},
    "GameMetaData": {"room_id": 1, "mode_id": 2},
    "AccountInfo": {
        "account_id": 1,
        "seat": 2,
        "nickname": 3,
        "level": (7, "AccountLevel"),
        "level3": (8, "AccountLevel"),
    },
    "AccountLevel": {"id": 1, "score": 2},
    "GameEndResult": {"players": (1, "PlayerItem")},
    "PlayerItem": {"seat": 1, "total_point": 2, "part_point_1": 3, "part_point_2": 4, "grading_score": 5, "gold": 6},
    "GameDetailRecords": {"records": (1, _WRAPPED), "version": 2, "actions": (3, "GameAction")},
    "GameAction": {"passed": 1, "type": 2, "result": (3, _WRAPPED), "user_input": (4, "GameUserInput")},
    "GameUserInput": {"seat": 1, "type": 2, "emo": 3, "operation": (10, "GameSelfOperation"), "cpg": (11, "Cpg")},
    "GameSelfOperation": {"type": 1, "index": 2, "tile": 3, "cancel_operation": 4, "moqie": 5, "timeuse": 6},
    "Cpg": {"type": 1, "index": 2, "cancel_operation": 3, "timeuse": 6},
    "OptionalOperationList": {"seat": 1, "operation_list": (2, "OptionalOperation"), "time_add": 4},
    "OptionalOperation": {"type": 1, "combination": 2},
    "LiQiSuccess": {"seat": 1, "score": 2, "liqibang": 3, "failed": 4},
    "TingPaiInfo": {"tile": 1, "count": 4},
    "RecordNewRound": {
        **{"chang": 1, "ju": 2, "ben": 3, "dora": 4, "scores": 5, "liqibang": 6},
        **{"tiles0": 7, "tiles1": 8, "tiles2": 9, "tiles3": 10, "operation": (12, "OptionalOperationList")},
        **{"md5": 13, "paishan": 14, "left_tile_count": 15, "doras": 16, "saltSha256": 24},
    },
    "RecordDealTile": {
        **{"seat": 1, "tile": 2, "left_tile_count": 3, "liqi": (5, "LiQiSuccess"), "doras": 6, "zhenting": 7},
        **{"operation": (8, "OptionalOperationList")},
    },
    "RecordDiscardTile": {
        **{"seat": 1, "tile": 2, "is_liqi": 3, "moqie": 5, "tingpais": (7, "TingPaiInfo"), "doras": 8, "is_wliqi": 9},
        **{"operations": (10, "OptionalOperationList")},
    },
    "RecordChiPengGang": {
        **{"seat": 1, "type": 2, "tiles": 3, "froms": 4, "liqi": (5, "LiQiSuccess")},
        **{"operation": (8, "OptionalOperationList")},
    },
    "RecordAnGangAddGang": {
        **{"seat": 1, "type": 2, "tiles": 3, "doras": 6, "operations": (7, "OptionalOperationList")},
    },
    "RecordBaBei": {"seat": 1, "doras": 6, "operations": (7, "OptionalOperationList"), "moqie": 8},
    "RecordHule": {"hules": (1, "HuleInfo"), "old_scores": 2, "delta_scores": 3, "scores": 5},
    "HuleInfo": {"hu_tile": 3, "seat": 4, "zimo": 5, "doras": 8, "li_doras": 9, "count": 11},
    "RecordLiuJu": {"type": 1, "seat": 3, "liqi": (5, "LiQiSuccess")},
    "RecordNoTile": {"liujumanguan": 1, "players": (2, "NoTilePlayerInfo"), "scores": (3, "NoTileScoreInfo")},
    "NoTilePlayerInfo": {"tingpai": 3},
    "NoTileScoreInfo": {"seat": 1, "old_scores": 2, "delta_scores": 3},
    "RecordOfTomorrow": {"seat": 1},
}


def wire(name: str, content: dict[str, Any]) -> bytes:
    """The bytes of a message."""
    parts = []
    for key, value in content.items():
        number = _TABLE[name][key]
        number, inner = number if isinstance(number, tuple) else (number, None)
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) and value and isinstance(value[0], int):  # numbers are packed
            parts.append(_lengthy(number, b"".join(map(_varint, values))))
            continue
        parts += [_field(number, one, inner) for one in values]
    return b"".join(parts)


def _field(number: int, value: Any, inner: str | None) -> bytes:
    if inner == _WRAPPED:
        bare = value["name"].removeprefix(".lq.")
        return _lengthy(number, wire("Wrapper", {"name": value["name"], "data": wire(bare, value["data"])}))
    if inner is not None:
        return _lengthy(number, wire(inner, value))
    if isinstance(value, (str, bytes)):
        return _lengthy(number, value.encode() if isinstance(value, str) else value)
    return _varint(number << 3) + _varint(value)


def _lengthy(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
