"""The options read from the engine's mask are the same as the options read from its list of legal actions."""

import random
from collections import Counter

import pytest

from annotate.game.engine.options import reader_of
from annotate.game.engine.table import Table, Turn
from annotate.game.record import Rules
from annotate.vocabulary import Vocabulary
from tests.support.rounds import V3, V

NUM_GAMES = 6


def as_tiles(options: dict[int, list[tuple[object, int | None]]]) -> dict[int, list[tuple[object, ...]]]:
    """Moves as values that can be compared."""
    return {
        token: [(action.action_type, action.tile, tuple(action.consume_tiles), tile) for action, tile in moves]
        for token, moves in options.items()
    }


def read_both(turn: Turn, vocabulary: Vocabulary) -> tuple[dict, dict]:
    reader, drawn = reader_of(vocabulary), None if turn.observation.forced_tedashi else turn.drawn
    of_mask = reader.of_mask(turn.observation, turn.hand, drawn)
    return as_tiles(of_mask), as_tiles(reader.of_actions(turn.observation, turn.hand, drawn, turn.target))


@pytest.mark.parametrize("rules", ["tenhou", "mjsoul"])
@pytest.mark.parametrize("vocabulary", [V, V3], ids=["four players", "three players"])
def test_the_mask_gives_the_options_of_turns_that_can_only_discard(vocabulary: Vocabulary, rules: Rules) -> None:
    rng, seen = random.Random(1), Counter[str]()
    for seed in range(NUM_GAMES):
        table = Table.of_game(rules, 0, seed, vocabulary)
        while not table.done:
            for turn in table.turns:
                if turn.target is not None:
                    continue
                of_mask, of_actions = read_both(turn, vocabulary)
                kinds = {vocabulary.action.describe(token)[0] for token in of_actions}
                is_riichi = any(vocabulary.action.describe(token)[1].get("riichi") for token in of_actions)
                if kinds == {"discard"} and not is_riichi and not turn.observation.riichi_declared[turn.seat]:
                    assert of_mask == of_actions or len(of_actions) < 2
                    assert list(of_mask) == sorted(of_mask)
                    seen["after a call" if turn.drawn is None else "discards"] += 1
                else:
                    assert of_mask == {}
                    seen["more"] += 1
            table.step({turn.seat: rng.choice([*turn.options.values()])[0] for turn in table.turns})
    assert min(seen["discards"], seen["after a call"], seen["more"]) > 20, seen
