"""Addresses of replays, and the files of their games."""

from pathlib import Path

import pytest

from annotate.records.addresses import is_address, parse_address

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
def test_other_addresses_are_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(ValueError, match="not the address of a replay; known are https://tenhou.net"):
        parse_address(text)


def test_a_path_is_not_an_address() -> None:
    assert is_address("HTTPS://tenhou.net/0/") and not is_address("game.mjlog") and not is_address("./https.json")


def test_the_file_is_found_by_the_name_of_the_game(tmp_path: Path) -> None:
    address = parse_address(f"https://tenhou.net/0/?log={LOG}")
    assert address.file_in(tmp_path) is None
    for name in (f"{LOG}&tw=2.mjlog.gz", f"{LOG}.png", "other.mjlog"):
        (tmp_path / name).touch()
    assert address.file_in(tmp_path) == f"{LOG}&tw=2.mjlog.gz"
    (tmp_path / f"{LOG}.xml").touch()
    assert address.file_in(tmp_path) == f"{LOG}.xml"
