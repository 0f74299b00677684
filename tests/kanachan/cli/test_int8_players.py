"""kanachan-arena without --precision: int8 matrices where they are quicker, named in the result."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from kanachan.cli.arena import main
from kanachan.cli.int8_players import report_int8, with_chosen_precision
from kanachan.inference import int8_network
from kanachan.play.match import Match
from tests.support.matches import SHORT, arena, result_of
from tests.support.tiny_weights import written

PROGRAM = "kanachan-arena"


def chosen(players: tuple[str, str], stored: Mapping[str, Any] | None = None) -> Match:
    """Returns the match that these players play where --precision is not given."""
    return with_chosen_precision(PROGRAM, Match(players=players), "cpu", stored)


@pytest.fixture
def weights(tmp_path: Path, multiplies_int8: None) -> str:
    """Weights of imitation, on a CPU that multiplies int8."""
    return str(written(tmp_path))


def test_networks_of_both_players_get_int8_matrices_and_it_is_said(
    weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chosen((f"{weights}@0.5", weights)).players == (f"{weights}!int8@0.5", f"{weights}!int8")
    assert "play with int8 matrices; --precision fp32 for their own" in capsys.readouterr().err


def test_a_match_names_the_players_that_got_int8_matrices(
    weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    match = [weights, "random", "-n", "4", *SHORT, "-j", "1", "--json", str(tmp_path / "result.json")]
    assert main(match) == 0
    assert result_of(tmp_path)["match"]["players"] == [f"{weights}!int8", "random"]
    captured = capsys.readouterr()
    assert f"{weights}!int8: on " in captured.err and "seed 0, int8\n" in captured.out


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_match_is_resumed_with_the_precision_that_it_has(weights: str, tmp_path: Path, precision: str) -> None:
    players = (weights, "random")
    assert arena(tmp_path, "--precision", precision, players=players) == 0
    assert arena(tmp_path, "--precision", "auto", "--resume", players=players, games=8) == 0
    assert [result_of(tmp_path)["match"][key] for key in ("players", "precision")] == [list(players), precision]
    assert result_of(tmp_path)["games"] == 8


def test_a_journal_without_a_precision_is_none_of_the_arena(
    weights: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    players = [weights, "random"]
    (tmp_path / "result.json.games").write_text(json.dumps({"players": players}) + "\n{}\n")
    assert arena(tmp_path, "--precision", "auto", "--resume", players=players) == 1
    assert "not a journal of kanachan-arena" in capsys.readouterr().err


def test_a_match_with_int8_matrices_is_resumed_on_a_cpu_without_products_of_int8(
    weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert arena(tmp_path, "--precision", "auto", players=(weights, "random")) == 0
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert arena(tmp_path, "--precision", "auto", "--resume", players=(weights, "random"), games=8) == 0
    assert result_of(tmp_path)["match"]["players"] == [f"{weights}!int8", "random"]


def test_int8_that_was_asked_for_is_compared_with_the_network_itself(weights: str) -> None:
    players = (f"{weights}!int8", weights)
    assert chosen(players).players == players


@pytest.mark.parametrize(
    "other", ["{rank}", "{imitation}+{rank}~10", "{imitation}!adapt=4", "mjai:program {imitation}"], ids=str
)
def test_no_player_gets_int8_matrices_if_the_other_cannot(weights: str, tmp_path: Path, other: str) -> None:
    players = (weights, other.format(imitation=weights, rank=written(tmp_path / "rank", "rank")))
    assert chosen(players).players == players


def test_players_without_networks_stay_as_they_are(weights: str) -> None:
    assert chosen(("rule", "random")).players == ("rule", "random")


def test_a_cpu_without_products_of_int8_computes_in_fp32(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert chosen((weights, "rule")).players == (weights, "rule")


def test_without_onnx_runtime_networks_compute_in_fp32(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8_network, "_PACKAGES", ("onnxrantime",))
    assert chosen((weights, "rule")).players == (weights, "rule")


def test_networks_that_int8_changes_too_much_compute_in_fp32(
    weights: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(int8_network, "_MOST_NATS", 0.0)
    assert chosen((weights, "rule")).players == (weights, "rule")
    said = capsys.readouterr().err
    assert "networks compute in fp32: " in said and "!int8: int8 matrices change the policy by" in said


def test_damaged_weights_are_an_error_and_no_reason_for_fp32(weights: str) -> None:
    content = Path(weights).read_bytes()
    Path(weights).write_bytes(content[: len(content) - 100])
    with pytest.raises(ValueError, match=re.escape(weights)):
        chosen((weights, "rule"))


def test_a_file_named_as_the_weights_with_int8_is_not_played_in_their_place(weights: str) -> None:
    shutil.copy(weights, f"{weights}!int8")
    assert chosen((weights, "rule")).players == (weights, "rule")
    assert chosen((f"{weights}@0.5", "rule")).players == (f"{weights}@0.5", "rule")


def test_the_divergence_of_the_same_weights_is_told_for_each_player(
    weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report_int8(PROGRAM, f"{weights}!int8", f"{weights}!int8@0.5", "rule", weights)
    told = [line.partition(": on ") for line in capsys.readouterr().err.splitlines()]
    assert [player for player, _, _ in told] == [f"{PROGRAM}: {weights}!int8", f"{PROGRAM}: {weights}!int8@0.5"]
    assert told[0][2] == told[1][2]
