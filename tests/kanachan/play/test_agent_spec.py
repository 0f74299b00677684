"""The names of agents, as kanachan-arena takes them."""

from pathlib import Path

import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.play.agent import SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights") / "imitation")


@pytest.fixture(scope="module")
def values(weights: Path) -> Path:
    return written(weights.parent.parent / "values", "rank")


@pytest.mark.parametrize(
    "text, message",
    [
        ("rule:timid", "no such temperament; there are steady"),
        ("mjai:", "a command expected"),
        ("no/such/folder", "no player of this name, and no weights there"),
        ("{weights}@0", "a temperature must be a positive number, not 0"),
        ("{weights}+nothing~5", "no player of this name, and no weights there"),
        ("no/such/folder!int8", "no player of this name, and no weights there"),
        ("{weights}+{weights}!int8~5", "!int8 is for WEIGHTS alone, not together with VALUES"),
        ("{weights}!adapt=0", "a number of roll-outs, at least 2, expected behind !adapt=, such as 32, not '0'"),
        ("{weights}!adapt=many", "a number of roll-outs, .* not 'many'"),
        ("{weights}!adapt=8!int8", "int8 matrices cannot be adapted"),
        ("{weights}!int8!adapt=8", "int8 matrices cannot be adapted"),
        ("{weights}+{weights}!adapt=8~5", "!adapt is for WEIGHTS alone, not together with VALUES"),
        ("{weights}+{weights}~5!adapt=8", "!adapt is for WEIGHTS alone, not together with VALUES"),
        ("{weights}+{weights}~5!int8", "!int8 is for WEIGHTS alone, not together with VALUES"),
        ("rule:careful!adapt=8", "only WEIGHTS can be adapted, not rule:careful"),
        ("no/such/folder!adapt=8", "no player of this name, and no weights there"),
    ],
)
def test_a_name_that_is_none_is_refused(text: str, message: str, weights: Path) -> None:
    with pytest.raises(ValueError, match=message):
        parse_agent(text.format(weights=weights))


def test_a_path_that_looks_like_a_temperature_is_a_path(tmp_path: Path) -> None:
    weights = written(tmp_path / "run@0.5")
    assert parse_agent(str(weights.parent)).temperature is None
    assert parse_agent(f"{weights.parent}@2").temperature == 2


def test_int8_comes_before_the_temperature(weights: Path) -> None:
    spec = parse_agent(f"{weights}!int8@0.7")
    assert (spec.files, spec.is_int8, spec.temperature) == ([str(weights)], True, 0.7)


def test_the_number_of_rollouts_comes_before_the_temperature(weights: Path) -> None:
    spec = parse_agent(f"{weights}!adapt=32@0.7")
    assert (spec.files, spec.rollouts, spec.temperature) == ([str(weights)], 32, 0.7)


def test_the_parts_of_a_name_are_read(weights: Path, values: Path) -> None:
    spec = parse_agent(f"{weights}+{values}~20@1.5")
    assert (spec.points, spec.temperature) == (20, 1.5)
    assert [Path(path).parent.name for path in spec.files] == ["imitation", "values"]


def test_values_without_a_prior_of_imitation_are_refused(weights: Path, values: Path) -> None:
    spec = parse_agent(f"{values}+{weights}~5")
    with pytest.raises(ValueError, match="a network after rank is not a prior"):
        make_agent(spec, SeededSampler(0, "A"), V)
