"""Recognises replay addresses of Tenhou and Mahjong Soul, and finds the file of an address's game. Fetches nothing."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from annotate.game.origin import Origin, Platform, log_in
from annotate.records.finding import is_record_name

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_WITH_RECORD = re.compile(r"https?://(?:www\.)?tenhou\.net/[56]/?(?:\?[^#\s]*)?#json=", re.IGNORECASE)
"""addresses of Tenhou's viewer and editor, which contain the record itself"""
_VIEW = re.compile(r"[?&]tw=([0-3])(?!\d)")
_AFTER_RECORD = re.compile(r"(?:\}|%7d)((?:&\w+=\w*)*)\s*$", re.IGNORECASE)
_ACCOUNT = re.compile(r"_a(\d+)$")
_ANONYMOUS = re.compile(r"_2$")
_ENCODED_LOG = re.compile(r"log=(?:\d{10}gm-[0-9a-f]{4}-\w+-)?x[0-9a-z]", re.IGNORECASE)
_KNOWN = "https://tenhou.net/0/?log=ID&tw=SEAT or https://game.mahjongsoul.com/?paipu=ID"


@dataclass(frozen=True, slots=True)
class ReplayAddress:
    """The address of a game's replay."""

    text: str
    platform: Platform
    log: str
    seat: int | None = None
    """seat of the view (Tenhou's tw), if the address contains it"""
    account: int | None = None
    """account of the view (Mahjong Soul's _a), if the address contains it"""

    @property
    def advice(self) -> str:
        """Tells the user which address to open and under which name to store the record."""
        if self.platform == "tenhou":
            return f"open https://tenhou.net/0/log/?{self.log} in a browser and store the page as {self.log}.xml"
        return (
            "Mahjong Soul gives its records only to its own client: open the address there and store the game with a "
            f"tool that captures the client's messages or converts them to JSON, as {self.log}.json"
        )

    def seat_in(self, origin: Origin) -> int | None:
        """Returns the seat of the view; None if the address does not contain it or the record lacks the account."""
        accounts = [player.account for player in origin.players]
        is_known = self.account is not None and self.account in accounts
        return accounts.index(self.account) if is_known else self.seat

    def file_in(self, folder: Path) -> str | None:
        """Returns the name of the record file in a folder that contains the game's name; of several the shortest."""
        names = [path.name for path in folder.iterdir() if self.log in path.name and path.is_file()]
        return min(filter(is_record_name, names), key=lambda name: (len(name), name), default=None)


def is_record_address(text: str) -> bool:
    """Returns whether a text starts like an address that contains a record."""
    return _WITH_RECORD.match(text) is not None


def seat_in(text: str) -> int | None:
    """Returns the seat of the view in an address, or in a file name given by Tenhou's client (&tw=2). Ignores the text
    of a record that the address contains."""
    if is_record_address(text):
        before, _, record = text.partition("#")
        behind = _AFTER_RECORD.search(record)
        text = f"{before}{behind[1] if behind else ''}"
    found = _VIEW.search(text)
    return int(found[1]) if found else None


def is_address(text: str) -> bool:
    """Returns whether a text is an address rather than a path."""
    return _ADDRESS.fullmatch(text) is not None


def parse_address(text: str) -> ReplayAddress:
    """Parses the address of a replay. Raises ValueError if it is not an address of a known platform, or does not name a
    game."""
    found = log_in(text)
    host = urlsplit(text).hostname or ""
    if found is None and _is_host_of("tenhou", host) and _ENCODED_LOG.search(text):
        raise ValueError(
            f"{text}: a log name that only Tenhou's client decodes: open the address there, and give the address that "
            "the client shows then, or the file that it stores"
        )
    if _is_host_of("mjsoul", host) and _ANONYMOUS.search(text):
        raise ValueError(
            f"{text}: an anonymous address of Mahjong Soul (_2 at its end), where the game's name differs from the "
            "name in its record: open it in the game and store the record, then give the file"
        )
    if found is None or not _is_host_of(found[0], host):
        raise ValueError(f"{text}: not the address of a replay; known are {_KNOWN}")
    return ReplayAddress(text, *found, seat=seat_in(text), account=_account_in(text))


def _account_in(text: str) -> int | None:
    """Returns the account of the view in an address of Mahjong Soul, whose client mixes the bits of the number."""
    found = _ACCOUNT.search(text)
    if found is None:
        return None
    account, rest = divmod(((int(found[1]) - 1_358_437) ^ 86_216_345) - 1_117_113, 7)
    return account if rest == 0 else None


def _is_host_of(platform: Platform, host: str) -> bool:
    if platform == "tenhou":
        return host == "tenhou.net" or host.endswith(".tenhou.net")
    return "mahjongsoul" in host or "maj-soul" in host
