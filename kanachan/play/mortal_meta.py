"""The `meta` that Mortal's program adds to an answer: values and a bit mask over 46 actions (three players: 44).

These actions are coarser than our options. 0 ... 36: discards (34 kinds, then the red fives); 37: riichi with any
discard. Four players: 38, 39, 40: chi with the lowest, middle or highest tile; 41 pon; 42 kan; 43 win; 44 abort the
round; 45 pass. Three players, as in the programs for three players derived from Mortal: 38 pon; 39 kan; 40 a North set
aside; 41 win; 42 abort the round; 43 pass. An action has the value of its best option, so the action with the highest
value contains the best option.
"""

from collections.abc import Mapping
from typing import Any

from annotate.runtime.json_output import rounded
from annotate.vocabulary import CHI_TILES, TILES_PER_SUIT, Vocabulary, is_red, tile34_of

_FIRST_RED = 34
_OF_KIND = {
    4: {"pon": 41, "daiminkan": 42, "ankan": 42, "kakan": 42, "tsumo": 43, "ron": 43, "kyushu": 44, "skip": 45},
    3: {
        "pon": 38,
        "daiminkan": 39,
        "ankan": 39,
        "kakan": 39,
        "kita": 40,
        "tsumo": 41,
        "ron": 41,
        "kyushu": 42,
        "skip": 43,
    },
}
"""action numbers of the other kinds of options, by number of seats"""
_RIICHI = 37
_FIRST_CHI = 38


def mask_action(token: int, vocabulary: Vocabulary, after_reach: bool = False) -> int:
    """Returns the action of the mask that includes an option. `after_reach`: riichi has been declared, and the discard
    is to be chosen."""
    name, at = vocabulary.action.describe(token)
    if name == "discard":
        tile = at["tile"]
        if at["riichi"] and not after_reach:
            return _RIICHI
        return _FIRST_RED + tile // TILES_PER_SUIT if is_red(tile) else tile34_of(tile)
    if name == "chi":
        *held, called = map(tile34_of, CHI_TILES[at["chi"]])
        return _FIRST_CHI + sum(tile < called for tile in held)
    return _OF_KIND[vocabulary.num_seats][name]


def masked_values(values: Mapping[int, float]) -> dict[str, Any]:
    """Returns `mask_bits`, a bit for each action, and `q_values` in ascending order of these actions."""
    actions = sorted(values)
    return {
        "q_values": [rounded(values[action]) for action in actions],
        "mask_bits": sum(1 << action for action in actions),
    }


def mask_values(values: Mapping[int, float], vocabulary: Vocabulary, after_reach: bool = False) -> dict[str, Any]:
    """Returns `q_values` and `mask_bits` for options given by token. If there are kans on the seat's own turn, also
    returns `kan_select`: the same values by kind of tile (0 ... 33)."""
    best: dict[int, float] = {}
    best_kan: dict[int, float] = {}
    for token, value in values.items():
        name, at = vocabulary.action.describe(token)
        _keep_best(best, mask_action(token, vocabulary, after_reach), value)
        if name in ("ankan", "kakan"):
            _keep_best(best_kan, at["tile34"] if name == "ankan" else tile34_of(at["tile"]), value)
    return masked_values(best) | ({"kan_select": masked_values(best_kan)} if best_kan else {})


def _keep_best(values: dict[int, float], key: int, value: float) -> None:
    values[key] = max(value, values.get(key, value))
