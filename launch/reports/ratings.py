"""Computes the scale of a review's rating: the ratings of players in a set of games by the package's networks.

    python launch/reports/ratings.py RECORDS… --games 100

Updates kanachan/review/ratings.json for the network for the games' number of players. The network must not have learned
from these games.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from annotate.game.record import Game
from annotate.records.reading import find_records, games_of, records_of
from annotate.replay.replay import annotate_game
from annotate.runtime.terminal import run_cleanly
from kanachan.inference.policy import Policy
from kanachan.models.card import weights_hash
from kanachan.models.reference import FIRST_STAGE, shipped_name
from kanachan.review.predictions import reviewed_predictions
from kanachan.review.rating import PERCENTILES, SCALES, rating_of
from kanachan.review.rounds import value_of


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("ratings", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("records", metavar="RECORDS", nargs="+")
    parser.add_argument("--games", type=int, default=100, help="complete games to rate (default: %(default)s)")
    arguments = parser.parse_args(argv)
    return run_cleanly(parser.prog, lambda: write(arguments.records, arguments.games))


def write(records: Sequence[str], number: int) -> None:
    if number < 1:
        raise ValueError(f"--games must be at least 1, not {number}")
    games = list(islice(whole_games(records), number))
    if not games:
        raise ValueError(f"no whole game in {', '.join(records)}")
    num_seats = games[0].vocabulary.num_seats
    name = shipped_name(FIRST_STAGE, num_seats)
    policy = Policy.load(name)
    ratings = [rating for game in games for rating in ratings_of(game, policy)]
    scales = json.loads(SCALES.read_text()) if SCALES.exists() else {}
    scales[name] = {
        "weights": weights_hash(name),
        "games": len(games),
        "mean": round(float(np.mean(ratings)), 2),
        "standard_deviation": round(float(np.std(ratings, ddof=1)), 2),
        "percentiles": [round(float(value), 2) for value in np.percentile(ratings, PERCENTILES)],
    }
    SCALES.write_text(json.dumps(scales, indent=1) + "\n")
    print(json.dumps(scales[name]), file=sys.stderr)


def whole_games(records: Sequence[str]) -> Iterator[Game]:
    """Yields the complete games with the same number of players as the first."""
    num_seats = None
    for record in records_of(find_records(records)):
        for game in games_of(record):
            if isinstance(game, Game) and game.incomplete is None and num_seats in (None, game.vocabulary.num_seats):
                num_seats = game.vocabulary.num_seats
                yield game


def ratings_of(game: Game, policy: Policy) -> list[float]:
    annotations = annotate_game(game).annotations
    (rows,), _, _ = reviewed_predictions([policy], annotations)
    seats = [value_of(annotation, game.vocabulary, "seat") for annotation in annotations]
    return [
        rating_of([row for row, actor in zip(rows, seats, strict=True) if actor == seat])
        for seat in range(game.vocabulary.num_seats)
    ]


if __name__ == "__main__":
    sys.exit(main())
