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
def test_a_win_by_tsumo_is_declared(temperament: Temperament) -> None:
    turn = turn_of(0, ("123456m789p23s55z",), "4s")
    assert choice(temperament, turn) == "tsumo"


def test_only_a_temperament_that_waits_for_more_passes_a_cheap_ron() -> None:
    hands = ("234567m345p22s67s", *DULL[1:])
    turn = turn_of(0, hands, "1z8s", "0 discard 1z", claims=True)
    choices = {t.name: {choice(t, turn, seed) for seed in range(40)} for t in TEMPERAMENTS}
    assert choices["steady"] == choices["swift"] == choices["careful"] == {"ron from the right"}
    assert choices["bold"] == {"ron from the right", "skip"}


@every_temperament
def test_riichi_is_declared_with_the_discard_that_leaves_the_better_wait(temperament: Temperament) -> None:
    turn = turn_of(0, ("123456m789p23s55z",), "9m")
    assert choice(temperament, turn) == "riichi, discard 9m"


@every_temperament
def test_the_discard_keeps_the_most_tiles_that_help(temperament: Temperament) -> None:
    # 4z is isolated; any other discard breaks a set, a pair or a joint
    turn = turn_of(0, ("123m456p11s568s13m",), "4z")
    assert choice(temperament, turn) == "discard 4z"


@every_temperament
def test_a_dragon_is_called_where_it_lowers_the_shanten(temperament: Temperament) -> None:
    turn = turn_of(0, ("123m456p23s55z7m1p9p",), "4z5z", "0 discard 4z", claims=True)
    assert choice(temperament, turn) == "pon 5z from the right"


@every_temperament
def test_a_call_that_leaves_no_yaku_is_not_made(temperament: Temperament) -> None:
    turn = turn_of(0, ("123m456p23s99s7m1p9p",), "4z9s", "0 discard 4z", claims=True)
    assert choice(temperament, turn) == "skip"


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
@pytest.mark.parametrize("hand", ["19m147p258s12345z", "123p789s445p19m444z", "1239p789s445p44z"])
def test_a_north_is_set_aside(temperament: Temperament, hand: str) -> None:
    assert choice(temperament, turn_of(0, (hand,), "6z", vocabulary=V3), vocabulary=V3) == "kita"


@every_temperament
@pytest.mark.parametrize(
    "hand",
    [
        "19m19p19s1234566z",  # thirteen orphans
        "123456p78999s44z",  # its pair
    ],
)
def test_a_north_that_a_hand_near_tenpai_needs_is_kept(temperament: Temperament, hand: str) -> None:
    assert choice(temperament, turn_of(0, (hand,), "2p", vocabulary=V3), vocabulary=V3) != "kita"
