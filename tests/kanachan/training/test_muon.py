"""Muon for hidden matrices, and AdamW for the rest."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from torch.optim import AdamW, Muon
from torch.utils._python_dispatch import TorchDispatchMode

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, ObjectiveConfig, OptimConfig
from kanachan.objectives.networks import build_network
from kanachan.training.muon import MuonWithAdamW
from kanachan.training.optimizers import BETAS, make_optimizer
from tests.support.forked import Run, made_by_two
from tests.support.tiny_runs import arguments, run

OPTIM = OptimConfig(optimizer="muon", learning_rate=1e-2, weight_decay=0.1)
MUON = ("--optim.optimizer", "muon", "--run.checkpoint_minutes", "0")


def network() -> nn.Module:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Embedding(5, 6), nn.Linear(6, 8), nn.LayerNorm(8))
    return nn.Sequential(OrderedDict(encoder=encoder, head=nn.Linear(8, 3)))


def hidden_and_rest(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    hidden = [p for name, p in model.named_parameters() if name == "encoder.1.weight"]
    return hidden, [p for name, p in model.named_parameters() if name != "encoder.1.weight"]


def with_gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def equal(one: nn.Module, other: nn.Module) -> bool:
    return all(a.equal(b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_steps_equal_the_steps_of_torchs_two_separate_optimisers() -> None:
    """Up to the rounding of bf16, in which torch's Muon computes."""
    together, apart = network(), network()
    optimizer = make_optimizer(together, OPTIM)
    hidden, rest = hidden_and_rest(apart)
    muon = Muon(hidden, lr=3e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    matrix = [p for p in rest if p.shape == (3, 8)]
    others = [p for p in rest if p.shape != (3, 8)]
    groups = [{"params": matrix, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    adamw = AdamW(groups, lr=1e-2, betas=BETAS, fused=True)
    for seed in range(4):
        with_gradients(together, seed)
        with_gradients(apart, seed)
        optimizer.step()
        muon.step()
        adamw.step()
    (ours,), rest_of_ours = hidden_and_rest(together)
    assert all(a.equal(b) for a, b in zip(rest_of_ours, rest, strict=True))
    moved = (hidden[0] - hidden_and_rest(network())[0][0]).detach()
    assert float((ours - hidden[0]).norm()) < 0.02 * float(moved.norm())


def test_matrices_of_one_shape_are_updated_as_if_separately_but_in_few_operations() -> None:
    class Operations(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert func is not torch.ops.aten._local_scalar_dense.default, "a GPU would be waited for"
            self.count += not func.is_view
            return func(*args, **(kwargs or {}))

    together, alone = ([nn.Parameter(torch.ones(6, 4)) for _ in range(20)] for _ in range(2))
    group = {"lr": 0.1, "weight_decay": 0.1, "is_muons": True}
    optimizers = [MuonWithAdamW([{"params": ps, **group}], fused=True) for ps in (together, *([p] for p in alone))]
    for seed in range(3):
        for parameters in (together, alone):
            generator = torch.Generator().manual_seed(seed)
            for parameter in parameters:
                parameter.grad = torch.randn(6, 4, generator=generator)
        with Operations() as operations:
            optimizers[0].step()
        for optimizer in optimizers[1:]:
            optimizer.step()
    assert operations.count < 3 * 20
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


def test_a_loaded_state_continues_as_if_never_saved() -> None:
    whole, first, second = network(), network(), network()
    of_whole, of_first = make_optimizer(whole, OPTIM), make_optimizer(first, OPTIM)
    for seed in range(3):
        for model, optimizer in ((whole, of_whole), (first, of_first)):
            with_gradients(model, seed)
            optimizer.step()
    second.load_state_dict(first.state_dict())
    of_second = make_optimizer(second, OPTIM)
    of_second.load_state_dict(of_first.state_dict())
    for seed in range(3, 6):
        for model, optimizer in ((whole, of_whole), (second, of_second)):
            with_gradients(model, seed)
            optimizer.step()
    assert equal(whole, second)
    assert not equal(second, first)


def test_muon_gets_only_the_matrices_of_encoder_and_decoder() -> None:
    real, _ = build_network("rank", MODEL_SIZES["tiny"], ObjectiveConfig(), FOUR_PLAYERS)
    optimizer = make_optimizer(real, OPTIM)
    assert isinstance(optimizer, MuonWithAdamW)
    muons = {id(p) for group in optimizer.param_groups if group["is_muons"] for p in group["params"]}
    names = {name for name, parameter in real.named_parameters() if id(parameter) in muons}
    assert {name.split(".")[-2] for name in names} == {
        *("query_key_value", "projection", "expansion", "query", "key_value", "from_summary", "suit_factor")
    }
    assert {name.split(".")[0] for name in names} == {"encoder", "decoder"}


def test_two_processes_learn_the_same_as_one(shards: Path, tmp_path: Path) -> None:
    same = ("--model.dropout", "0", "--run.steps", "6", *MUON)
    assert run("rank", shards, tmp_path / "one", *same) == 0
    assert "2 x CPU, ddp" in made_by_two([Run(arguments("rank", shards, tmp_path / "two", *same))], tmp_path)
    found, expected = (load_file(tmp_path / name / "weights.safetensors") for name in ("two", "one"))
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=1e-4 * float(tensor.abs().max()) + 1e-6)
