"""The weights file: what is written is read again, and invalid files are refused by name."""

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
from kanachan.models.weights import commit_of_program, lineage_of, make_card, read_weights, write_weights
from kanachan.objectives.networks import build_network, inherit_encoder, load_network
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
def test_a_file_cut_off_is_refused_by_name(length: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=f"{path}: not a complete weights file"):
        read_weights(path)


def test_a_later_stage_inherits_the_encoder_and_nothing_else(tmp_path: Path) -> None:
    earlier, later = fresh("imitation", seed=0), fresh("rank", seed=1)
    untouched = fresh("rank", seed=1)
    inherit_encoder(later.encoder, TINY, read_weights(written(tmp_path, "imitation", seed=0)), FOUR_PLAYERS)
    assert all(torch.equal(later.encoder.state_dict()[name], t) for name, t in earlier.encoder.state_dict().items())
    assert all(
        torch.equal(later.state_dict()[name], t)
        for name, t in untouched.state_dict().items()
        if not name.startswith("encoder.")
    )


def test_lineage_lists_the_stages_in_order_with_the_hash_of_each_file(tmp_path: Path) -> None:
    first = lineage_of(read_weights(written(tmp_path / "a", "imitation", steps=3, metrics={"loss": 1.0})))
    second = lineage_of(read_weights(written(tmp_path / "b", "rank", lineage=first)))
    assert [entry["stage"] for entry in second] == ["imitation", "rank"]
    assert second[0] == first[0]
    assert (first[0]["steps"], first[0]["metrics"]) == (3, {"loss": 1.0})
    assert len({entry["sha256"] for entry in second}) == 2


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
