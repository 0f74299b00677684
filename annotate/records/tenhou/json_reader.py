"""Reads tenhou.net/6 JSON, Tenhou's or converted from Mahjong Soul: one game per object, one or more objects per file.

Tenhou's object may have a whole game or some of its rounds. The platform of a game, its room and its length are in
`rule.disp`: Tenhou's "鳳南喰赤", Mahjong Soul's "玉の間南喰赤" or "Jade Room South".
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

from annotate.game import grading
from annotate.game.origin import Origin, log_in, players_of, printable
from annotate.game.record import (
    LARGEST_SCORE,
    Event,
    Game,
    LostRound,
    Round,
    Rules,
    Unreadable,
    require_a_round,
    start_kyoku,
)
from annotate.game.results import inferred_style
from annotate.records.strict_json import objects_of, parse_json
from annotate.records.tenhou.absence import Absence, Change, automatic_of, connections_of
from annotate.records.tenhou.excerpts import final_scores_of_whole, joined
from annotate.records.tenhou.grade_names import mjsoul_grade, tenhou_dan
from annotate.records.tenhou.meld import SEATS_OF_TABLE
from annotate.records.tenhou.turn_order import events_of, tiles_of, turns_of
from annotate.vocabulary import vocabulary_of_seats

DRAW_REASONS = {
    "exhaustive_draw": ("流局", "全員聴牌", "全員不聴", "Ryuukyoku", "Exhaustive Draw"),
    "nagashimangan": ("流し満貫", "Nagashi Mangan", "Mangan at Draw"),
    "kyushu_kyuhai": ("九種九牌", "Kyuushu Kyuuhai", "Nine Terminal Abortion"),
    "sufuurenta": ("四風連打", "Suufon Renda", "Four Wind Abortion"),
    "suucha_riichi": ("四家立直", "Suucha Riichi", "Four Riichi Abortion"),
    "suukansansen": ("四槓散了", "四開槓", "Suukaikan", "Four Kan Abortion"),
    "sanchaho": ("三家和了", "三家和", "Sanchahou", "Three Ron Abortion"),
}
"""reason of the mjai event -> names of the result in Tenhou's records and in converted ones"""

TENHOU_JSON_MEMBERS = ("log", "rule")
"""members of every game in this format; a text is recognised by them"""

_REASONS = {name: reason for reason, names in DRAW_REASONS.items() for name in names}
_WIN = "和了"

_TENHOU_TABLES = dict(zip("般上特鳳", grading.TENHOU_TABLES, strict=True))
_TENHOU_DISP = re.compile(r"[四三]?([^東南\s]?)([東南])(喰?)赤?速?[-－]?")
_MJSOUL_ROOMS = (("銅", "铜", "Bronze"), ("銀", "银", "Silver"), ("金", "Gold"), ("玉", "Jade"), ("王座", "Throne"))
_PARAMETERS = re.compile(r"(?<=\})(&\w+=\w*)+$")
"""parameters that an address may have after the game, such as &ts=0"""
_EAST = re.compile("[東东]|East")
_STYLE = re.compile("[東东南]|East|South")
_MJSOUL_ROOM = re.compile(r"(\w+?)\s*(?:の間|之间|Room\b)")
_UNRANKED = ("友人", "大会", "Friendly", "Tournament", "Tounament")  # the last is a converter's spelling


class _Kind(NamedTuple):
    rules: tuple[Rules, ...]
    style: int
    room: int | None
    """Mahjong Soul's room, 0 ... 4, or the room for Tenhou's table; None: unranked, or not known"""
    table: grading.TenhouTable | None = None


def tenhou_json_games(text: str, name: str) -> Iterator[Game | Unreadable]:
    """Reads the games of a file, in their order: an object, one object per line, or addresses with an object in their
    fragment. Of several games, an unreadable one is yielded as Unreadable. An unreadable single game is a ValueError.

    The id of a game is `ref`, the platform's id, else `name` (the file's without folders and suffixes) and a checksum
    of the game. Objects with the same `ref` and different rounds, such as one address per round, are one game.
    """
    lines = [line.strip() for line in text.split("\n")]
    is_one_a_line = sum(map(bool, lines)) > 1 and all(_starts_game(line) for line in lines if line)
    if not is_one_a_line:
        try:
            document = parse_json(text)
        except json.JSONDecodeError:  # not one object: perhaps one per line
            pass
        else:
            yield _game(document, name)
            return
    yield from joined(_games_of_lines(lines, name))


