"""tenhou.net/6 JSON: wrong records are refused, and the error names what is wrong."""

import json
from typing import Any

import pytest

from annotate.replay.replay import annotate_game
from tests.support.rare_rounds import THREE_WINNERS
from tests.support.writers.tenhou_json import one_round, read


def test_a_game_of_four_that_is_marked_as_one_of_three_gives_no_rounds() -> None:
    for change in ({"rule": {"disp": "三鳳南喰赤", "aka": 1}}, {"name": [""] * 3}):
        game = read({**one_round(), **change})
        assert game.vocabulary.num_seats == 3
        assert annotate_game(game).num_rounds == 0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"disp": "般南赤", "aka": 1}, "without open tanyao"),
        ({"disp": "般南喰", "aka": 0}, 'red fives {"aka": 0}'),
        ({"disp": "友人戦南喰赤", "aka51": 1, "aka52": 2, "aka53": 1}, '"aka52": 2'),
        ({"disp": "般南喰"}, None),
        ({"disp": 1}, '"rule" must be'),
        ([], '"rule" must be'),
    ],
)
def test_other_rule_variants_are_refused(rule: Any, message: str | None) -> None:
    document = {**one_round(), "rule": rule}
    if message is None:  # the tiles show that there are red fives
        assert read(document)
        text = json.dumps(document).replace("51", "15").replace("52", "25").replace("53", "35")
        with pytest.raises(ValueError, match="without red fives"):
            read(json.loads(text))
        return
    with pytest.raises(ValueError, match="this rule variant|only one of each suit|must be") as caught:
        read(document)
    assert message in str(caught.value)


def changed(column: int, index: int, value: Any) -> dict[str, Any]:
    """A round of one discard and a win on it, with one element replaced (or, with index -1, added)."""
    document = one_round("0 discard 3p; 1 ron", THREE_WINNERS)
    cells = document["log"][0][column]
    document["log"][0][column] = [*cells, value] if index < 0 else [*cells[:index], value, *cells[index + 1 :]]
    return document


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed(0, 0, 16), "number 16 is beyond the North round"),
        (changed(0, 1, -1), "its number, honba and deposits expected"),
        (changed(1, 0, "x"), "scores: 4 integers expected"),
        (changed(2, 0, 48), "48 is not a tile"),
        (changed(4, -1, 11), "13 tiles for each seat expected"),
        (changed(5, 0, 10), "10 is not a tile"),
        (changed(5, 0, "f44"), "'f44' is not a call or kan"),
        (changed(5, 0, "47z4747"), "'47z4747' is not a call or kan that is possible here"),
        (changed(5, 0, "a47474747"), "is not a call or kan that is possible here"),
        (changed(5, 0, "p474747"), "no order of the seats' draws"),
        (changed(5, 0, "47c4747"), "'47c4747' is not a chi"),
        (changed(6, -1, 60), "1 discards more than draws"),
        (changed(6, 0, "r6"), "'r6' is not a discard"),
        (changed(16, 0, "終局"), '"終局" is not a known end of a round'),
        (changed(16, 1, 8000), "its payments: 4 integers expected, not 8000"),
        (changed(16, 2, [4, 0]), "the winner and whose tile it was expected"),
        (changed(16, -1, [0, 0, 0, 0]), "each win's payments and description expected"),
        ({**one_round(), "log": [[]]}, "a list of 17 elements expected, not []"),
        ({**one_round(), "log": []}, "it holds no round"),
        ({**one_round(), "sc": [1, 2]}, '"sc" must be a list of 8 numbers'),
    ],
)
def test_the_error_names_what_is_wrong(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(document)
    assert message in str(caught.value)


def test_draws_without_discards_are_refused() -> None:
    document = one_round()
    document["log"][0][5] += [11, 12]
    with pytest.raises(ValueError, match=r"round 1: seat 0: \d+ draws, but only \d+ discards"):
        read(document)


def test_a_round_of_endless_turns_is_refused() -> None:
    document = one_round()
    for column in range(4, 16, 3):
        document["log"][0][column + 1] = [11] * 1000
        document["log"][0][column + 2] = [60] * 1000
    with pytest.raises(ValueError, match="round 1: more than 112 turns"):
        read(document)
