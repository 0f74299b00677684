"""The games of a match, advancing together: the result and the record of each.

A wall is played once in each of its seatings, so that both players get the same tiles. The hands and draws of a seat
are the same in all seatings up to the first choice that differs; later rounds have the same walls too.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from annotate.game.grading import ranks_of
from annotate.game.record import Event
from annotate.game.record_writer import rounds_of
from kanachan.play.agent import Agent, GameKey
from kanachan.play.game import Game
from kanachan.play.match import GameResult, Match
from kanachan.play.rollout import BatchedGames

_CALLS = ("chi", "pon", "daiminkan")


def match_games(
    match: Match,
    players: Mapping[str, Agent],
    records: Path | None = None,
    on_result: Callable[[GameResult], object] | None = None,
) -> BatchedGames[GameResult]:
    """Returns games of a match, none of them begun.

    Args:
        players: by letter.
        records: a folder for the games' records.
        on_result: see `BatchedGames`.
    """

    def begin(key: GameKey) -> Game:
        return Game(match.setup(key))

    def finish(game: Game, events: list[Event]) -> GameResult:
        if records is not None:
            game.write_record(records, events)
        return result_of(game, events)

    return BatchedGames(begin, players, finish, on_result)


def result_of(game: Game, events: list[Event]) -> GameResult:
    """Returns the result of a game that has ended.

    Args:
        events: of its record.
    """
    num_seats = len(game.setup.seats)
    wins, won_points, deal_ins, calls, riichis = ([0] * num_seats for _ in range(5))
    rounds = rounds_of(events)
    for of_round in rounds:
        _count(of_round, wins, won_points, deal_ins, calls, riichis)
    return GameResult(
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


def _count(
    events: list[Event],
    wins: list[int],
    won_points: list[int],
    deal_ins: list[int],
    calls: list[int],
    riichis: list[int],
) -> None:
    """Adds the events of a round to the counts by seat."""
    callers, declarers, payers = set(), set(), set()
    for event in events:
        kind, seat = event["type"], event.get("actor", -1)
        if kind in _CALLS:
            callers.add(seat)
        elif kind == "reach":
            declarers.add(seat)
        elif kind == "hora":
            wins[seat] += 1
            won_points[seat] += event["deltas"][seat]
            if event["target"] != seat:
                payers.add(event["target"])
    for seats, counts in ((callers, calls), (declarers, riichis), (payers, deal_ins)):
        for seat in seats:
            counts[seat] += 1
