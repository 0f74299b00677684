"""Plays single rounds from given walls, many together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotate.game.engine.table import Table
from annotate.game.record import Event
from annotate.game.record_writer import rounds_of
from annotate.game.results import round_delta
from annotate.runtime.signals import StopRequest
from annotate.vocabulary import Vocabulary
from kanachan.play.agent import Agent, GameKey, Opening
from kanachan.play.game import Game, GameSetup, LoggedDecision
from kanachan.play.rollout import BatchedGames

_TOGETHER = 128


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A round that has ended."""

    delta: list[int]
    """the change of the score of each seat, riichi sticks included"""
    decisions: list[LoggedDecision]


def play_rounds(
    opening: Opening,
    walls: Iterable[list[int]],
    players: Mapping[str, Agent],
    seats: tuple[str, ...],
    vocabulary: Vocabulary,
) -> list[PlayedRound | None]:
    """Plays a round from each wall (physical tiles, in the order of the deal); `seats`: the letter of each seat's
    player. Returns the rounds in the order of the walls; None for one that its engine could not continue."""

    def begin(key: GameKey) -> Game:
        table = Table.of_round(opening.rules, opening.start, wall_of[key], vocabulary)
        setup = GameSetup(
            key=key,
            id=f"round-{key.wall}",
            vocabulary=vocabulary,
            rules=opening.rules,
            style=opening.style,
            room=opening.room,
            grades=opening.grades,
            seats=seats,
            players=dict.fromkeys(players, ""),
            table_seed=0,
        )
        return Game(setup, logs_decisions=True, table=table)

    def finish(game: Game, events: list[Event]) -> PlayedRound | None:
        (of_round,) = rounds_of(events)
        assert game.log is not None
        return PlayedRound(round_delta(of_round, vocabulary.num_seats), game.log.decisions)

    wall_of = {GameKey(number, 0): wall for number, wall in enumerate(walls)}
    running = BatchedGames(begin, players, finish, on_failure=lambda key, error: None)
    played = dict(running.play(iter(wall_of), _TOGETHER, StopRequest()))
    return [played[key] for key in wall_of]
