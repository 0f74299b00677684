"""Weights between those of two networks."""

from pathlib import Path

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ModelConfig, ObjectiveConfig
from kanachan.models.interpolation import interpolated
from kanachan.models.weights import Weights, make_card, read_weights, write_weights
from kanachan.objectives.networks import build_network


def written(path: Path, seed: int, model: ModelConfig = MODEL_SIZES["tiny"], **objective: float) -> Weights:
    torch.manual_seed(seed)
    settings = ObjectiveConfig(**objective)  # type: ignore[arg-type]
    network, _ = build_network("imitation", model, settings, FOUR_PLAYERS)
    write_weights(path, network.state_dict(), make_card("imitation", model, settings, FOUR_PLAYERS))
    return read_weights(path)


def test_a_share_of_a_step_lies_on_the_line_between_two_networks(tmp_path: Path) -> None:
    old, new = (written(tmp_path / f"{seed}.safetensors", seed) for seed in (0, 1))
    for name, tensor in interpolated(old, new, 0.25).items():
        torch.testing.assert_close(tensor, 0.75 * old.tensors[name] + 0.25 * new.tensors[name])


def test_the_whole_step_is_the_new_network_to_the_last_bit(tmp_path: Path) -> None:
    old, new = (written(tmp_path / f"{seed}.safetensors", seed) for seed in (0, 1))
    found = interpolated(old, new, 1.0)
    assert found.keys() == new.tensors.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in new.tensors.items())


def test_heads_that_only_the_old_network_has_are_left_out(tmp_path: Path) -> None:
    old = written(tmp_path / "old.safetensors", 0, round_winner=1.0)
    new = written(tmp_path / "new.safetensors", 1)
    assert old.tensors.keys() > new.tensors.keys()
    for share in (0.5, 1.0):
        assert interpolated(old, new, share).keys() == new.tensors.keys()
    with pytest.raises(ValueError, match="different sizes or heads"):
        interpolated(new, old, 0.5)
