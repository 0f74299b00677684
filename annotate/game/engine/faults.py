"""Workarounds for the known faults of riichienv 0.4.11.

`tests/annotate/game/engine/test_faults.py` fails if a newer engine has fixed one: then its workaround can be removed.

In all arguments `env` is riichienv's RiichiEnv.
"""

from typing import Any

from riichienv import ActionType


def withhold_dora(env: Any) -> None:
    """Leaves the indicator of an earlier kan face down. To be called before a kakan that will be robbed.

    The engine would reveal it before the win on the second kakan. Tenhou does not, as that kan is not completed.
    """
    env.pending_kan_dora_count = 0


def best_win_of_first_turn(env: Any, seat: int, action: Any) -> Any:
    """Returns the dealer's action to win with the dealt tiles, and makes `env` pay the highest value for it.

    None of the 14 tiles is the last one drawn, so that four concealed triplets wait for the pair, and nine gates for
    nine tiles. The engine treats only thirteen orphans like this; for other hands it uses the tile that it has drawn
    last. `action`: the win that the engine offers.
    """

    def win_with(table: Any, tile: int) -> Any:
        table.drawn_tile = tile
        actions = table.get_observation(seat).legal_actions()
        return next((found for found in actions if found.action_type == ActionType.TSUMO), None)

    def score_with(tile: int) -> int:
        table = env.clone()
        win = win_with(table, tile)
        if win is None:
            return -1
        table.step({seat: win})
        return int(table.scores()[seat])

    drawn = env.drawn_tile
    best = max((drawn, *env.hands[seat]), key=score_with)  # the drawn tile if values are equal
    return action if best == drawn else win_with(env, best)
