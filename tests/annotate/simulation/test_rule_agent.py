import pytest

from annotate.game.engine.table import Table, Turn
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent, Temperament
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, VOCABULARIES, Vocabulary
from annotate.words import describe_action
from tests.support.rounds import DULL, Script, start_of_round, start_of_three, wall_of_deal

V = FOUR_PLAYERS
V3 = THREE_PLAYERS
BY_NAME = {temperament.name: temperament for temperament in TEMPERAMENTS}

every_temperament = pytest.mark.parametrize("temperament", TEMPERAMENTS, ids=lambda temperament: temperament.name)


def turn_of(
    seat: int,
    hands: tuple[str, ...],
    draws: str,
    script: str = "",
    *,
    claims: bool = False,
    vocabulary: Vocabulary = V,
    dora: str = "",
) -> Turn:
    """Returns the first choice of `seat` after the script: on its own turn, or on a tile that it may claim."""
    start = start_of_round() if vocabulary is V else start_of_three()
    wall = wall_of_deal(hands, draws, dora=dora, vocabulary=vocabulary)
    table = Table.of_round("mjsoul", start, wall, vocabulary)
    scripted = Script(script, vocabulary)
    while not table.done:
        for turn in table.turns:
            if turn.seat == seat and (turn.target is not None) == claims and not scripted.moves:
                return turn
        table.step({at: choice.move for at, choice in scripted.choose(table.turns).items()})
    raise AssertionError(f"seat {seat} has no such choice")


def choice(temperament: Temperament, turn: Turn, seed: int = 0, vocabulary: Vocabulary = V) -> str:
    return describe_action(RuleBasedAgent(temperament, seed, vocabulary).choose(turn), vocabulary)


@every_temperament
@pytest.mark.parametrize(
    ("hand", "draws", "is_claim", "expected"),
    [
        ("123456m789p23s55z", "4s", False, "tsumo"),
        ("123456m789p23s55z", "9m", False, "riichi, discard 9m"),  # which leaves the better wait
        ("123m456p11s568s13m", "4z", False, "discard 4z"),  # any other discard breaks a set, a pair or a joint
        ("123m456p23s55z7m1p9p", "4z5z", True, "pon 5z from the right"),
        ("123m456p23s99s7m1p9p", "4z9s", True, "skip"),  # a call would leave no yaku
    ],
)
def test_every_temperament_takes_a_clearly_best_choice(
    temperament: Temperament, hand: str, draws: str, is_claim: bool, expected: str
) -> None:
    turn = turn_of(0, (hand,), draws, "0 discard 4z" if is_claim else "", claims=is_claim)
    assert choice(temperament, turn) == expected


def test_only_a_temperament_that_waits_for_more_passes_a_cheap_ron() -> None:
    hands = ("234567m345p22s67s", *DULL[1:])
    turn = turn_of(0, hands, "1z8s", "0 discard 1z", claims=True)
    choices = {t.name: {choice(t, turn, seed) for seed in range(40)} for t in TEMPERAMENTS}
    assert choices["steady"] == choices["swift"] == choices["careful"] == {"ron from the right"}
    assert choices["bold"] == {"ron from the right", "skip"}


def test_tanyao_is_called_by_temperaments_that_plan_for_it() -> None:
    turn = turn_of(0, ("234m456p22s55s7m1p9p",), "4z5s", "0 discard 4z", claims=True)
    assert choice(BY_NAME["swift"], turn) == "pon 5s from the right"
    assert choice(BY_NAME["steady"], turn) == "skip"


def test_a_careful_player_folds_against_riichi_and_a_bold_one_does_not() -> None:
    # the hand of seat 2 is far from tenpai; of its tiles only 9m is certain to be safe
    hands = ("258m369p147s1122z", "123456m789p23s55z", "2468m246p24678s9m")
    turn = turn_of(2, hands, "4z9m4p", "0 cut; 1 riichi 9m")
    assert choice(BY_NAME["careful"], turn) == "discard 9m"
    assert choice(BY_NAME["swift"], turn) != "discard 9m"


@every_temperament
@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=lambda vocabulary: vocabulary.name)
def test_players_finish_a_game_with_actions_that_are_possible(vocabulary: Vocabulary, temperament: Temperament) -> None:
    table = Table.of_game("mjsoul", 0, 1, vocabulary)
    player = RuleBasedAgent(temperament, 0, vocabulary)
    while not table.done:
        tokens = {turn.seat: player.choose(turn) for turn in table.turns}
        table.step({turn.seat: turn.options[tokens[turn.seat]][0] for turn in table.turns})
    assert sum(table.scores) == {4: 100_000, 3: 105_000}[vocabulary.num_seats]


@every_temperament
@pytest.mark.parametrize(
    ("hand", "drawn", "is_set_aside"),
    [
        ("19m147p258s12345z", "6z", True),
        ("123p789s445p19m444z", "6z", True),
        ("1239p789s445p44z", "6z", True),
        ("19m19p19s1234566z", "2p", False),  # thirteen orphans
        ("123456p78999s44z", "2p", False),  # its pair
    ],
)
def test_a_north_is_set_aside_unless_a_hand_near_tenpai_needs_it(
    temperament: Temperament, hand: str, drawn: str, is_set_aside: bool
) -> None:
    taken = choice(temperament, turn_of(0, (hand,), drawn, vocabulary=V3), vocabulary=V3)
    assert (taken == "kita") == is_set_aside
