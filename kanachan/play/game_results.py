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
        won = [event for event in of_round if event["type"] == "hora"]
        for event in won:
            wins[event["actor"]] += 1
            won_points[event["actor"]] += event["deltas"][event["actor"]]
        for seats, counts in (
            ({event["target"] for event in won if event["target"] != event["actor"]}, deal_ins),
            ({event["actor"] for event in of_round if event["type"] in _CALLS}, calls),
            ({event["actor"] for event in of_round if event["type"] == "reach"}, riichis),
        ):
            for seat in seats:
                counts[seat] += 1
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
