"""Mahjong Soul captures whose game is in a second file, at the address in data_url."""

import gzip
import json
from pathlib import Path

import pytest

from annotate.records.reading import read_games
from kanachan.cli.annotate import main as annotate
from tests.support.writers.majsoul_made import made_round
from tests.support.writers.majsoul_wire import wire
from tests.support.writers.majsoul_writer import document, message

URL = "https://example.com/records/210815-made-up"


def pair(folder: Path, is_json: bool = False) -> Path:
    """A capture without its game, and the game beside it; returns the capture."""
    recorded = document(made_round("0 riichi 8m; 0 tsumo", ["123m456p789s23s11z"], "8m...4s"))
    wrapped = wire(
        "Wrapper", {"name": recorded["data"]["name"], "data": wire("GameDetailRecords", recorded["data"]["data"])}
    )
    (folder / "game.data").write_bytes(wrapped)
    del recorded["data"]
    recorded["data_url"] = URL
    path = folder / ("game.json" if is_json else "game.bin")
    path.write_bytes(json.dumps(recorded).encode() if is_json else message(recorded))
    return path


@pytest.mark.parametrize("is_json", [False, True])
def test_a_capture_is_read_with_the_file_of_its_game_beside_it(is_json: bool, tmp_path: Path) -> None:
    recorded = document(made_round("0 riichi 8m; 0 tsumo", ["123m456p789s23s11z"], "8m...4s"))
    whole = tmp_path / "whole.bin"
    whole.write_bytes(message(recorded))
    assert read_games(str(pair(tmp_path, is_json))) == read_games(str(whole))


def test_the_file_of_the_game_may_be_compressed(tmp_path: Path) -> None:
    path = pair(tmp_path)
    expected = read_games(str(path))
    second = tmp_path / "game.data"
    second.write_bytes(gzip.compress(second.read_bytes()))
    assert read_games(str(path)) == expected


def test_a_missing_file_is_named_with_the_address_to_download(tmp_path: Path) -> None:
    path = pair(tmp_path)
    (tmp_path / "game.data").unlink()
    with pytest.raises(ValueError) as caught:
        read_games(str(path))
    assert str(caught.value) == (
        f"{path}: the game itself is not in the file but at {URL} (data_url): "
        f"download it to {tmp_path}/game.data and run again"
    )


def test_a_folder_of_pairs_is_annotated_and_no_file_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records").mkdir()
    pair(tmp_path / "records")
    assert annotate([str(tmp_path / "records"), "-o", str(tmp_path / "lines.txt"), "-j", "1"]) == 0
    printed = capsys.readouterr().err
    assert "1 games" in printed and "skipped" not in printed
