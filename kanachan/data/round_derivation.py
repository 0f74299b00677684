"""Derives the rounds of games from decisions: the first decision of each seat in each round is all that it takes.

A decision gives the scores then, from which those at the start of its round follow by the riichi sticks paid since;
what the round changed; the ranks at the end of the game; and the final score and grading points of its own seat.
Whatever decisions of a game are known, in whichever order, the same rounds are derived from the same decisions.

Shapes: B decisions, E first decisions, N rounds, G games, S seats, P places of sparse tokens.
"""

import numpy as np
from numpy.typing import NDArray

from annotate.vocabulary import TABLE, Vocabulary
from kanachan.data.columns import Columns
from kanachan.data.game_endings import Endings, complete_endings
from kanachan.data.round_columns import STICK, RoundColumns

Firsts = NDArray[np.void]
"""decisions [E], reduced to what rounds need: of `first_dtype`"""
_ROUND = ("game", "wind", "dealer", "honba")
_MOST_ROUNDS = 256
"""of a game: more are none of mahjong, and `number` has 8 bits"""


def first_dtype(vocabulary: Vocabulary) -> np.dtype[np.void]:
    """Returns the type of a decision, reduced to what rounds need."""
    num_seats = vocabulary.num_seats
    return np.dtype(
        [
            ("game", "<u8"),
            ("wind", "u1"),
            ("dealer", "u1"),
            ("honba", "<i4"),
            ("num_events", "<i4"),  # which the decision sees
            ("content", "<u8"),  # which orders decisions that see as many
            ("seat", "u1"),
            ("deposits", "<i4"),  # at the start of the round, as the scores
            ("room", "u1"),
            ("style", "u1"),
            ("grade", "u1", num_seats),
            ("score", "<i4", num_seats),
            ("delta", "<i4", num_seats),
            ("rank", "u1", num_seats),
            ("final_score", "<i4"),
            ("grading_delta", "<i4"),
        ]
    )


def reduced(columns: Columns, content_B: NDArray[np.uint64], vocabulary: Vocabulary) -> Firsts:
    """Reduces decisions to what rounds need.

    Args:
        columns: before seats are rotated.
        content_B: of each decision, a hash that equal decisions share.
    """
    num_seats = vocabulary.num_seats
    place = np.array(vocabulary.place_of_sparse)[columns.sparse.values]
    token_BP = columns.sparse.values[place >= 0].reshape(-1, vocabulary.num_places).astype(np.int64)
    reduced_B = np.zeros(len(columns), first_dtype(vocabulary))
    reduced_B["game"], reduced_B["seat"], reduced_B["content"] = columns.game, columns.seat, content_B
    reduced_B["num_events"] = columns.progression.lengths
    for name, block in (("wind", "wind"), ("dealer", "round"), ("room", "room"), ("style", "style")):
        reduced_B[name] = token_BP[:, TABLE.index(block)] - vocabulary.sparse[block].first
    standing = vocabulary.sparse["standing"]
    first_S = standing.first + standing.strides[0] * np.arange(num_seats)
    reduced_B["grade"] = token_BP[:, len(TABLE) :: 2] - first_S
    number = {name: columns.numeric[:, place] for place, name in enumerate(vocabulary.numeric)}
    result = {name: columns.results[:, place] for place, name in enumerate(vocabulary.results)}
    paid_BS = _sticks_paid(columns, vocabulary)
    reduced_B["honba"] = number["honba"]
    reduced_B["deposits"] = number["deposits"] - paid_BS.sum(axis=1)
    for seat in range(num_seats):
        reduced_B["score"][:, seat] = number[f"score_{seat}"] + STICK * paid_BS[:, seat]
        reduced_B["delta"][:, seat] = result[f"round_delta_{seat}"]
        reduced_B["rank"][:, seat] = result[f"rank_{seat}"]
    reduced_B["final_score"], reduced_B["grading_delta"] = result["score"], result["grading_delta"]
    return reduced_B


