"""A round whose engine is not told of most points has the options, scores and winners of one whose engine knows all."""

import random
from collections import Counter
from itertools import chain

import pytest

from annotate.game.engine import Table, Turn
from annotate.game.hand_evaluator import shanten
from annotate.game.tiles import TILE_OF_ID, unseen_tiles
from annotate.vocabulary import Vocabulary
from tests.support.rounds import V3, V, start_of_round

START = {4: (0, 900, 1000, 98_100), 3: (900, 1000, 103_100)}
NUM_ROUNDS = 60


def tables_of(wall: list[int], vocabulary: Vocabulary) -> tuple[Table, Table]:
    """The same round twice: with all points, and with most of them withheld."""
    start = start_of_round(scores=START[vocabulary.num_seats])
    plain, withheld = (
        Table.of_round("tenhou", start, wall, vocabulary, has_external_events=True, withholds_points=withholds)
        for withholds in (False, True)
    )
    return plain, withheld


def shown(table: Table) -> list[object]:
    """What the seats that must act see."""
    return [(turn.seat, list(turn.options), turn.scores, turn.hand, turn.drawn, turn.left) for turn in table.turns]


def choice(turn: Turn, vocabulary: Vocabulary, rng: random.Random) -> int:
    """An option that hurries to tenpai and wins, and declares riichi every other time it may."""
    by_kind: dict[str, list[int]] = {}
    for token in turn.options:
        name, values = vocabulary.action.describe(token)
        by_kind.setdefault("riichi" if values.get("riichi") else name, []).append(token)
    for kind in ("tsumo", "ron", "kita", "ankan", "riichi"):
        if kind in by_kind and (kind != "riichi" or rng.random() < 0.5):
            return rng.choice(by_kind[kind])
    if "discard" not in by_kind:
        return rng.choice(list(turn.options)) if rng.random() < 0.2 else next(iter(turn.options))

    def distance(token: int) -> int:
        tile = vocabulary.action.describe(token)[1]["tile"]
        rest = list(turn.hand)
        rest.remove(next(i for i in rest if TILE_OF_ID[i] == tile))
        return shanten(rest, vocabulary.num_seats)

    return min(by_kind["discard"], key=lambda token: (distance(token), rng.random()))


@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four players", "three players"])
def test_the_options_are_those_of_an_engine_that_knows_all_points(vocabulary: Vocabulary) -> None:
    seen = Counter[str]()
    for seed in range(NUM_ROUNDS):
        rng = random.Random(seed)
        wall = list(chain.from_iterable(unseen_tiles(vocabulary)))
        rng.shuffle(wall)
        plain, withheld = tables_of(wall, vocabulary)
        while not plain.done:
            assert shown(withheld) == shown(plain)
            tokens = {turn.seat: choice(turn, vocabulary, rng) for turn in plain.turns}
            for turn in plain.turns:
                riichi = {token for token in turn.options if vocabulary.action.describe(token)[1].get("riichi")}
                seen["riichi" if tokens[turn.seat] in riichi else "no riichi"] += bool(riichi)
            for table in (plain, withheld):
                table.step({turn.seat: turn.options[tokens[turn.seat]][0] for turn in table.turns})
        assert (withheld.done, withheld.turns, withheld.scores) == (True, [], plain.scores)
        assert (withheld.winners, withheld.deposits) == (plain.winners, plain.deposits)
        seen["won"] += bool(plain.winners)
    assert min(seen["riichi"], seen["no riichi"], seen["won"]) >= NUM_ROUNDS // 6, seen
