"""kanachan-arena without --precision: int8 matrices where they are quicker, named in the result."""

from pathlib import Path

import pytest
import torch

from kanachan.cli.int8_players import chosen_precision
from kanachan.inference import int8_network
from tests.support.matches import arena, result_of
from tests.support.tiny_weights import written

pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
PROGRAM = "kanachan-arena"


def fastest(players: tuple[str, str]) -> tuple[str, str]:
    chosen, precision = chosen_precision(PROGRAM, players, "auto", "cpu")
    assert precision == "fp32"
    return chosen


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Weights of imitation, on a CPU that multiplies int8."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True, "avx_vnni": True})
    return str(written(tmp_path))


def test_networks_of_both_players_get_int8_matrices_and_it_is_said(
    weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fastest((f"{weights}@0.5", weights)) == (f"{weights}!int8@0.5", f"{weights}!int8")
    said = capsys.readouterr().err
    assert f"{weights}!int8@0.5: on " in said
    assert "play with int8 matrices; --precision fp32 for their own" in said


def test_a_match_names_the_players_that_got_int8_matrices(weights: str, tmp_path: Path) -> None:
    assert arena(tmp_path, "--precision", "auto", players=(weights, "random")) == 0
    assert result_of(tmp_path)["match"]["players"] == [f"{weights}!int8", "random"]
    assert arena(tmp_path, "--precision", "auto", "--resume", players=(weights, "random")) == 0


def test_int8_that_was_asked_for_is_compared_with_the_network_itself(weights: str) -> None:
    players = (f"{weights}!int8", weights)
    assert fastest(players) == players


@pytest.mark.parametrize("other", ["{rank}", "{imitation}+{rank}~10", "{imitation}!adapt=4"], ids=str)
def test_no_player_gets_int8_matrices_if_the_other_cannot(weights: str, tmp_path: Path, other: str) -> None:
    players = (weights, other.format(imitation=weights, rank=written(tmp_path, "rank")))
    assert fastest(players) == players


def test_players_without_networks_stay_as_they_are(weights: str) -> None:
    assert fastest(("rule", "random")) == ("rule", "random")


def test_a_cpu_without_products_of_int8_computes_in_fp32(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert fastest((weights, "rule")) == (weights, "rule")


def test_without_onnx_runtime_networks_compute_in_fp32(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8_network, "_PACKAGES", ("onnxrantime",))
    assert fastest((weights, "rule")) == (weights, "rule")


def test_networks_that_int8_changes_too_much_compute_in_fp32(
    weights: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(int8_network, "_MOST_NATS", 0.0)
    assert fastest((weights, "rule")) == (weights, "rule")
    assert "!int8: with int8 weights the policy differs by" in capsys.readouterr().err
