"""Compilation of networks: of as little as possible, and when it is refused."""

import sys
import sysconfig
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig, RunConfig
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.models.transformer import Network
from kanachan.objectives.networks import build_network
from kanachan.objectives.objective import Objective
from kanachan.training.compilation import compile_network, require_compiler
from tests.support.on_device import packed
from tests.support.random_annotations import random_annotations
from tests.support.tiny_runs import run

CONFIG = ModelConfig(width=16, layers=2, heads=2, feedforward=32, decoder_layers=2)


def made(device: str) -> tuple[Network, Objective]:
    torch.manual_seed(0)
    network, objective = build_network("rank", CONFIG, ObjectiveConfig(), FOUR_PLAYERS)
    return network.to(device), objective.to(device)


def batches() -> list[Batch]:
    """Returns batches of different shapes."""
    rows = (random_annotations(16 + 3 * number, seed=number, games=4 + number) for number in range(3))
    return [batch_of_annotations(each, FOUR_PLAYERS) for each in rows]


def test_one_graph_for_each_kind_of_block_serves_all_shapes_of_packed_batches() -> None:
    """On the meta device, which computes only shapes, with the operations of a GPU."""
    torch.compiler.reset()
    network, _ = made("meta")
    compile_network(network, is_gpu=True, backend="eager")
    before = counters["stats"]["unique_graphs"]
    graphs = []
    for is_trained in (True, False):
        for batch in (packed(batch).to("meta") for batch in batches()):
            with torch.set_grad_enabled(is_trained):
                network(batch).candidate_BAK.sum()
            graphs.append(counters["stats"]["unique_graphs"] - before)
    assert graphs == [*3 * [2], *3 * [4]]  # for training, then for validation
    assert not counters["graph_break"]


@pytest.mark.parametrize(
    ("is_gpu", "recomputes", "num_graphs"), [(False, False, 1), pytest.param(True, True, 2, marks=pytest.mark.slow)]
)
def test_compiled_networks_have_the_same_losses_and_gradients_in_few_graphs(
    is_gpu: bool, num_graphs: int, recomputes: bool
) -> None:
    torch.compiler.reset()
    plain, objective = made("cpu")
    compiled, _ = made("cpu")
    compile_network(compiled, is_gpu=is_gpu, backend="eager")
    compiled.encoder.recomputes = recomputes
    before = counters["stats"]["unique_graphs"]
    for batch in batches():
        found = []
        for network in (plain, compiled):
            network.zero_grad()
            loss = objective.loss(network(batch), batch)["loss"]
            loss.backward()
            gradients = [p.grad.flatten() for p in network.parameters() if p.grad is not None]
            found.append(torch.cat([loss.detach()[None], *gradients]))
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
    assert counters["stats"]["unique_graphs"] - before == num_graphs


def test_compilation_is_refused_without_a_compiler_or_the_headers_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    require_compiler(RunConfig(), is_gpu=False)
    with pytest.raises(ValueError, match="needs a C.. compiler, and no-such-compiler was not found"):
        require_compiler(RunConfig(compile=True), is_gpu=False)
    monkeypatch.setenv("CXX", sys.executable)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "nowhere")
    require_compiler(RunConfig(compile=True), is_gpu=True)
    with pytest.raises(ValueError, match=r"needs the headers of Python, and nowhere/Python\.h does not exist"):
        require_compiler(RunConfig(compile=True), is_gpu=False)


def test_compilation_of_sharded_weights_is_refused(
    shards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", sys.executable)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    (tmp_path / "Python.h").touch()
    settings = ("--optim.optimizer", "adamw", "--run.compile", "true", "--run.strategy", "zero3")
    assert run("imitation", shards, tmp_path / "run", *settings) == 1
    assert "run.compile does not work with zero3 (as set), which shards the weights" in capsys.readouterr().err