def rounds_of(firsts: Firsts) -> tuple[RoundColumns, int]:
    """Derives rounds from the first decisions, in any order, of each seat in each round of whole games.

    Further decisions change nothing.

    Returns:
        the rounds, sorted; the number of games that are left out, because the final score or grading points of a seat
        without decisions cannot be computed, or for having more rounds than a game has.
    """
    order = ("content", "num_events", "honba", "dealer", "wind", "game")  # np.lexsort: the last one decides first
    firsts = firsts[np.lexsort([firsts[name] for name in order])]
    is_game_E = _is_other(firsts, ("game",))
    is_round_E = _is_other(firsts, _ROUND)
    rounds = firsts[is_round_E]
    (start_G,) = np.nonzero(is_game_E[is_round_E])
    game_N = np.cumsum(is_game_E[is_round_E]) - 1
    number_N = np.arange(len(rounds)) - start_G[game_N]
    num_rounds_G = np.diff([*start_G, len(rounds)])
    final_GS, grading_GS, is_complete_G = complete_endings(_endings(firsts, is_game_E, rounds, start_G))
    is_kept_G = is_complete_G & (num_rounds_G <= _MOST_ROUNDS)
    kept_N = is_kept_G[game_N]
    game_N, rounds = game_N[kept_N], rounds[kept_N]
    by_round = {name: rounds[name] for name in (*_ROUND, "deposits", "score", "delta")}
    by_game = {name: firsts[is_game_E][name][game_N] for name in ("room", "style", "grade", "rank")}
    columns = RoundColumns(
        number=number_N[kept_N].astype(np.uint8),
        final_score=final_GS[game_N].astype(np.int32),
        grading_delta=grading_GS[game_N].astype(np.int32),
        **{name: np.ascontiguousarray(column) for name, column in (by_round | by_game).items()},
    )
    return columns, int((~is_kept_G).sum())


def _sticks_paid(columns: Columns, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Returns the riichi sticks that each seat has paid in the round [B, S].

    A riichi is paid for once its discard is passed. It is not yet where that discard is the last event and the seat has
    not drawn: the decision is whether to claim it.
    """
    discard, drawn = vocabulary.progression["discard"], vocabulary.sparse["drawn"]
    offset = columns.progression.values.astype(np.int64) - discard.first
    (place,) = np.nonzero((offset >= 0) & (offset < discard.size) & (offset % 2 == 1))  # riichi runs fastest
    row = np.searchsorted(columns.progression.starts, place, side="right") - 1
    token = columns.sparse.values.astype(np.int64)
    is_drawn = (token >= drawn.first) & (token < drawn.first + drawn.size)
    has_drawn_B = np.add.reduceat(is_drawn.astype(np.int64), columns.sparse.starts[:-1]) > 0
    is_paid = (place + 1 < columns.progression.starts[row + 1]) | has_drawn_B[row]
    paid_BS = np.zeros((len(columns), vocabulary.num_seats), np.int64)
    paid_BS[row[is_paid], offset[place[is_paid]] // discard.strides[0]] = 1
    return paid_BS


def _endings(firsts: Firsts, is_game_E: NDArray[np.bool_], rounds: Firsts, start_G: NDArray[np.int64]) -> Endings:
    """Returns what sorted decisions show of the ends of their games."""
    num_seats = firsts["score"].shape[1]
    shape = len(start_G), num_seats
    game_E = np.cumsum(is_game_E) - 1
    which, first = np.unique(game_E * num_seats + firsts["seat"], return_index=True)  # the first of the game
    is_known_GS, final_GS, grading_GS = np.zeros(shape, bool), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    is_known_GS.flat[which] = True
    final_GS.flat[which] = firsts["final_score"][first]
    grading_GS.flat[which] = firsts["grading_delta"][first]
    wide = {name: firsts[is_game_E][name].astype(np.int64) for name in ("rank", "room", "style", "grade")}
    last_G = rounds[np.append(start_G[1:], len(rounds))[: len(start_G)] - 1]
    delta_GS = last_G["delta"].astype(np.int64)
    return Endings(
        is_known=is_known_GS,
        final_score=final_GS,
        grading_delta=grading_GS,
        score=last_G["score"] + delta_GS,
        deposits=last_G["deposits"] - delta_GS.sum(axis=1) // STICK,
        **wide,
    )


def _is_other(firsts: Firsts, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Returns whether each row differs from the one before in any of some fields [E]; the first one does."""
    is_other = np.ones(len(firsts), bool)
    is_other[1:] = np.logical_or.reduce([firsts[name][1:] != firsts[name][:-1] for name in names])
    return is_other
