"""The names of agents, as kanachan-arena takes them."""

from pathlib import Path

from kanachan.play.agent_spec import parse_agent
from tests.support.tiny_weights import written


def test_a_path_that_looks_like_a_temperature_is_a_path(tmp_path: Path) -> None:
    weights = written(tmp_path / "run@0.5")
    assert parse_agent(str(weights.parent)).temperature is None
    assert parse_agent(f"{weights.parent}@2").temperature == 2


def test_int8_comes_before_the_temperature(tmp_path: Path) -> None:
    weights = written(tmp_path)
    spec = parse_agent(f"{weights}:int8@0.7")
    assert (spec.files, spec.is_int8, spec.temperature) == ([str(weights)], True, 0.7)
