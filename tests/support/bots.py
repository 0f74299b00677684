"""kanachan-bot with a network in a seat, and its answers to the lines of a game."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annotate.game.features import ObservationEncoder
from annotate.game.record import Event
from kanachan.inference.policy import Policy
from kanachan.play.mjai_bot import MjaiBot
from kanachan.play.mjai_server import Bot
from tests.support.mjai_table import hidden_from

START = {"type": "start_game", "names": ["a", "b", "c", "d"]}
END_OF_ROUND = {"type": "end_kyoku"}


def bot_of(weights: Path, seat: int, *, style: int = 1, **settings: Any) -> Bot:
    policy = Policy.load(weights)
    writer = ObservationEncoder(policy.vocabulary, 4, style, (14,) * policy.vocabulary.num_seats)
    return Bot(MjaiBot(policy, seat, "mjsoul", writer, **settings))


def answers(bot: Bot, events: Sequence[Event]) -> list[Event]:
    return [bot.answer(json.dumps(event)) for event in events]


def stream(seat: int, rounds: Sequence[Sequence[Event]], is_open: bool = False) -> list[Event]:
    """Returns the events of a game that a seat receives."""
    received = [
        event if is_open else hidden_from(seat, event) for events in rounds for event in [*events, END_OF_ROUND]
    ]
    return [START, *received, {"type": "end_game"}]
