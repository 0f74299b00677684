"""Players and mixtures of them, as the command line gives them."""

from pathlib import Path

from kanachan.play.agent_spec import parse_agent, parse_mixture
from tests.support.tiny_weights import written


def test_a_path_that_looks_like_a_temperature_is_a_path(tmp_path: Path) -> None:
    weights = written(tmp_path / "run@0.5")
    assert parse_agent(str(weights.parent)).temperature is None
    assert parse_agent(f"{weights.parent}@2").temperature == 2


def test_int8_comes_before_the_temperature(tmp_path: Path) -> None:
    weights = written(tmp_path)
    spec = parse_agent(f"{weights}:int8@0.7")
    assert (spec.weights, spec.is_int8, spec.temperature) == (str(weights), True, 0.7)


def test_players_without_shares_have_the_same_share() -> None:
    players, shares = parse_mixture(["rule", "random", "rule:bold"])
    assert [player.text for player in players] == ["rule", "random", "rule:bold"]
    assert shares == (1 / 3,) * 3


def test_shares_follow_the_players() -> None:
    players, shares = parse_mixture(["reference@0.7=0.75", "rule=.25"])
    assert [player.text for player in players] == ["reference@0.7", "rule"]
    assert shares == (0.75, 0.25)


def test_a_command_may_have_an_equals_sign_in_it() -> None:
    for text, command in (("mjai:bot --mode=x", "--mode=x"), ("mjai:bot --level=3=1", "--level=3")):
        (player,), _ = parse_mixture([text])
        assert player.command == ("bot", command)


def test_the_value_of_a_commands_last_option_is_no_share() -> None:
    assert parse_mixture(["mjai:bot --temperature=1"])[0][0].command == ("bot", "--temperature=1")
    assert parse_mixture(["mjai:bot --temperature 1=1"])[0][0].command == ("bot", "--temperature", "1")


def test_a_path_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "lr=0.1"
    path.mkdir()
    for texts in ([str(path)], [f"{path}=0.5", "rule=0.5"]):
        assert parse_mixture(texts)[0][0].weights == str(path)
