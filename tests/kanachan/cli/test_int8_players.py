"""Players with int8 matrices in kanachan-arena: only where they are asked for, and named in the result."""

from pathlib import Path

import pytest

from tests.support.matches import arena, result_of
from tests.support.tiny_weights import written


@pytest.fixture
def weights(tmp_path: Path, multiplies_int8: None) -> str:
    """Weights of imitation, on a CPU that multiplies int8."""
    return str(written(tmp_path, layers=1))


def test_weights_play_as_they_are_on_a_cpu_that_multiplies_int8(weights: str, tmp_path: Path) -> None:
    assert arena(tmp_path, players=(weights, "random")) == 0
    match = result_of(tmp_path)["match"]
    assert (match["players"], match["precision"]) == ([weights, "random"], "fp32")


def test_int8_that_was_asked_for_is_reported(weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert arena(tmp_path, players=(f"{weights}:int8", "random")) == 0
    captured = capsys.readouterr()
    assert f"{weights}:int8: on " in captured.err and "seed 0, int8\n" in captured.out
