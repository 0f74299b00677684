"""The weights file: weights are read as they were written, and invalid files are refused by name."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ModelConfig, ObjectiveConfig, StageName
from kanachan.data.batch import batch_of_annotations
from kanachan.models.transformer import Network
from kanachan.models.weights import commit_of_program, interpolated, lineage_of, make_card, read_weights, write_weights
from kanachan.objectives.networks import build_network, load_network
from tests.support import tiny_weights
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations

TINY = MODEL_SIZES["tiny"]


def fresh(stage: StageName = "imitation", seed: int = 0, model: ModelConfig = TINY) -> Network:
    torch.manual_seed(seed)
    return build_network(stage, model, ObjectiveConfig(), FOUR_PLAYERS)[0]


def written(
    folder: Path, stage: StageName = "imitation", seed: int = 0, model: ModelConfig = TINY, **rest: Any
) -> Path:
    card = make_card(stage, model, ObjectiveConfig(), FOUR_PLAYERS, **rest)
    write_weights(folder / "weights.safetensors", fresh(stage, seed, model).state_dict(), card)
    return folder / "weights.safetensors"


def test_a_network_read_back_gives_the_same_scores(tmp_path: Path) -> None:
    batch = batch_of_annotations(random_annotations(5, seed=1), FOUR_PLAYERS)
    for stage in ("imitation", "round_delta", "rank", "grading"):
        network, objective, card = load_network(written(tmp_path, stage))
        expected = fresh(stage).eval()
        with torch.inference_mode():
            assert torch.equal(objective.score(network(batch)), objective.score(expected(batch)))
        assert card["stage"] == objective.stage == stage


@pytest.mark.parametrize("length", [0, 4, 100, -1])
def test_a_truncated_file_is_refused_by_name(length: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=f"{path}: not a complete weights file"):
        read_weights(path)


def test_weights_keep_the_settings_that_the_network_was_trained_with(tmp_path: Path) -> None:
    assert read_weights(tiny_weights.written(tmp_path, dropout=0.5)).model.dropout == 0.5


def test_lineage_lists_the_stages_in_order_with_the_hash_of_each_file(tmp_path: Path) -> None:
    first = lineage_of(read_weights(written(tmp_path / "a", "imitation", steps=3, metrics={"loss": 1.0})))
    second = lineage_of(read_weights(written(tmp_path / "b", "rank", lineage=first)))
    assert [entry["stage"] for entry in second] == ["imitation", "rank"]
    assert second[0] == first[0]
    assert (first[0]["steps"], first[0]["metrics"]) == (3, {"loss": 1.0})
    assert len({entry["sha256"] for entry in second}) == 2


def test_a_share_of_a_step_lies_on_the_line_between_two_networks(tmp_path: Path) -> None:
    old, new = (read_weights(written(tmp_path / str(seed), seed=seed)) for seed in (0, 1))
    for name, tensor in interpolated(old, new, 0.25).items():
        expected = 0.75 * old.tensors[name] + 0.25 * new.tensors[name]
        torch.testing.assert_close(tensor, expected, check_dtype=False)  # the suit of a token is an integer
    whole = interpolated(old, new, 1.0)  # to the last bit
    assert whole.keys() == new.tensors.keys()
    assert all(torch.equal(whole[name], tensor) for name, tensor in new.tensors.items())


def test_heads_that_only_the_old_network_has_are_left_out_of_a_step(tmp_path: Path) -> None:
    old = read_weights(tiny_weights.written(tmp_path / "old", round_winner=1.0))
    new = read_weights(tiny_weights.written(tmp_path / "new", seed=1))
    assert old.tensors.keys() > new.tensors.keys()
    for share in (0.5, 1.0):
        assert interpolated(old, new, share).keys() == new.tensors.keys()
    with pytest.raises(ValueError, match="different sizes or heads"):
        interpolated(new, old, 0.5)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="the sources are not in a checkout")
def test_a_card_made_in_a_checkout_has_the_commit_of_the_program() -> None:
    commit = commit_of_program()
    assert commit is not None and re.fullmatch("[0-9a-f]{40}(-dirty)?", commit)


def with_card(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    card = read_weights(path).card
    save_file(load_file(path), path, metadata={"card": json.dumps({**card, **change(card)})})


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda p: save_file({"a": torch.zeros(1)}, p), "without a card"),
        (lambda p: with_card(p, lambda c: {"fingerprint": "0123456789abcdef"}), f"0123.*{FOUR_PLAYERS.fingerprint}"),
        (lambda p: with_card(p, lambda c: {"format_version": 1}), "written in format version 1, .* train it again"),
        (lambda p: with_card(p, lambda c: {"model": {**c["model"], "experts": 8}}), "experts"),
        (lambda p: with_card(p, lambda c: {"config": {"data": {"actor_first": False}}}), "only earlier versions have"),
        (lambda p: with_card(p, lambda c: {"model": {**c["model"], "layers": 3}}), "do not fit"),
    ],
)
def test_a_file_that_this_program_cannot_use_is_refused(
    damage: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    path = written(tmp_path)
    damage(path)
    with pytest.raises(ValueError, match=words):
        load_network(path)


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_weights.written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert read_weights(".").card["stage"] == "imitation"
    with pytest.raises(ValueError, match="name of weights is empty"):
        read_weights("")
