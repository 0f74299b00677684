"""Rounds of game records by plain loops, for comparison with the rounds in shards."""

from collections.abc import Iterable
from typing import Any

from annotate.game.grading import mjsoul_deltas, ranks_of
from annotate.game.record import Game
from annotate.game.results import final_scores, round_delta
from annotate.game.round_start import start_of
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.columns import game_key
from kanachan.data.round_columns import RoundColumns

_NUM_SEATS = FOUR_PLAYERS.num_seats
Plain = list[dict[str, Any]]


def as_plain(rounds: RoundColumns) -> Plain:
    """The rows as mappings."""
    columns = {name: getattr(rounds, name).tolist() for name in RoundColumns.__slots__}
    return [{name: column[row] for name, column in columns.items()} for row in range(len(rounds))]


def rounds_of_records(games: Iterable[Game], room: int, grades: tuple[int, ...]) -> Plain:
    """The rounds that records of whole games hold, with a room and grades for games that have none."""
    rows = []
    for game in games:
        game_room, game_grades = room if game.room is None else game.room, game.grades or grades
        final = game.final_scores or final_scores(game.rounds[-1].events)
        points = game.grading_deltas or mjsoul_deltas(final, game_room, game_grades, game.style)
        end = {"room": game_room, "style": game.style, "grade": list(game_grades), "final_score": list(final)}
        end |= {"rank": list(ranks_of(final)), "grading_delta": list(points), "game": game_key(game.id)}
        for number, recorded in enumerate(game.rounds):
            start = start_of(recorded.events)
            wind, dealer = divmod(start.number, _NUM_SEATS)
            row = {"number": number, "wind": wind, "dealer": dealer, "honba": start.honba, "deposits": start.deposits}
            row |= {"score": list(start.scores), "delta": round_delta(recorded.events, _NUM_SEATS)}
            rows.append(row | end)
    return sorted(rows, key=lambda row: (row["game"], row["number"]))
