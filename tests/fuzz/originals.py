"""Records to be damaged: single rounds, and some pairs, cut from real files and from games made up here."""

import base64
import json
import random
import re
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path
from typing import Any

import pytest

from annotate.game.grading import ranks_of
from annotate.game.record import Event, Game, all_readable
from annotate.game.record_writer import rounds_of
from annotate.game.results import final_scores
from annotate.records.majsoul.protobuf import encode, of_json
from annotate.records.majsoul.reader import read_majsoul_json
from annotate.records.mjai.reader import mjai_games
from annotate.records.tenhou.xml_reader import read_tenhou_xml
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from tests.support.real_records import real_records
from tests.support.writers.majsoul_made import made_round, simulated
from tests.support.writers.majsoul_rare import ROUNDS
from tests.support.writers.majsoul_writer import document
from tests.support.writers.tenhou_json import document_of
from tests.support.writers.tenhou_xml import mjlog_of

Json = Any
NUM_FILES = 150
"""of the real ones, for each reader"""
STICK = 1000
_POINTS = 100_000
_GRADING_DELTAS = (90, 45, -45, -90)
"""by rank"""
FOLDERS = ("tenhou/houou-4p-2020", "tenhou/houou-4p-2021", "tenhou/corner-cases")


def originals(reader: str, is_real: bool, most: int = NUM_FILES) -> list[bytes]:
    """Records for one reader, the same ones every time.

    Args:
        is_real: cuts real files too, where available.
        most: real files that are cut, or made games.
    """
    rng = random.Random(reader)
    make = {
        "mjlog": _mjlog,
        "mjai": _mjai,
        "majsoul": _majsoul,
        "majsoul-json": _majsoul_json,
        "tenhou-json": _tenhou_json,
    }[reader]
    return list(dict.fromkeys(make(is_real, most, rng)))


def real(folder: str, is_real: bool) -> list[Path]:
    """The real files of a folder; none where there are none."""
    if not is_real:
        return []
    try:
        return real_records(folder)
    except pytest.skip.Exception:
        return []


