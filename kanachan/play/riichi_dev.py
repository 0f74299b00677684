"""Plays at an arena that speaks mjai over a WebSocket, such as riichi.dev.

The server sends one mjai event per frame. When it waits for this seat, it sends a frame `request_action` with
`request_id` and `possible_actions`. Only this frame is answered, with one of the possible actions and the `request_id`.
The answer is always one of the server's possible actions, since any other answer would cost a chombo.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedOK,
    InvalidHandshake,
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
)
from websockets.frames import CloseCode
from websockets.sync.client import connect

from annotate.game.record import Event
from kanachan.play.mjai_server import PROGRAM, Bot

REQUEST = "request_action"
_NOTICES = ("action_ack", "validation_result", "error")
"""types of server messages that are not game events"""
_OTHER_NAMES = {"pass": "none", "nukidora": "kita"}
_ID, _OPTIONS = "request_id", "possible_actions"
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""seconds between two attempts to connect, doubled after each attempt"""
MOST_ATTEMPTS = 8
"""consecutive attempts to connect before the program ends"""


class Arena:
    """Answers the server's frames."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._last = ""
        """the last event as text: a frame that is sent twice counts as one event"""
        self._answer: Event = {}
        """the bot's answer to the last event"""
        self._drawn: object = None
        """the last tile drawn"""
        self._sent: tuple[Any, str] = (None, "")
        """the last request's id, and the answer to that request"""
        self.is_playing = False
        """whether a game has started and not ended"""
        self.num_events = 0
        """number of game events processed"""
        self.num_games = 0
        """number of finished games"""

    def answer(self, frame: str | bytes) -> str | None:
        """Returns the text to send back for a frame, or None."""
        try:
            event = json.loads(frame)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            _report(f"not a JSON object: {str(frame)[:80]!r}; it is ignored")
            return None
        if event.get("type") == REQUEST:
            return self._answer_request(event)
        if "error" in event or event.get("type") in _NOTICES:
            if event.get("status") != "accepted":
                _report(f"the server says: {json.dumps(event, ensure_ascii=False)}")
            return None
        text = json.dumps(event, sort_keys=True)
        if text != self._last:
            self._last = text
            self._follow(event)
        return None

    def _follow(self, event: Event) -> None:
        self.num_events += 1
        if event.get("type") == "start_game":  # the numbers of its requests start again
            self._sent, self.is_playing = (None, ""), True
        self._drawn = event.get("pai") if event.get("type") == "tsumo" else self._drawn
        before, self._answer = self._answer, self._bot.answer(json.dumps(event))
        if self._answer["type"] == "error" != before.get("type"):
            _report(f"{self._answer['message']}; until the next round, tiles are discarded as drawn")
        if event.get("type") == "end_game":
            self.num_games, self.is_playing = self.num_games + 1, False
            _report(f"game {self.num_games} has ended: {json.dumps(event)}")

    def _answer_request(self, request: Mapping[str, Any]) -> str | None:
        number, options = request.get(_ID), request.get(_OPTIONS)
        if number is not None and number == self._sent[0]:
            return self._sent[1]
        if not isinstance(options, list) or not options or not all(isinstance(each, dict) for each in options):
            _report(f"{REQUEST} {number} without {_OPTIONS}; it is not answered")
            return None
        text = json.dumps({**chosen_option(self._answer, options, self._drawn), _ID: number}, separators=(",", ":"))
        self._sent = (number, text)
        return text


def chosen_option(answer: Event, options: Sequence[Event], drawn: object = None) -> Event:
    """Returns the server's option that matches the bot's answer. If there is none, returns the most probable candidate
    of the answer that matches an option, else a pass, else the discard of the tile just drawn (`drawn`)."""
    meta = answer.get("meta", {})
    candidates, probability = meta.get("candidates", []), meta.get("probabilities") or meta.get("expected_points", [])
    ranked = sorted(zip(probability, range(len(candidates)), strict=True), reverse=True)
    for wanted in [answer, *(candidates[i] for _, i in ranked)]:
        for option in options:
            if _is_same(wanted, option):  # an option may lack the actor, and whether the tile was just drawn
                return {**{name: wanted[name] for name in ("actor", "tsumogiri") if name in wanted}, **option}
    order = ("none", "pass", "dahai")
    return min(
        options,
        key=lambda o: (*(o.get("type") != name for name in order), not o.get("tsumogiri", o.get("pai") == drawn)),
    )


def _is_same(wanted: Event, option: Event) -> bool:
    """Returns whether an option is the wanted action, in all fields that the option has."""
    if _OTHER_NAMES.get(option.get("type", ""), option.get("type")) != wanted.get("type"):
        return False
    for name in ("pai", "tsumogiri"):
        if name in option and name in wanted and option[name] != wanted[name]:
            return False
    if "consumed" in option and "consumed" in wanted:
        return sorted(option["consumed"]) == sorted(wanted["consumed"])
    return True


def play(arena: Arena, url: str, token: str) -> None:
    """Plays until the server closes the connection normally; connects again if the connection is lost. Raises
    ValueError if the server refuses the token or cannot be reached."""
    attempt = 0
    while True:
        try:
            with connect(url, additional_headers={"Authorization": f"Bearer {token}"}) as socket:
                _report(f"connected to {url}")
                num_events = arena.num_events
                with suppress(ConnectionClosedOK):  # while sending
                    for frame in socket:
                        answer = arena.answer(frame)
                        if arena.num_events > num_events:
                            attempt = 0
                        if answer is not None:
                            socket.send(answer)
                if socket.close_code == CloseCode.GOING_AWAY and arena.is_playing:
                    raise ConnectionResetError("the server goes away")
                return
        except (InvalidURI, InvalidProxy, ImportError) as error:  # websockets imports what a proxy needs
            raise ValueError(f"{url}: cannot be connected to: {error}") from None
        except (ConnectionClosed, InvalidHandshake, OSError) as error:
            if isinstance(error, InvalidStatus) and error.response.status_code < 500:
                raise ValueError(f"{url}: the server refuses the connection: {error}") from None
            attempt += 1
            if attempt == MOST_ATTEMPTS:
                raise ValueError(f"{url}: cannot be reached, after {attempt} attempts: {error}") from None
            wait = min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT)
            _report(f"no connection ({error}); the next attempt is in {wait:g} s")
            time.sleep(wait)


def _report(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)