def _starts_game(line: str) -> bool:
    return line.startswith(("{", "http"))


def _games_of_lines(lines: Sequence[str], name: str) -> Iterator[Game | Unreadable]:
    is_lost = False
    parts = ((number, part) for number, line in enumerate(lines, start=1) for part in objects_of(line))
    for number, line in parts:
        if not line or (is_lost and not _starts_game(line)):  # the rest of an object on several lines
            continue
        try:
            game: Game | Unreadable = _game(_parse_line(line), name)
        except ValueError as error:
            game = Unreadable(f"line {number}: {error}")
        is_lost = isinstance(game, Unreadable)
        yield game


def _parse_line(line: str) -> Any:
    before, _, fragment = line.strip().partition("#json=")
    content = _PARAMETERS.sub("", unquote(fragment)) if before.startswith("http") else line
    try:
        return parse_json(content)
    except ValueError as error:
        raise ValueError(f"tenhou.net/6 JSON, but cut off or damaged: {error}") from None


def _game(document: Any, name: str) -> Game:
    if not isinstance(document, dict) or not isinstance(document.get("log"), list) or "rule" not in document:
        raise ValueError('no game in the format of tenhou.net/6: an object with "rule" and a list "log" expected')
    document = _without_nulls(document) | {"rule": _without_nulls(document["rule"])}
    rule, names = document["rule"], document.get("name")
    if not isinstance(rule, dict) or not isinstance(rule.get("disp", ""), str):
        raise ValueError(f'"rule" must be an object whose "disp" is a text, not {_short(rule)}')
    kind = _kind(rule.get("disp", ""))
    if document.get("lobby", 0) not in (0, "0"):  # a private lobby: unranked
        kind = kind._replace(room=None)
    rounds = document["log"]
    is_named_for_three = rule.get("disp", "").startswith(("三", "3")) or (isinstance(names, list) and len(names) == 3)
    num_seats = 3 if is_named_for_three or any(map(_is_for_three, rounds)) else SEATS_OF_TABLE
    if not rounds:
        raise ValueError("it holds no round")
    _require_red_fives(rule, rounds, num_seats)
    read, lost = _rounds(rounds, connections_of(document), num_seats)
    final_scores = _final_scores(document, num_seats)
    if not _STYLE.search(rule.get("disp", "")):
        kind = kind._replace(style=inferred_style([each.events[0] for each in read], final_scores))
    if final_scores is None and not lost:
        final_scores = final_scores_of_whole(read, kind.style)
    grades, deltas = _grading(document, kind, final_scores, num_seats)
    incomplete = None if final_scores else f"the record stops after {read[-1].name}, without the final scores"
    return Game(
        vocabulary=vocabulary_of_seats(num_seats),
        id=_game_id(document, name),
        rules=kind.rules,
        style=kind.style,
        rounds=tuple(read),
        room=kind.room,
        grades=grades,
        final_scores=final_scores,
        grading_deltas=deltas,
        incomplete=incomplete,
        origin=_origin(document, kind, num_seats),
        lost=tuple(lost),
    )


def _origin(document: dict[str, Any], kind: _Kind, num_seats: int) -> Origin:
    found = log_in(ref) if isinstance(ref := document.get("ref"), str) else None
    platform = found[0] if found else kind.rules[0] if len(kind.rules) == 1 else None
    names, dans, rates = (_of_seats(document.get(name), num_seats) for name in ("name", "dan", "rate"))
    grade_of = mjsoul_grade if platform == "mjsoul" else tenhou_dan
    grades = [grade_of(name) for name in dans] if platform and isinstance(dans, list) else None
    players = players_of(names, num_seats, grades, rates)
    return Origin(platform, found and found[1], document["rule"].get("disp") or None, players)


def _of_seats(values: Any, num_seats: int) -> Any:
    """Returns a list without the element for an empty fourth seat."""
    return values[:num_seats] if isinstance(values, list) and len(values) == SEATS_OF_TABLE else values


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]


def _game_id(document: dict[str, Any], name: str) -> str:
    ref = document.get("ref")
    if isinstance(ref, str) and ref and ref.isprintable():
        return ref
    content = json.dumps(document, sort_keys=True).encode()
    return f"{printable(name, '_')}-{hashlib.sha256(content).hexdigest()[:12]}"


