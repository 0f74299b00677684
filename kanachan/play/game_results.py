"""The result of a game of a match, counted from its events."""

from annotate.game.grading import ranks_of
from annotate.game.record import Event
from annotate.game.record_writer import rounds_of
from kanachan.play.game import Game
from kanachan.play.match import GameResult

_CALLS = ("chi", "pon", "daiminkan")


def result_of(game: Game, events: list[Event]) -> GameResult:
    """Returns the result of a game that has ended."""
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
