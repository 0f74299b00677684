"""Rounds of games made up at random, each following from the one before."""

import random
from typing import Any

import numpy as np

from annotate.game.grading import mjsoul_deltas, ranks_of
from kanachan.data.columns import game_key
from kanachan.data.round_columns import TYPES, RoundColumns


def random_rounds(games: int, seed: int) -> RoundColumns:
    """The rounds of some games of four players, sorted by game; the same for the same arguments."""
    rng = random.Random(f"{seed}/{games}")
    by_game = [_rounds_of_game(rng, game_key(f"rounds-{seed}-{number}")) for number in range(games)]
    rows = sorted((row for rounds in by_game for row in rounds), key=lambda row: (row["game"], row["number"]))
    return rounds_of(rows)


def rounds_of(rows: list[dict[str, Any]]) -> RoundColumns:
    """The columns of rounds that are given as mappings."""
    return RoundColumns(**{name: np.array([row[name] for row in rows], type_) for name, type_ in TYPES.items()})


def _rounds_of_game(rng: random.Random, game: int) -> list[dict[str, Any]]:
    room, style, grades = rng.randrange(5), rng.randrange(2), [rng.randrange(15) for _ in range(4)]
    scores, deposits, place, honba = [25_000] * 4, 0, 0, 0
    rows: list[dict[str, Any]] = []
    while place < 4 * (style + 1):
        delta = [0] * 4
        for seat in range(4):
            delta[seat] -= 1000 * (rng.random() < 0.2)
        sticks = deposits - sum(delta) // 1000
        wind, dealer = divmod(place, 4)
        row = {"wind": wind, "dealer": dealer, "honba": honba, "deposits": deposits, "score": scores}
        if rng.random() < 0.8:
            winner, loser = rng.sample(range(4), 2)
            points = 100 * rng.randrange(10, 120)
            delta[winner] += points + 1000 * sticks
            delta[loser] -= points
            deposits, honba, place = 0, 0, place + 1
            if winner == dealer:
                honba, place = row["honba"] + 1, place - 1
        else:
            deposits, honba, place = sticks, honba + 1, place + rng.randrange(2)
        scores = [a + b for a, b in zip(scores, delta, strict=True)]
        rows.append({**row, "game": game, "number": len(rows), "delta": delta})
    final = list(scores)
    final[ranks_of(scores).index(0)] += 1000 * deposits
    end = {"room": room, "style": style, "grade": grades, "final_score": final, "rank": ranks_of(final)}
    return [{**row, **end, "grading_delta": mjsoul_deltas(final, room, grades, style)} for row in rows]
