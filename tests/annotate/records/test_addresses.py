"""Addresses of replays, and the files of their games."""

from pathlib import Path

import pytest

from annotate.game.origin import Origin, Player
from annotate.records.addresses import is_record_address, parse_address, seat_in

LOG = "2021070100gm-00a9-0000-0123abcd"
UUID = "210815-6da08e40-2605-42fb-a5e3-f8aa5940362a"


@pytest.mark.parametrize(
    ("text", "platform", "log", "seat"),
    [
        (f"https://tenhou.net/0/?log={LOG}&tw=2", "tenhou", LOG, 2),
        (f"http://tenhou.net/0/?log={LOG}", "tenhou", LOG, None),
        (f"https://tenhou.net/4/?log={LOG}&tw=1&ts=3", "tenhou", LOG, 1),
        (f"https://tenhou.net/0/?log={LOG}&tw=7", "tenhou", LOG, None),
        (f"https://game.mahjongsoul.com/?paipu={UUID}_a12345", "mjsoul", UUID, None),
        (f"https://game.maj-soul.com/1/?paipu={UUID}", "mjsoul", UUID, None),
        (f"https://mahjongsoul.game.yo-star.com/?paipu={UUID}", "mjsoul", UUID, None),
    ],
)
def test_addresses_of_both_platforms_name_a_game(text: str, platform: str, log: str, seat: int | None) -> None:
    address = parse_address(text)
    assert (address.platform, address.log, address.seat) == (platform, log, seat)
    assert log in address.advice


@pytest.mark.parametrize(
    "text", ["https://tenhou.net/0/", f"https://example.org/?log={LOG}", f"https://tenhou.net/?paipu={UUID}"]
)
def test_other_addresses_are_refused_and_the_known_ones_are_listed(text: str) -> None:
    with pytest.raises(ValueError, match="not the address of a replay; known are https://tenhou.net"):
        parse_address(text)


def test_the_file_is_found_by_the_name_of_the_game(tmp_path: Path) -> None:
    address = parse_address(f"https://tenhou.net/0/?log={LOG}")
    assert address.file_in(tmp_path) is None
    for name in (f"{LOG}&tw=2.mjlog.gz", f"{LOG}.png", "other.mjlog"):
        (tmp_path / name).touch()
    assert address.file_in(tmp_path) == f"{LOG}&tw=2.mjlog.gz"
    (tmp_path / f"{LOG}.xml").touch()
    assert address.file_in(tmp_path) == f"{LOG}.xml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://tenhou.net/0/?log=2021070100gm-00a9-0000-x0123456789ab&tw=1", "only Tenhou's client decodes"),
        ("https://game.mahjongsoul.com/?paipu=jmjqnv-wx3v4398-7b84-6f2d-mnbf-vtvzwsvyqrtx_a925124703_2", "anonymous"),
        (f"https://game.mahjongsoul.com/?paipu={UUID}_a12345_2", "store the record"),
    ],
)
def test_errors_about_addresses_that_name_no_record_say_what_to_do(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_address(text)


@pytest.mark.parametrize("text", ["https://tenhou.net/5/#json=%7B", "http://www.tenhou.net/6/?tw=2#json={"])
def test_addresses_that_hold_a_record_are_recognised(text: str) -> None:
    assert is_record_address(text) and not is_record_address(f"https://tenhou.net/0/?log={LOG}")


@pytest.mark.parametrize(
    ("text", "seat"),
    [
        (f"{LOG}&tw=0.mjlog", 0),
        (LOG, None),
        ("https://tenhou.net/5/?tw=2#json={}", 2),
        ("https://tenhou.net/5/#json={}&ts=1&tw=3", 3),
        ("https://tenhou.net/5/#json=%7B%7d&tw=1", 1),
        ('https://tenhou.net/5/#json={"name":["&tw=2","?tw=1","a}&tw=3","d"]}', None),
        ('https://tenhou.net/5/?tw=0#json={"title":["a&tw=2",""]}&ts=0', 0),
    ],
)
def test_the_seat_is_read_from_an_address_or_from_a_file_name_of_tenhous_client(text: str, seat: int | None) -> None:
    assert seat_in(text) == seat


def test_a_seat_is_found_by_the_player_in_an_address_of_mahjong_soul() -> None:
    log = "260522-2793b6c3-992e-424b-9205-11a121e9ac00"
    players = tuple(Player(account=number) for number in (5, 16_329_130, None, 7))
    for text, seat in ((f"{log}_a64445483", 1), (f"{log}_a64445484", None), (f"{log}_a1", None), (log, None)):
        address = parse_address(f"https://game.maj-soul.com/1/?paipu={text}")
        assert address.seat_in(Origin("mjsoul", log, players=players)) == seat
        assert address.seat_in(Origin("mjsoul", log)) is None