def _of_tenhou(is_real: bool, most: int, rng: random.Random) -> list[Path]:
    files = [path for folder in FOLDERS[:2] for path in real(folder, is_real)]
    return [*rng.sample(files, min(most, len(files))), *real(FOLDERS[2], is_real)[: most // 4]]


def _cuts(rounds: Sequence[Sized], rng: random.Random) -> list[tuple[int, int]]:
    """Which rounds to take of a game, as first and last + 1: the shortest, as short ones are fast to play, its last
    one, perhaps its first one or any, perhaps two."""
    if not rounds:
        return []
    num_rounds = len(rounds)
    shortest = sorted(range(num_rounds), key=lambda i: len(rounds[i]))
    some = rng.choice((0, rng.randrange(num_rounds)))
    cuts = [(i, i + 1) for i in (*shortest[:2], num_rounds - 1, some)]
    if num_rounds > 1 and rng.random() < 0.4:
        pair = min(range(num_rounds - 1), key=lambda i: len(rounds[i]) + len(rounds[i + 1]))
        cuts.append((pair, pair + 2))
    return list(dict.fromkeys(cuts))


def _mjlog(is_real: bool, most: int, rng: random.Random) -> Iterator[bytes]:
    for path in _of_tenhou(is_real, most, rng):
        head, *rounds = re.split(r"(?=<INIT )", path.read_text().strip().removesuffix("</mjloggm>"))
        for first, last in _cuts(rounds, rng):
            # the seed gives the wall of the game's first round
            start = head if first == 0 else re.sub(r"<SHUFFLE[^>]*>", "", head)
            yield f"{start}{''.join(rounds[first:last])}</mjloggm>".encode()
    for game in _made_games(most // 4 if is_real else most):
        for first, last in _cuts([round_.events for round_ in game.rounds], rng):
            made = [round_.events for round_ in game.rounds[first:last]]
            yield mjlog_of(made, final_scores(made[-1]) if rng.random() < 0.6 else None)


def _made_games(number: int) -> Iterator[Game]:
    for index in range(number):
        made = simulate_game(FOUR_PLAYERS, 7, index, style=0, rules="tenhou", annotated=False)
        yield from all_readable(mjai_games("".join(f"{json.dumps(event)}\n" for event in made.events), "made"))


def _games(is_real: bool, most: int, rng: random.Random) -> Iterator[Game]:
    for path in _of_tenhou(is_real, most, rng):
        try:
            yield read_tenhou_xml(path.read_bytes(), path.name)
        except ValueError:
            continue  # a three-player game
    yield from _made_games(most // 4 if is_real else most)


def _mjai(is_real: bool, most: int, rng: random.Random) -> Iterator[bytes]:
    for path in real("mjai", is_real):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        rounds = rounds_of(events)
        for first, last in [(i, i + 1) for i in range(len(rounds))]:
            yield _lines([events[0], *_with_ends(rounds[first:last]), {"type": "end_game"}])
    for game in _games(is_real, most, rng):
        for first, last in _cuts([round_.events for round_ in game.rounds], rng):
            rounds = [[dict(event) for event in round_.events] for round_ in game.rounds[first:last]]
            for round_, events in zip(game.rounds[first:last], rounds, strict=True):
                if round_.wall and rng.random() < 0.5:
                    events[0]["kanachan"] = {"wall": list(round_.wall[52:])}
            header: Event = {"id": "a", "rules": "tenhou", "style": game.style}
            if game.room is not None and rng.random() < 0.5:
                deltas = [_GRADING_DELTAS[rank] for rank in ranks_of(final_scores(rounds[-1]))]
                header |= {"room": game.room, "grades": list(game.grades or (9,) * 4), "grading_deltas": deltas}
            end = {"type": "end_game", "scores": list(final_scores(rounds[-1]))} if rng.random() < 0.7 else None
            start = {"type": "start_game", "names": ["a", "b", "c", "d"]}
            yield _lines(
                [
                    start | ({"kanachan": header} if rng.random() < 0.7 else {}),
                    *_with_ends(rounds),
                    end or {"type": "end_game"},
                ]
            )


def _with_ends(rounds: Sequence[list[Event]]) -> Iterator[Event]:
    for events in rounds:
        yield from events
        yield {"type": "end_kyoku"}


def _lines(events: Sequence[Event]) -> bytes:
    return "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in events).encode()


def _tenhou_json(is_real: bool, most: int, rng: random.Random) -> Iterator[bytes]:
    for path in real("tenhou6", is_real):
        whole = json.loads(path.read_text())
        for round_ in whole["log"]:
            yield json.dumps(whole | {"log": [round_]}, ensure_ascii=False).encode()
    for game in _games(is_real, most, rng):
        for first, last in _cuts([round_.events for round_ in game.rounds], rng):
            rounds = [list(round_.events) for round_ in game.rounds[first:last]]
            more: Json = {"ref": "a", "dan": ["七段", "八段", "九段", "十段"], "lobby": 0}
            if rng.random() < 0.7:
                more["sc"] = [value for score in final_scores(rounds[-1]) for value in (score, 0.0)]
            disp = rng.choice(("鳳南喰赤", "鳳南喰赤", "", "般南喰赤"))
            yield json.dumps(document_of(rounds, disp, **more), ensure_ascii=False).encode()


def _documents(is_real: bool, most: int, rng: random.Random) -> Iterator[Json]:
    for path in real("majsoul", is_real):
        recorded = json.loads(path.read_text())
        if "actions" in recorded["data"]["data"]:
            yield from _cut_documents(recorded)
        else:
            yield recorded
    for index, made in enumerate(simulated(seed, style=seed % 2) for seed in range(max(1, most // 15))):
        recorded = document(made, offers=index % 3 > 0, inputs=index % 3 > 0, whole_walls=bool(index % 2))
        yield from _cut_documents(recorded)
    for number, (script, hands, draws, more) in enumerate(ROUNDS.values()):
        start = more.get("start")
        if start is None or sum(start["scores"]) + STICK * start["kyotaku"] == _POINTS:
            yield document(made_round(script, hands, draws, **more), version=(0, 210715)[number % 2])


def _cut_documents(recorded: Json) -> Iterator[Json]:
    """The rounds of a record, each with a result that fits it."""
    content = recorded["data"]["data"]
    actions = content["actions"]
    starts = [
        i
        for i, action in enumerate(actions)
        if "result" in action and action["result"]["name"].endswith("RecordNewRound")
    ]
    for first, last in zip(starts, [*starts[1:], len(actions)], strict=True):
        head = json.loads(json.dumps(recorded["head"]))
        cut = recorded | {"head": head, "data": {"name": recorded["data"]["name"], "data": {"version": 210715}}}
        cut["data"]["data"]["actions"] = actions[first:last]
        try:
            events = read_majsoul_json(cut).rounds[-1].events
        except ValueError:  # a room with other rules
            yield cut
            return
        scores = final_scores(events)
        for player in head["result"]["players"]:
            player["part_point_1"] = scores[player.get("seat", 0)]
            player["grading_score"] = _GRADING_DELTAS[ranks_of(scores)[player.get("seat", 0)]]
        yield cut


def _majsoul_json(is_real: bool, most: int, rng: random.Random) -> Iterator[bytes]:
    for number, recorded in enumerate(_documents(is_real, most, rng)):
        if number % 7 == 3:  # some tools leave the game as base64
            data = _details(recorded["data"]["data"])
            recorded = recorded | {"data": base64.b64encode(_wrapped("GameDetailRecords", data)).decode()}
        yield json.dumps(recorded, separators=(",", ":")).encode()


def _majsoul(is_real: bool, most: int, rng: random.Random) -> Iterator[bytes]:
    for number, recorded in enumerate(_documents(is_real, most, rng)):
        head = of_json("RecordGame", recorded["head"], "head")[0].SerializeToString()
        data = _wrapped("GameDetailRecords", _details(recorded["data"]["data"]))
        response = b"\x1a" + _length(head) + head + b"\x22" + _length(data) + data  # fields 3 and 4
        yield (b"\x03\x01\x00", b"")[number % 2] + _wrapped("", response)


def _details(content: Json) -> bytes:
    if "records" in content:
        return encode("GameDetailRecords", {"records": [_result(record) for record in content["records"]]})
    actions = [
        action | ({"result": _result(action["result"])} if "result" in action else {}) for action in content["actions"]
    ]
    return encode("GameDetailRecords", {"actions": actions})


def _result(result: Json) -> bytes:
    name = result["name"].removeprefix(".lq.")
    return _wrapped(name, of_json(name, result.get("data") or {}, name)[0].SerializeToString())


def _wrapped(name: str, data: bytes) -> bytes:
    return encode("Wrapper", {"name": f".lq.{name}" if name else "", "data": data})


def _length(data: bytes) -> bytes:
    value, parts = len(data), bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