def _kind(disp: str) -> _Kind:
    style = 0 if _EAST.search(disp) else 1
    room = _MJSOUL_ROOM.search(disp)
    if room is not None:
        places = [place for place, names in enumerate(_MJSOUL_ROOMS) if room[1].endswith(names)]
        return _Kind(("mjsoul",), style, places[0] if places else None)
    if any(word in disp for word in _UNRANKED):
        return _Kind(("mjsoul",), style, None)
    tenhou = _TENHOU_DISP.fullmatch(disp.strip())
    if tenhou is None:
        return _Kind(("tenhou", "mjsoul"), style, None)
    if not tenhou[3]:
        raise ValueError(f"a game without open tanyao ({disp}): this rule variant is not supported")
    table = _TENHOU_TABLES.get(tenhou[1])
    return _Kind(("tenhou",), style, None if table is None else grading.TENHOU_ROOMS[table], table)


def _is_for_three(columns: Any) -> bool:
    if not isinstance(columns, list) or len(columns) < 2:
        return False
    has_empty_seat = len(columns) == _length(SEATS_OF_TABLE) and columns[4 + 3 * (SEATS_OF_TABLE - 1)] == []
    return has_empty_seat or len(columns) == _length(3) or (isinstance(columns[1], list) and len(columns[1]) == 3)


def _length(num_seats: int) -> int:
    return 5 + 3 * num_seats


def _require_red_fives(rule: dict[str, Any], rounds: Sequence[Any], num_seats: int) -> None:
    """Raises ValueError unless the game is played with the usual red fives; with three players there is no 5m."""
    stated = {key: value for key, value in rule.items() if key.startswith("aka")}
    if len(stated) > 1:  # one entry per suit; converters also write "aka": 0
        stated.pop("aka", None)
    if num_seats < SEATS_OF_TABLE and stated.get("aka51") in (0, None):
        stated.pop("aka51", None)
    if stated:
        counts = set(stated.values()) if all(type(value) is int for value in stated.values()) else {-1}
        if counts != {1}:
            raise ValueError(f"red fives {_short(stated)}: only one of each suit is supported")
    elif "赤" not in rule.get("disp", "") and _dealt(rounds).isdisjoint((51, 52, 53)):
        raise ValueError("a game without red fives: this rule variant is not supported")


def _dealt(rounds: Sequence[Any]) -> set[int]:
    lists = [column for columns in rounds if isinstance(columns, list) for column in columns[4:-1]]
    return {tile for column in lists if isinstance(column, list) for tile in column if type(tile) is int}


