"""The computed tables of docs/scaling.md come from the network that is trained, and their formulas hold."""

import importlib.util
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ModelConfig, ObjectiveConfig
from kanachan.data.batch import batch_of_annotations
from kanachan.models import attention
from kanachan.objectives.networks import build_network
from kanachan.training.throughput import training_flops
from tests.support.packed import packed
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations

PROGRAM = ROOT / "launch" / "reports" / "scaling.py"
MODEL = ModelConfig(width=64, layers=3, heads=2, feedforward=256, decoder_layers=2)


@pytest.fixture(scope="module")
def scaling() -> ModuleType:
    spec = importlib.util.spec_from_file_location("launch_scaling", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def test_parameters_are_those_of_the_network(scaling: ModuleType) -> None:
    network, _ = build_network("imitation", MODEL_SIZES["small"], ObjectiveConfig(), FOUR_PLAYERS)
    size = scaling.size_of(MODEL_SIZES["small"])
    assert size.parameters == sum(parameter.numel() for parameter in network.parameters())
    embeddings = (name for name, _ in network.named_parameters() if "embedding" in name or "norm" in name)
    others = sum(network.get_parameter(name).numel() for name in (*embeddings, "encoder.number_weight"))
    assert size.matrices == size.parameters - others


def test_the_largest_size_has_a_billion_parameters(scaling: ModuleType) -> None:
    assert scaling.size_of(scaling.SIZES["1b"]).parameters == pytest.approx(1e9, rel=0.02)


@pytest.mark.parametrize("processes", [1, 8, 40])
def test_sharded_memory_sums_to_sixteen_bytes_a_parameter(scaling: ModuleType, processes: int) -> None:
    size = scaling.Size(parameters=1_000_000, matrices=900_000)
    memories = [scaling.memory_of(name, size, processes) for name in scaling.STRATEGIES]
    shared = [memory.shared / size.parameters for memory in memories]
    n = processes
    assert shared == pytest.approx([16, 8 + 8 / n, 4 + 12 / n, 16 / n])
    assert all(more >= less for more, less in pairwise(shared))
    # what all processes hold together is never less than one whole
    assert all(memory.shared * n >= 16 * size.parameters * 0.999 for memory in memories)


def test_settings_for_deepspeed_change_its_buffers(scaling: ModuleType) -> None:
    size = scaling.Size(parameters=1_000_000_000, matrices=990_000_000)
    for name in ("zero1", "zero2", "zero3"):
        ours, its_own = (scaling.memory_of(name, size, 8, settings) for settings in (None, scaling.ITS_OWN))
        assert its_own.buffers == 10 * ours.buffers
        assert its_own.shared == ours.shared
        assert its_own.halves == ours.halves


def stored_by_torch(use_bf16: bool, recomputes: bool) -> int:
    """Returns the bytes that autograd stores for a batch, without copies of weights."""
    batch = batch_of_annotations(random_annotations(64, seed=3), FOUR_PLAYERS)
    network, objective = build_network("imitation", MODEL, ObjectiveConfig(), FOUR_PLAYERS)
    network.encoder.recomputes = recomputes
    weights = {shape for p in network.parameters() for shape in (tuple(p.shape), tuple(p.shape)[::-1])}
    own = {p.untyped_storage().data_ptr() for p in network.parameters()}
    stored: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        place = tensor.untyped_storage().data_ptr()
        is_copy = tensor.dtype == torch.bfloat16 and tuple(tensor.shape) in weights
        if place not in own and not is_copy:
            stored[place] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
            objective.loss(network(batch), batch)
    return sum(tensor.untyped_storage().nbytes() for tensor in stored.values())


@pytest.mark.parametrize("use_bf16", [False, True], ids=["fp32", "bf16"])
def test_activations_are_those_that_torch_stores(
    scaling: ModuleType, use_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for of_cpus in ("_pads_rows", "_is_slow_in_bf16"):  # on a GPU there is neither
        monkeypatch.setattr(attention, of_cpus, lambda *_: False)
    rows = scaling.rows_of(batch_of_annotations(random_annotations(64, seed=3), FOUR_PLAYERS))
    computed = scaling.activations_of(MODEL, rows, use_bf16=use_bf16)
    assert stored_by_torch(use_bf16, recomputes=False) == pytest.approx(computed, rel=0.02)


def test_recomputed_activations_are_not_stored(scaling: ModuleType) -> None:
    rows = scaling.rows_of(batch_of_annotations(random_annotations(64, seed=3), FOUR_PLAYERS))
    deeper = replace(MODEL, layers=MODEL.layers + 1)
    shallow, deep = (scaling.activations_of(model, rows, use_bf16=False) for model in (MODEL, deeper))
    computed = scaling.activations_of(MODEL, rows, use_bf16=False, recomputes=True)
    # at the end of the forward pass no block has been computed again yet
    assert stored_by_torch(use_bf16=False, recomputes=True) == pytest.approx(computed - (deep - shallow), rel=0.02)


def test_traffic_is_that_of_rings(scaling: ModuleType) -> None:
    size = scaling.Size(parameters=1000, matrices=1000)
    sent = {
        name: [scaling.sent_in_a_step(name, size, 2, micro_batches) for micro_batches in (1, 3)]
        for name in scaling.STRATEGIES
    }
    # half of everything with two processes: 2 x 4 B; 2 x 2 B and 4 B; 2 B and 2 B
    assert sent == {"ddp": [4000, 4000], "zero1": [4000, 4000], "zero2": [4000, 8000], "zero3": [2000, 6000]}


def test_the_tables_are_computed_from_shards(
    scaling: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = packed(tmp_path / "shards", train=64)
    assert scaling.main([str(shards), "--micro-batch", "32", "--batches", "2"]) == 0
    printed = capsys.readouterr().out
    batches = list(scaling.batches_of(shards, 32))
    for model in scaling.SIZES.values():
        assert f"{scaling.size_of(model).parameters:,} | {training_flops(model, batches) / 1e9:.3g} |" in printed


def test_missing_shards_are_reported(scaling: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert scaling.main(["nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err
