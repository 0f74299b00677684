"""A match of duplicate games: the players' seats on each wall, and the result of a game.

A wall is played once in each of its seatings, so that both players get the same tiles. A seat's hands and draws are
identical in all seatings up to the first different choice; the walls of later rounds are identical too.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from annotate.game.grading import ranks_of
from annotate.game.record import CLAIMS, Event
from annotate.game.record_writer import rounds_of
from annotate.vocabulary import Vocabulary, vocabulary_of_seats
from kanachan.play.agent import GameKey
from kanachan.play.game import Game, GameSetup, Series

Format = Literal["1v3", "2v2", "1v2", "2v1"]
PLAYERS = ("A", "B")
_PARTNERS = (2, 1, 3)  # partner of seat 0 in 2v2, cycling from wall to wall


@dataclass(frozen=True, kw_only=True)
class Match(Series):
    """All settings on which the results of the games of a match depend."""

    explore: ClassVar[float] = 0.0
    """share of actions that are drawn from all possible actions: none"""
    format: Format = "1v3"
    grades: tuple[int, int] = (14, 14)
    """grades of A and B"""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the games, which depends on the format's number of seats."""
        return vocabulary_of_format(self.format)

    @property
    def key(self) -> str:
        """A hash of the settings, 8 hexadecimal digits."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]

    def games(self, number: int) -> list[GameKey]:
        """Returns the games of the match: `number`, rounded up to whole walls."""
        seatings = num_seatings(self.format)
        return [GameKey(wall, seating) for wall in range(-(-number // seatings)) for seating in range(seatings)]

    def game_id(self, game: GameKey) -> str:
        """Returns the name of a game's record."""
        return f"arena-{self.key}-{game.wall:06}-{game.seating}"

    def begin(self, game: GameKey) -> Game:
        """Starts a game."""
        seats = players_by_seat(self.format, game)
        grades = tuple(self.grades[PLAYERS.index(player)] for player in seats)
        id_, vocabulary = self.game_id(game), self.vocabulary
        return Game(
            GameSetup(series=self, key=game, id=id_, vocabulary=vocabulary, grades=grades, seats=seats, salt="arena-")
        )


def vocabulary_of_format(format_: Format) -> Vocabulary:
    """Returns the vocabulary of the games of a format."""
    return vocabulary_of_seats(int(format_[0]) + int(format_[2]))


def default_format(vocabulary: Vocabulary) -> Format:
    """Returns the format in which one A plays against B in all other seats."""
    return "1v3" if vocabulary.num_seats == 4 else "1v2"


def num_seatings(format_: Format) -> int:
    """Returns how many games are played on a wall."""
    return 2 if format_ == "2v2" else vocabulary_of_format(format_).num_seats


def players_by_seat(format_: Format, game: GameKey) -> tuple[str, ...]:
    """Returns the player of each seat, "A" or "B". 1v3, 1v2: A takes every seat in turn. 2v1: B does. 2v2: A takes
    seat 0 and a partner seat, which changes from wall to wall, and then the two other seats."""
    num_seats = vocabulary_of_format(format_).num_seats
    if format_ == "2v2":
        first = {0, _PARTNERS[game.wall % len(_PARTNERS)]}
        return tuple("A" if (seat in first) == (game.seating == 0) else "B" for seat in range(num_seats))
    alone, others = ("B", "A") if format_ == "2v1" else ("A", "B")
    return tuple(alone if seat == game.seating else others for seat in range(num_seats))


@dataclass(frozen=True, slots=True)
class GameResult:
    """The result of one game; lists are by seat."""

    wall: int
    seating: int
    players: str
    """A or B for each seat"""
    ranks: list[int]
    """0 is first place"""
    scores: list[int]
    grading_deltas: list[int]
    rounds: int
    draws: int
    """rounds that nobody won"""
    wins: list[int]
    won_points: list[int]
    """points gained by all wins, honba and deposits included"""
    deal_ins: list[int]
    """rounds with a deal-in"""
    calls: list[int]
    """rounds with a chi, pon or kan of another player's discard"""
    riichis: list[int]
    """rounds with a riichi"""
    decisions: list[int]
    """turns with two or more possible actions"""

    @property
    def game(self) -> GameKey:
        """The key of the game."""
        return GameKey(self.wall, self.seating)

    @classmethod
    def of(cls, game: Game, events: list[Event]) -> "GameResult":
        """Returns the result of a finished game, counted from its events."""
        num_seats = len(game.setup.seats)
        wins, won_points, deal_ins, calls, riichis = ([0] * num_seats for _ in range(5))
        rounds = rounds_of(events)
        for of_round in rounds:
            won = [event for event in of_round if event["type"] == "hora"]
            for event in won:
                wins[event["actor"]] += 1
                won_points[event["actor"]] += event["deltas"][event["actor"]]
            for seats, counts in (
                ({event["target"] for event in won if event["target"] != event["actor"]}, deal_ins),
                ({event["actor"] for event in of_round if event["type"] in CLAIMS}, calls),
                ({event["actor"] for event in of_round if event["type"] == "reach"}, riichis),
            ):
                for seat in seats:
                    counts[seat] += 1
        return cls(
            wall=game.key.wall,
            seating=game.key.seating,
            players="".join(game.setup.seats),
            ranks=list(ranks_of(game.table.scores)),
            scores=game.table.scores,
            grading_deltas=game.grading_deltas,
            rounds=len(rounds),
            draws=sum(of_round[-1]["type"] != "hora" for of_round in rounds),
            wins=wins,
            won_points=won_points,
            deal_ins=deal_ins,
            calls=calls,
            riichis=riichis,
            decisions=game.decisions,
        )
