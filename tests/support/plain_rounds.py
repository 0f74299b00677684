"""Rounds of games by plain loops: from game records, and from decisions, for comparison with the vectorised code."""

from collections.abc import Iterable
from typing import Any

from annotate.annotation import Annotation
from annotate.game.grading import mjsoul_deltas, ranks_of
from annotate.game.record import Game
from annotate.game.results import final_scores, round_delta
from annotate.replay.continuity import start_of
from annotate.vocabulary import FOUR_PLAYERS, NUM_GRADES
from kanachan.data.columns import game_key
from kanachan.data.round_columns import RoundColumns
from tests.support.random_annotations import seat_of

_V = FOUR_PLAYERS
_NUM_SEATS = _V.num_seats
Plain = list[dict[str, Any]]


def as_plain(rounds: RoundColumns) -> Plain:
    """The rows as mappings."""
    columns = {name: getattr(rounds, name).tolist() for name in RoundColumns.__slots__}
    return [{name: column[row] for name, column in columns.items()} for row in range(len(rounds))]


def rounds_of_records(games: Iterable[Game], room: int, grades: tuple[int, ...]) -> Plain:
    """The rounds that records of whole games hold, with a room and grades for those that have none."""
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


def rounds_of_annotations(annotations: Iterable[Annotation]) -> tuple[Plain, set[int]]:
    """The rounds that decisions show, and the keys of games with a seat that has none; what is known of that seat's end
    is None. Of decisions of a round, the one that sees the fewest events counts."""
    firsts: dict[tuple[int, ...], Annotation] = {}
    for annotation in annotations:
        key = (game_key(annotation.game), *_place(annotation))
        if key not in firsts or len(annotation.progression) < len(firsts[key].progression):
            firsts[key] = annotation
    rounds: dict[tuple[int, ...], dict[str, Any]] = {}
    ends: dict[int, dict[int, tuple[int, int]]] = {}
    for (*place, seat), annotation in sorted(firsts.items()):
        ends.setdefault(place[0], {}).setdefault(seat, annotation.results[-2:])
        known = rounds.get(tuple(place))
        if known is None or len(annotation.progression) < known["events"]:
            rounds[tuple(place)] = _row(annotation) | {"game": place[0], "events": len(annotation.progression)}
    rows, numbers = [], dict.fromkeys(ends, 0)
    for row in rounds.values():
        end = [ends[row["game"]].get(seat, (None, None)) for seat in range(_NUM_SEATS)]
        del row["events"]
        rows.append(row | {"number": numbers[row["game"]], "final_score": [e[0] for e in end]})
        rows[-1]["grading_delta"] = [e[1] for e in end]
        numbers[row["game"]] += 1
    return rows, {game for game, seats in ends.items() if len(seats) < _NUM_SEATS}


def _place(annotation: Annotation) -> tuple[int, int, int, int]:
    """Wind, dealer, honba and the deciding seat."""
    return _token(annotation, "wind"), _token(annotation, "round"), annotation.numeric[0], seat_of(annotation)


def _row(annotation: Annotation) -> dict[str, Any]:
    honba, deposits, *scores = annotation.numeric
    events = [_V.progression.describe(token) for token in annotation.progression]
    has_drawn = any(_V.sparse.describe(token)[0] == "drawn" for token in annotation.sparse)
    for number, (name, values) in enumerate(events):
        is_passed = number + 1 < len(events) or has_drawn
        if name == "discard" and values["riichi"] and is_passed:
            scores[values["seat"]] += 1000
            deposits -= 1
    standing = [_V.sparse.describe(token)[1] for token in annotation.sparse if _block(token) == "standing"]
    grades = {s["seat"]: s["grade_or_rank"] for s in standing if s["grade_or_rank"] < NUM_GRADES}
    wind, dealer, _, _ = _place(annotation)
    return {
        "wind": wind,
        "dealer": dealer,
        "honba": honba,
        "deposits": deposits,
        "room": _token(annotation, "room"),
        "style": _token(annotation, "style"),
        "grade": [grades[seat] for seat in range(_NUM_SEATS)],
        "score": scores,
        "delta": list(annotation.results[1:5]),
        "rank": list(annotation.results[5:9]),
    }


def _block(token: int) -> str:
    return _V.sparse.describe(token)[0]


def _token(annotation: Annotation, block: str) -> int:
    (offset,) = [token - _V.sparse[block].first for token in annotation.sparse if _block(token) == block]
    return offset
