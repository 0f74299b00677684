"""Self-play: games of a mixture of players. Each game is a function of only the settings and the game's number."""

import hashlib
import json
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from string import ascii_uppercase
from typing import Any

from annotate.game.settings import grades_by_seat, id_of_made
from annotate.vocabulary import Vocabulary
from kanachan.play.agent import GameKey, uniform_hash
from kanachan.play.agent_spec import parse_agent
from kanachan.play.game import Game, GameSetup, Series


@dataclass(frozen=True, kw_only=True)
class SelfPlay(Series):
    """All settings on which the games of self-play depend. Raises ValueError if the share of explored actions is not in
    0 ... 1, or if actions are to be explored but a player always takes the action of the highest score."""

    vocabulary: Vocabulary
    """vocabulary of the games"""
    shares: tuple[float, ...]
    """each player's share of the seats"""
    explore: float = 0.0
    """share of the networks' actions that are drawn uniformly from all possible actions"""
    grades: tuple[int, ...] = (14,)
    """one grade for all seats, or one per seat"""

    def __post_init__(self) -> None:
        if not 0 <= self.explore <= 1:
            raise ValueError(f"--explore must be a share in 0 ... 1, not {self.explore:g}")
        if len(self.players) > len(ascii_uppercase):
            raise ValueError(f"{len(self.players)} players: at most {len(ascii_uppercase)} can take turns")
        specs = {text: parse_agent(text, requires_files=False) for text in self.players}
        if self.explore and not any(spec.weights for spec in specs.values()):
            raise ValueError(f"--explore {self.explore:g}: has no effect without a network among the players")
        for text, spec in specs.items() if self.explore else ():
            if spec.weights and spec.temperature is None:
                raise ValueError(
                    f"{text}: takes the action of the highest score: --explore {self.explore:g} needs a temperature, "
                    f"such as {text}@0.7"
                )
        grades_by_seat(self.grades, self.vocabulary.num_seats)

    @cached_property
    def key(self) -> str:
        """A hash of the settings without the vocabulary, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values, without the vocabulary, which shards store separately."""
        values: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in _names()}))
        return values

    @classmethod
    def of_json(cls, values: Mapping[str, Any], vocabulary: Vocabulary) -> "SelfPlay":
        """Returns the settings that JSON values contain; other values are ignored. Raises ValueError if settings are
        missing, because another version of the program wrote the values."""
        missing = [name for name in _names() if name not in values]
        if missing:
            raise ValueError(f"the settings of self-play lack {', '.join(missing)}: another version has written them")
        return cls(vocabulary=vocabulary, **{name: _tuples(values[name]) for name in _names()})

    def game_id(self, number: int) -> str:
        """Returns the id of a game, which also names its record."""
        return id_of_made("selfplay", self.vocabulary, f"{self.key}-{number:08}")

    def seats(self, number: int) -> tuple[str, ...]:
        """Returns the letter of each seat's player in a game."""
        limits = list(accumulate(self.shares))[:-1]
        drawn = (uniform_hash(self.seed, "player", number, seat) for seat in range(self.vocabulary.num_seats))
        return tuple(ascii_uppercase[bisect(limits, uniform)] for uniform in drawn)

    def begin(self, key: GameKey) -> Game:
        """Starts a game; its number is the number of its wall."""
        setup = GameSetup(
            series=self,
            key=key,
            id=self.game_id(key.wall),
            vocabulary=self.vocabulary,
            grades=grades_by_seat(self.grades, self.vocabulary.num_seats),
            seats=self.seats(key.wall),
            salt="selfplay-",
        )
        return Game(setup, logs_decisions=True)


def _names() -> list[str]:
    """Returns the names of the settings that shards store with their games."""
    return [field.name for field in fields(SelfPlay) if field.name != "vocabulary"]


def _tuples(value: Any) -> Any:
    """Returns JSON lists as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
