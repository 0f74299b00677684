"""launch/benchmark/floor.py: the least that operations can take, counted by hand, and what a step is made of; and
launch/benchmark/shapes.py: networks of other shapes."""

import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from kanachan.config import MODEL_SIZES, DataConfig
from tests.support.launched import LAUNCH, program_of


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    with program_of(LAUNCH / "benchmark", ("floor", "shapes")) as found:
        yield found


@pytest.fixture
def floor(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["floor"]


def multiplying(floor: ModuleType) -> object:
    """A machine that makes one operation a second, and copies in no time: the least of an operation is its count."""
    return floor._Speeds({torch.float32: 1.0}, math.inf)


def test_a_linear_layer_takes_three_products_forward_and_backward(floor: ModuleType) -> None:
    work, layer, input_BD = floor._Work(), nn.Linear(8, 16, bias=False), torch.randn(5, 8, requires_grad=True)
    with floor._Meter(work, multiplying(floor)):
        layer(input_BD).sum().backward()
    assert work.least["products"] == 3 * 2 * 5 * 8 * 16


def test_attention_takes_two_products_forward_and_five_backward(floor: ModuleType) -> None:
    work = floor._Work()
    query_BHAW, key_BHVW, value_BHVW = (torch.randn(2, 3, length, 4, requires_grad=True) for length in (5, 7, 7))
    with floor._Meter(work, multiplying(floor)):
        F.scaled_dot_product_attention(query_BHAW, key_BHVW, value_BHVW).sum().backward()
    assert work.least["attention"] == (2 + 5) * 2 * (2 * 3 * 5 * 7 * 4)


def test_causal_attention_takes_half_of_it(floor: ModuleType) -> None:
    work, token_BHAW = floor._Work(), torch.randn(2, 3, 6, 4, requires_grad=True)
    with floor._Meter(work, multiplying(floor)):
        F.scaled_dot_product_attention(token_BHAW, token_BHAW, token_BHAW, is_causal=True).sum().backward()
    assert work.least["attention"] == (2 + 5) * (2 * 3 * 6 * 6 * 4)


def test_what_is_changed_in_place_is_read_and_written(floor: ModuleType) -> None:
    work, values = floor._Work(), torch.zeros(100)
    with floor._Meter(work, floor._Speeds({}, 1.0)):
        values.mul_(2)
        torch.empty_like(values)
    assert sum(work.least.values()) == 2 * 100 * 4


def test_a_copy_is_read_and_written_and_a_view_is_not(floor: ModuleType) -> None:
    work, original = floor._Work(), torch.zeros(10, 10)
    with floor._Meter(work, floor._Speeds({}, 1.0)):
        original[:5].view(-1).clone()
    assert sum(work.least.values()) == work.least["copies and conversions"] == 2 * 50 * 4


def test_a_step_takes_longer_than_the_least_and_is_shown_by_kind(floor: ModuleType, shards: Path) -> None:
    *kinds, whole = floor.measure_floor(shards, MODEL_SIZES["tiny"], 1, use_bf16=False)
    named = {each.what for each in kinds}
    assert named >= {f"fp32: {kind}" for kind in ("products", "attention", "gather and its gradient", "optimizer")}
    assert whole.plainly == pytest.approx(sum(each.plainly for each in kinds))
    assert whole.ours > whole.plainly > 0


def test_a_small_network_trains_more_decisions_a_second(
    modules: dict[str, ModuleType], shards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules["shapes"], "_SHAPES", ((16, 1),))
    monkeypatch.setattr(DataConfig, "batch", 32)
    (found,) = modules["shapes"].measure_shapes(shards, 1, use_bf16=False)
    assert "width 16, 1 layers" in found.what and found.ours > 2 * found.plainly > 0
    assert found.more["parameters"] < found.more["parameters of small"]
