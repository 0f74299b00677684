"""Games made up here, written as files of every format, and read back."""

import json
from collections.abc import Callable
from typing import Any

from annotate.game.grading import TENHOU_GRADES, ranks_of, tenhou_delta
from annotate.game.record import Game, Round
from annotate.game.tiles import MJAI_NAMES, TILE_OF_ID
from annotate.records.reading import Record, read_record
from annotate.replay.walls import wall_of
from tests.support.writers.majsoul_made import MadeGame
from tests.support.writers.majsoul_writer import document, message
from tests.support.writers.tenhou_json import document_of
from tests.support.writers.tenhou_xml import mjlog_of

MJSOUL_GRADES = ["雀豪★1", "雀豪★2", "雀豪★3", "魂天"]
TENHOU_DANS = {16: "七段", 17: "八段", 18: "九段", 20: "天鳳位"}
TENHOU_GAME = "2021070100gm-00a9-0000-0123abcd"


def mjai(made: MadeGame) -> bytes:
    header = {
        "id": made.id,
        "rules": made.rules,
        "style": made.style,
        "room": made.room,
        "grades": list(made.grades),
        "grading_deltas": list(made.grading_deltas),
    }
    names = [f"誰{seat}" for seat in range(made.vocabulary.num_seats)]
    events: list[Any] = [{"type": "start_game", "names": names, "kanachan": header}]
    for events_of_round in made.rounds:
        wall = [MJAI_NAMES[TILE_OF_ID[tile]] for tile in wall_of(Round(tuple(events_of_round)), made.vocabulary)]
        start, *rest = events_of_round
        events += [
            {**start, "kanachan": {"wall": wall[13 * made.vocabulary.num_seats :]}},
            *rest,
            {"type": "end_kyoku"},
        ]
    events.append({"type": "end_game", "scores": list(made.final_scores)})
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


def tenhou_json(made: MadeGame) -> bytes:
    is_tenhou = made.rules == "tenhou"
    length = "東南"[made.style]
    missing = 4 - made.vocabulary.num_seats
    seats = "三" * missing
    content = document_of(
        made.rounds,
        f"{seats}鳳{length}喰赤" if is_tenhou else f"{seats}玉の間{length}喰赤",
        ref=made.id,
        dan=[TENHOU_DANS[dan] for dan in TENHOU_DANS] if is_tenhou else MJSOUL_GRADES,
        sc=[number for score in (*made.final_scores, *[0] * missing) for number in (score, 0.0)],
    )
    return json.dumps(content, ensure_ascii=False).encode()


def tenhou_xml(made: MadeGame) -> bytes:
    is_of_three = made.vocabulary.num_seats == 3
    return mjlog_of(made.rounds, made.final_scores, 0xA1 | made.style << 3 | is_of_three << 4, tuple(TENHOU_DANS))


def read(content: bytes, name: str = "game.mjlog") -> Game:
    """The game of a file; the format is recognised by its content."""
    (game,) = read_record(Record(f"archive!{name}", 0, content))
    return game


WRITERS: dict[str, Callable[[MadeGame], bytes]] = {
    "mjai": mjai,
    "tenhou.net/6": tenhou_json,
    "mjlog": tenhou_xml,
    "Mahjong Soul, version 0": lambda made: message(document(made, 0)),
    "Mahjong Soul": lambda made: message(document(made, inputs=False), header=False),
    "Mahjong Soul as JSON, version 0": lambda made: json.dumps(document(made, 0)).encode(),
    "Mahjong Soul as JSON": lambda made: json.dumps(document(made, inputs=False)).encode(),
}


class OfTenhou(MadeGame):
    """With room, grades and points as Tenhou has them."""

    @property
    def grading_deltas(self) -> tuple[int, ...]:
        standings = zip(ranks_of(self.final_scores), TENHOU_DANS, strict=False)
        return tuple(tenhou_delta(rank, dan, "houou", self.style, len(self.final_scores)) for rank, dan in standings)


def of_tenhou(made: MadeGame) -> MadeGame:
    grades = tuple(TENHOU_GRADES[dan] for dan in TENHOU_DANS)[: made.vocabulary.num_seats]
    windows, decisions = made.windows, made.decisions
    return OfTenhou(made.rounds, windows, decisions, 4, made.style, grades, TENHOU_GAME, "tenhou", made.vocabulary)
