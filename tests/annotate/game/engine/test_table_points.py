"""Games are the same whether the engine has the points all the time, or only while points are paid."""

import random
from collections import Counter
from itertools import chain

import pytest

from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.table import Table, Turn
from annotate.game.record import Rules
from annotate.game.tiles import TILE_OF_ID, unseen_tiles
from annotate.vocabulary import Vocabulary
from tests.support.rounds import V3, V, start_of_round

START = {4: (0, 900, 1000, 98_100), 3: (900, 1000, 103_100)}
NUM_ROUNDS = 30
NUM_GAMES = 2


class PlainTable(Table):
    """A table whose engine has the points all the time."""

    keeps_points = True


def shown(table: Table) -> list[object]:
    """The view of the seats that must act."""
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


def play_alike(plain: Table, withheld: Table, rng: random.Random) -> Counter[str]:
    """Plays both to the end with the same choices, compares them on the way, and counts chances of riichi."""
    vocabulary, seen = plain.vocabulary, Counter[str]()
    while not plain.done:
        assert shown(withheld) == shown(plain)
        tokens = {turn.seat: choice(turn, vocabulary, rng) for turn in plain.turns}
        for turn in plain.turns:
            riichi = {token for token in turn.options if vocabulary.action.describe(token)[1].get("riichi")}
            seen["riichi" if tokens[turn.seat] in riichi else "no riichi"] += bool(riichi)
        for table in (plain, withheld):
            table.step({turn.seat: turn.options[tokens[turn.seat]][0] for turn in table.turns})
    assert (withheld.done, withheld.turns, withheld.scores) == (True, [], plain.scores)
    assert withheld.log() == plain.log()
    seen["won"] += bool(plain.winners)
    return seen


@pytest.mark.parametrize("rules", ["tenhou", "mjsoul"])
@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four players", "three players"])
def test_a_round_is_the_same_as_with_an_engine_that_always_has_the_points(vocabulary: Vocabulary, rules: Rules) -> None:
    seen = Counter[str]()
    for seed in range(NUM_ROUNDS):
        rng = random.Random(seed)
        wall = list(chain.from_iterable(unseen_tiles(vocabulary)))
        rng.shuffle(wall)
        start = start_of_round(scores=START[vocabulary.num_seats])
        plain, withheld = (
            kind.of_round(rules, start, wall, vocabulary, logs_events=True) for kind in (PlainTable, Table)
        )
        seen += play_alike(plain, withheld, rng)
    assert min(seen["riichi"], seen["no riichi"], seen["won"]) >= NUM_ROUNDS // 6, seen


@pytest.mark.parametrize("rules", ["tenhou", "mjsoul"])
@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four players", "three players"])
def test_a_game_is_the_same_as_with_an_engine_that_always_has_the_points(vocabulary: Vocabulary, rules: Rules) -> None:
    for seed in range(NUM_GAMES):
        plain, withheld = (kind.of_game(rules, 0, seed, vocabulary) for kind in (PlainTable, Table))
        play_alike(plain, withheld, random.Random(seed))
        assert len(plain.undealt) > 1
