"""Finding record files and recognising their formats by content."""

import gzip
import os
from pathlib import Path

import pytest
import zstandard

from annotate.records import reading
from annotate.records.reading import find_records, read_games
from tests.support.paths import HANDMADE_RECORDS
from tests.support.real_records import real_records
from tests.support.writers.majsoul_wire import wire

RECORDS = HANDMADE_RECORDS
MJLOG = RECORDS / "2026010100gm-0001-0000-handmade.mjlog"
MJAI = RECORDS / "handmade.jsonl"
ACCEPTED = f"accepted are {reading.ACCEPTED}"


@pytest.mark.parametrize("record", [MJLOG, MJAI])
def test_neither_suffix_nor_compression_matters(record: Path, tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.txt", tmp_path / "packed.txt"
    plain.write_bytes(record.read_bytes())
    packed.write_bytes(gzip.compress(record.read_bytes()))
    assert read_games(str(plain))[0].rounds == read_games(str(packed))[0].rounds == read_games(str(record))[0].rounds


def test_frames_of_parallel_zstd_are_read(tmp_path: Path) -> None:
    skippable = bytes.fromhex("502a4d18 04000000 00000000")  # which pzstd writes before each frame
    path = tmp_path / "packed.mjlog.zst"
    path.write_bytes(skippable + zstandard.compress(MJLOG.read_bytes()))
    assert read_games(str(path))[0].rounds == read_games(str(MJLOG))[0].rounds


def test_a_byte_order_mark_and_an_xml_declaration_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "marked.xml"
    path.write_bytes(b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>\n' + MJLOG.read_bytes())
    assert len(read_games(str(path))[0].rounds) == 1


def test_mjai_lines_that_mention_a_word_of_mahjong_soul_are_mjai(tmp_path: Path) -> None:
    first, rest = MJAI.read_text().split("\n", 1)
    path = tmp_path / "named.jsonl"
    path.write_text(f'{first[:-1]}, "head": ".lq."}}\n{rest}')
    assert read_games(str(path))[0].rounds == read_games(str(MJAI))[0].rounds


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", f"empty; {ACCEPTED}"),
        (gzip.compress(b"", mtime=0), f"empty; {ACCEPTED}"),
        (bytes(range(128, 256)) * 4, f"not a game record: neither text nor compressed by gzip or zstd; {ACCEPTED}"),
        (b"# a list of games\n", f"not a game record; {ACCEPTED}"),
        (b'{"a": 1}', f"not a game record; {ACCEPTED}"),
        (b"[" * 100_000, f"not a game record; {ACCEPTED}"),
        (b"<!DOCTYPE html><html></html>", f"not a game record: XML or HTML without <mjloggm>; {ACCEPTED}"),
        (b'<?xml version="1.0"?><svg/>', "unexpected element <svg>"),
        (b'{"title": [], "rule": {}, "log": 1}', "no game in the format of tenhou.net/6"),
        (b'{"head": {"accounts": []}}', "the game itself (data) is missing"),
        (b'{"head": {"accounts": []', "JSON, perhaps of Mahjong Soul, cut off or damaged: "),
        (b'{"head": {"accounts": []}}\n' * 2, "of several games: store each in its own file"),
        (MJLOG.read_bytes() + b'\n{"type": "start_game"}\n', "JSON after the XML of a game: store it in its own file"),
        (gzip.compress(MJAI.read_bytes(), mtime=0)[:-12], "the gzip file is cut off"),
        (gzip.compress(MJAI.read_bytes(), mtime=0)[:-8] + bytes(8), "the gzip file is damaged"),
        (gzip.compress(gzip.compress(MJAI.read_bytes())), "compressed twice: decompress it once and run again"),
        (MJAI.read_bytes().replace(b"7p", b"7x"), "line 3: tsumo: pai"),
        (b"\x01\x0a\x10.lq.NotifyCaptcha", "not the response that holds a game record"),
        (b"\x02\x05\x00\x0a\x1b.lq.Lobby.fetchGameRecord", "not the response that holds a game record"),
        (b"\x03", "cut off: a message without content"),
        (b"\x03\x05\x00", "cut off: a message without content"),
        (b"\x03\x05\x00\x0a\x00\x12\x00", "cut off: a message without content"),
        (b"\x12\x02\x22\x00", "no head: the game's id, room and players are missing"),
        (wire("Wrapper", {"name": ".lq.GameDetailRecords", "data": b"\x10\x01"}), "a ResGameRecord is expected"),
        (b"\x0a\x00\x12\x03\x1a\x01\xff", "cut off or damaged: no ResGameRecord where one is expected"),
    ],
)
def test_a_file_that_is_no_record_is_refused_with_its_name_and_the_reason(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.xml"
    path.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        read_games(str(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)


def test_a_folder_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a folder, where one file is expected"):
        read_games(str(tmp_path))


def test_a_pipe_is_refused_without_waiting_for_its_content(tmp_path: Path) -> None:
    for name in ("pipe", "pipe.jsonl"):
        os.mkfifo(tmp_path / name)
    named = find_records([str(tmp_path / "pipe"), str(tmp_path)])
    assert reading.num_players_of_first(named) is None
    for record in reading.records_of(named):
        with pytest.raises(ValueError, match="pipe: store what comes through it in a file and name that"):
            reading.read_record(record)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing\.xml: cannot be read: No such file"):
        read_games(str(tmp_path / "nothing.xml"))


BELOW = ["[1].xml", "a/1.mjlog", "a/2.json", "a/deep/x.JSONL", "b.xml", "y.gz", "z.mjson"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*BELOW[::-1], "notes.txt", ".hidden/h.xml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def found(folder: Path, *patterns: str) -> list[str]:
    return [os.path.relpath(path, folder) for path in find_records([str(folder / pattern) for pattern in patterns])]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([""], BELOW),  # the records below a folder, in order
        (["notes.txt", "b.xml"], ["notes.txt", "b.xml"]),  # a file that is named counts whatever its suffix
        (["?.xml", "a/*.json"], ["b.xml", "a/2.json"]),
        (["**/*.mjlog"], ["a/1.mjlog"]),
        (["[1].xml"], ["[1].xml"]),  # a name with the characters of patterns is a name first
        (["b.xml", "", "b.xml"], ["b.xml", *(name for name in BELOW if name != "b.xml")]),
    ],
)
def test_names_folders_and_patterns_find_each_file_once(folder: Path, patterns: list[str], expected: list[str]) -> None:
    assert found(folder, *patterns) == expected


@pytest.mark.parametrize("pattern", ["missing.xml", "*.zip", ".hidden/deeper"])
def test_a_path_that_matches_nothing_is_named(folder: Path, pattern: str) -> None:
    with pytest.raises(ValueError) as caught:
        found(folder, "b.xml", pattern)
    assert str(caught.value).startswith(f"{folder / pattern}: ")


@pytest.mark.records
def test_real_mjai_records_are_read() -> None:
    games = [game for path in real_records("mjai") for game in read_games(str(path))]
    assert [(len(game.rounds), game.style, game.incomplete) for game in games] == [(12, 1, None), (12, 1, None)]
    assert all(game.final_scores is not None and sum(game.final_scores) == 100_000 for game in games)
