import pytest

from annotate.game.engine import Table, Turn
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent, Temperament
from annotate.vocabulary import FOUR_PLAYERS
from annotate.words import describe_action
from tests.support.rounds import DULL, Script, start_of_round, wall_of_deal

V = FOUR_PLAYERS
BY_NAME = {temperament.name: temperament for temperament in TEMPERAMENTS}

every_temperament = pytest.mark.parametrize("temperament", TEMPERAMENTS, ids=lambda temperament: temperament.name)


def turn_of(seat: int, hands: tuple[str, ...], draws: str, script: str = "", claims: bool = False) -> Turn:
    """Returns the first choice of `seat` after the script: on its own turn, or on a tile that it may claim."""
    table = Table.of_round("mjsoul", start_of_round(), wall_of_deal(hands, draws), V)
    scripted = Script(script)
    while not table.done:
        for turn in table.turns:
            if turn.seat == seat and (turn.target is not None) == claims and not scripted.moves:
                return turn
        table.step({at: choice.move for at, choice in scripted.choose(table.turns).items()})
    raise AssertionError(f"seat {seat} has no such choice")


def choice(temperament: Temperament, turn: Turn, seed: int = 0) -> str:
    return describe_action(RuleBasedAgent(temperament, seed, V).choose(turn), V)


@every_temperament
def test_a_win_by_tsumo_is_declared(temperament: Temperament) -> None:
    turn = turn_of(0, ("123456m789p23s55z",), "4s")
    assert choice(temperament, turn) == "tsumo"


@every_temperament
def test_a_red_five_makes_a_ron_too_good_to_be_passed(temperament: Temperament) -> None:
    turn = turn_of(0, ("234567m340p22s67s", *DULL[1:]), "1z8s", "0 discard 1z", claims=True)
    assert all(choice(temperament, turn, seed) == "ron from the right" for seed in range(20))


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
def test_a_choice_depends_on_seed_and_situation_alone(temperament: Temperament) -> None:
    hands, draws = ("135m468p2468s1123z",), "5z"
    players = [RuleBasedAgent(temperament, 3, V, carelessness=0.5) for _ in range(2)]
    first, second = (player.choose(turn_of(0, hands, draws)) for player in players)
    assert first == second == players[0].choose(turn_of(0, hands, draws))


def test_a_careless_player_takes_its_second_choice() -> None:
    turn = turn_of(0, ("123m456p11s568s13m",), "4z")
    choices = {RuleBasedAgent(BY_NAME["steady"], seed, V, carelessness=0.5).choose(turn) for seed in range(20)}
    assert len(choices) == 2


@every_temperament
def test_any_four_players_finish_a_game_with_actions_that_are_possible(temperament: Temperament) -> None:
    table = Table.of_game("mjsoul", 0, 1, V)
    player = RuleBasedAgent(temperament, 0, V)
    while not table.done:
        tokens = {turn.seat: player.choose(turn) for turn in table.turns}
        table.step({turn.seat: turn.options[tokens[turn.seat]][0] for turn in table.turns})
    assert sum(table.scores) == 100_000
