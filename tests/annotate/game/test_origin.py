"""Who played a game, when and where, as records of every format state it."""

import json
from pathlib import Path

import pytest

from annotate.game.origin import Player, players_of
from annotate.game.record import Game
from annotate.records.reading import Record, read_record
from tests.support.real_records import real_records
from tests.support.writers.all_formats import TENHOU_GAME, WRITERS, mjai, tenhou_json, tenhou_xml
from tests.support.writers.majsoul_made import simulated

UUID = "210815-6da08e40-2605-42fb-a5e3-f8aa5940362a"


def read(data: bytes, name: str = "game") -> Game:
    (game,) = read_record(Record(name, len(data), data))
    return game


def test_a_tenhou_record_has_names_dans_rates_and_its_log() -> None:
    made = simulated(0, style=1, rules="tenhou")
    origin = read(tenhou_xml(made), f"{TENHOU_GAME}.mjlog").origin
    assert [player.name for player in origin.players] == ["誰0", "誰1", "誰2", "誰3"]
    assert [origin.grade_name(seat) for seat in range(4)] == ["七段", "八段", "九段", "天鳳"]
    assert origin.players[0].rate == 1500
    assert (origin.platform, origin.log, origin.date) == ("tenhou", TENHOU_GAME, "2021-07-01")
    assert origin.rules == "鳳南喰赤"
    assert origin.link(2, 5) == f"https://tenhou.net/0/?log={TENHOU_GAME}&tw=2&ts=5"


def test_tenhou_6_has_names_and_grades_of_its_platform() -> None:
    tenhou = simulated(0, rules="tenhou")
    tenhou.id = TENHOU_GAME
    origin = read(tenhou_json(tenhou)).origin
    assert (origin.platform, origin.log) == ("tenhou", TENHOU_GAME)
    assert [origin.grade_name(seat) for seat in range(4)] == ["七段", "八段", "九段", "天鳳"]
    assert [player.name for player in origin.players] == [f"誰{seat}" for seat in range(4)]
    mjsoul = simulated(0)
    mjsoul.id = UUID
    origin = read(tenhou_json(mjsoul)).origin
    assert (origin.platform, origin.log, origin.date) == ("mjsoul", UUID, "2021-08-15")
    assert [origin.grade_name(seat) for seat in range(4)] == ["雀豪1", "雀豪2", "雀豪3", "魂天"]
    assert origin.link(1, 2) == f"https://game.mahjongsoul.com/?paipu={UUID}"


@pytest.mark.parametrize("format_", [name for name in WRITERS if name.startswith("Mahjong Soul")])
def test_mahjong_soul_has_names_and_grades(format_: str) -> None:
    origin = read(WRITERS[format_](simulated(0))).origin
    assert [(player.name, player.account) for player in origin.players] == [
        (f"誰{seat}", 70 + seat) for seat in range(4)
    ]
    assert [origin.grade_name(seat) for seat in range(4)] == ["雀豪1", "雀豪2", "雀豪3", "魂天"]


def test_mjai_has_the_names_of_start_game() -> None:
    first, rest = mjai(simulated(0)).split(b"\n", 1)
    start = {**json.loads(first), "names": ["Alice", "Bob", "", 4]}
    origin = read(json.dumps(start).encode() + b"\n" + rest).origin
    assert [player.name for player in origin.players] == ["Alice", "Bob", None, None]
    assert origin.platform is None and origin.link() is None


def test_a_record_with_names_that_cannot_be_shown_is_not_refused() -> None:
    assert players_of(["a\u202eb", "  ", None, 7], 4)[0] == Player("a\ufffdb")
    names = ["東\u3000南", "a\u00a0b", "👨\u200d👩", "ab"]
    assert [player.name for player in players_of(names, 4)] == names
    assert players_of("abcd", 4) == players_of(None, 4) == players_of([None] * 4, 4) == ()
    assert players_of(["a"] * 4, 4, rates=["nan", "x", "1e99", "1500.5"])[3].rate == 1500.5


@pytest.mark.records
def test_a_real_record_has_its_players() -> None:
    path: Path = real_records("tenhou/houou-4p-2021")[0]
    (game,) = read_record(Record(str(path), 0))
    assert all(player.name and player.grade and player.rate for player in game.origin.players)
    assert game.origin.log == path.stem