def _without_nulls(value: Any) -> Any:
    """Returns an object without the members that are null, which some programs write for missing ones."""
    return {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value


def _final_scores(document: dict[str, Any], num_seats: int) -> tuple[int, ...] | None:
    if "sc" not in document:
        return None
    both = document["sc"]  # each seat's score and placement points
    if not isinstance(both, list) or len(both) not in (2 * num_seats, 2 * SEATS_OF_TABLE):
        raise ValueError(f'"sc" must be a list of {2 * num_seats} numbers, not {_short(both)}')
    return tuple(_points(both[: 2 * num_seats : 2], '"sc"', num_seats))


def _grading(
    document: dict[str, Any], kind: _Kind, final_scores: tuple[int, ...] | None, num_seats: int
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Returns the seats' grades, and the changes of grading points by the platform's table."""
    names = _of_seats(document.get("dan"), num_seats)
    if kind.room is None or not isinstance(names, list) or len(names) != num_seats:
        return None, None
    if kind.table is not None:
        dans = [dan for dan in map(tenhou_dan, names) if dan is not None]
        if len(dans) != num_seats:
            return None, None
        deltas = final_scores and grading.tenhou_deltas(final_scores, dans, kind.table, kind.style)
        return tuple(grading.TENHOU_GRADES[dan] for dan in dans), deltas
    grades = tuple(grade for grade in map(mjsoul_grade, names) if grade is not None)
    if len(grades) != num_seats:
        return None, None
    return grades, final_scores and grading.mjsoul_deltas(final_scores, kind.room, grades, kind.style)


def _rounds(
    rounds: Sequence[Any], connections: Sequence[Change], num_seats: int
) -> tuple[list[Round], list[LostRound]]:
    read: list[Round] = []
    lost: list[LostRound] = []
    absence = Absence()
    for number, columns in enumerate(rounds):
        changes = [change for change in connections if change[0] == number or (number == 0 and change[0] < 0)]
        try:
            found = _round(number + 1, columns, num_seats)
        except ValueError as error:
            lost.append(LostRound(len(read), str(error)))
            found = None
        automatic = automatic_of(() if found is None else found.events, changes, absence)
        if found is not None:
            read.append(replace(found, automatic=automatic))
    require_a_round(read, lost)
    return read, lost


def _round(number: int, columns: Any, num_seats: int) -> Round:
    try:
        lengths = _length(SEATS_OF_TABLE), _length(num_seats)
        if not isinstance(columns, list) or len(columns) not in lengths:
            raise ValueError(f"a list of {lengths[0]} elements expected, not {_short(columns)}")
        lists = [_list(column) for column in columns]
        start = _start_kyoku(lists, num_seats)
        dora, ura = tiles_of(lists[2]), tiles_of(lists[3])
        turns = [turns_of(seat, lists[5 + 3 * seat], lists[6 + 3 * seat]) for seat in range(num_seats)]
        riichi_seats = {event["actor"] for seat in turns for turn in seat for event in turn if event["type"] == "reach"}
        return Round(events_of(start, turns, dora[1:], _ending(lists[-1], ura, riichi_seats, num_seats)))
    except ValueError as error:
        raise ValueError(f"round {number}: {error}") from None


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"a list expected, not {_short(value)}")
    return value


def _points(values: Any, what: str, num_seats: int) -> list[int]:
    values = _of_seats(values, num_seats)
    if (
        not isinstance(values, list)
        or len(values) != num_seats
        or not all(type(v) is int and abs(v) <= LARGEST_SCORE for v in values)
    ):
        raise ValueError(f"{what}: {num_seats} integers expected, not {_short(values)}")
    return list(values)


def _start_kyoku(lists: Sequence[list[Any]], num_seats: int) -> Event:
    counts, hands = lists[0], [tiles_of(lists[4 + 3 * seat]) for seat in range(num_seats)]
    if len(counts) < 3 or not all(type(count) is int and 0 <= count <= 1000 for count in counts[:3]):
        raise ValueError(f"its number, honba and deposits expected, not {_short(counts)}")
    number, honba, deposits = counts[:3]
    wind, dealer = divmod(number, SEATS_OF_TABLE)
    if wind >= 4:
        raise ValueError(f"number {number} is beyond the North round")
    if dealer >= num_seats:
        raise ValueError(f"number {number}: the dealer would be the fourth of {num_seats} players")
    if any(len(hand) != 13 for hand in hands):
        raise ValueError("13 tiles for each seat expected")
    if not lists[2]:
        raise ValueError("a dora indicator expected")
    return start_kyoku(
        wind, dealer, honba, deposits, tiles_of(lists[2])[0], _points(lists[1], "scores", num_seats), hands
    )


def _ending(result: list[Any], ura: list[str], riichi_seats: set[int], num_seats: int) -> list[Event]:
    name = result[0] if result else None
    if name == _WIN:
        wins = list(_wins(result[1:], ura, riichi_seats, num_seats))
        target = wins[0]["target"]
        if any(win["target"] != target for win in wins):
            raise ValueError("winners of different tiles")
        wins.sort(key=lambda win: (win["actor"] - target) % num_seats)  # the order in which they are paid
        return wins
    if not isinstance(name, str) or name not in _REASONS:
        raise ValueError(f"{_short(name)} is not a known end of a round")
    deltas = _points(result[1], "its payments", num_seats) if len(result) > 1 else [0] * num_seats
    return [{"type": "ryukyoku", "reason": _REASONS[name], "deltas": deltas}]


def _wins(result: Sequence[Any], ura: list[str], riichi_seats: set[int], num_seats: int) -> Iterator[Event]:
    if not result or len(result) % 2:
        raise ValueError("each win's payments and description expected")
    for deltas, described in zip(result[::2], result[1::2], strict=True):
        seats = _list(described)[:2]
        if len(seats) != 2 or not all(type(seat) is int and 0 <= seat < num_seats for seat in seats):
            raise ValueError(f"the winner and whose tile it was expected, not {_short(described)}")
        yield {
            "type": "hora",
            "actor": seats[0],
            "target": seats[1],
            "deltas": _points(deltas, "its payments", num_seats),
            "ura_markers": list(ura) if seats[0] in riichi_seats else [],
        }
