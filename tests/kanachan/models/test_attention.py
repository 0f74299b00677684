"""The three back ends give the same outputs for the same decisions, whatever else is in the batch."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig, StageName
from kanachan.data.batch import Batch, TokenLayout, batch_of_annotations, with_varlen_layout
from kanachan.models import attention
from kanachan.models.transformer import Network, Output, attention_backend
from kanachan.objectives.networks import build_network
from kanachan.objectives.stages import STAGES
from tests.support.random_annotations import altered, random_annotations

LAYOUT = TokenLayout(FOUR_PLAYERS)
CONFIG = ModelConfig(width=16, layers=2, heads=2, feedforward=32, decoder_layers=2)
TENSORS = ("tile_Y", "event_Z", "row_X", "seen_V", "candidate_C")


def batch_of(annotations: list[Annotation]) -> Batch:
    return batch_of_annotations(annotations, FOUR_PLAYERS)


def decisions(num: int) -> list[Annotation]:
    """Returns decisions, some of which share their events."""
    whole = random_annotations(num // 2, seed=3)
    earlier = [altered(a, progression=a.progression[: 1 + len(a.progression) // 2]) for a in whole]
    return [each for pair in zip(earlier, whole, strict=True) for each in pair]


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(0)
    return Network(CONFIG, LAYOUT, 3, 2, 0, 0, None).eval()


@torch.no_grad()
def outputs_of(network: Network, batch: Batch) -> list[Tensor]:
    """Returns, for every decision, the outputs of its candidates and then of its summary."""
    output: Output = network(batch)
    return [
        torch.cat((candidates[mask].flatten(), summary))
        for candidates, mask, summary in zip(output.candidate_BAK, output.mask_BA, output.summary_BK, strict=True)
    ]


def test_a_decision_has_the_same_outputs_alone_padded_sorted_by_length_and_packed(network: Network) -> None:
    annotations = decisions(40)
    alone = [outputs_of(network, batch_of([annotation]))[0] for annotation in annotations]
    order = sorted(range(len(annotations)), key=lambda row: len(annotations[row].progression))
    of_sorted = outputs_of(network, batch_of([annotations[row] for row in order]))
    ways = {
        "padded": outputs_of(network, batch_of(annotations)),
        "sorted": [of_sorted[order.index(row)] for row in range(len(annotations))],
        "packed": outputs_of(network, with_varlen_layout(batch_of(annotations), LAYOUT)),
        "packed alone": [
            outputs_of(network, with_varlen_layout(batch_of([annotation]), LAYOUT))[0] for annotation in annotations
        ],
    }
    assert min(float(outputs.abs().max()) for outputs in alone) > 0.1
    for way in ways.values():
        for outputs, expected in zip(way, alone, strict=True):
            torch.testing.assert_close(outputs, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("stage", STAGES)
def test_both_back_ends_give_the_same_loss_and_gradients(stage: StageName) -> None:
    torch.manual_seed(0)
    network, objective = build_network(stage, CONFIG, ObjectiveConfig(), FOUR_PLAYERS)
    batch = batch_of(decisions(40))
    losses, gradients = [], []
    for each in (batch, with_varlen_layout(batch, LAYOUT)):
        network.zero_grad()
        loss = objective.loss(network(each), each)["loss"]
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: p.grad for name, p in network.named_parameters() if p.grad is not None})
    torch.testing.assert_close(*losses, rtol=1e-6, atol=0)
    padded, packed = gradients
    assert padded.keys() == packed.keys()
    for name, gradient in padded.items():
        scale = float(gradient.abs().max())
        torch.testing.assert_close(packed[name], gradient, rtol=0, atol=1e-5 * scale + 1e-7)


@pytest.mark.parametrize("stage", STAGES)
def test_bf16_on_a_cpu_gives_nearly_the_same_loss_and_gradients(stage: StageName) -> None:
    torch.manual_seed(0)
    network, objective = build_network(stage, CONFIG, ObjectiveConfig(), FOUR_PLAYERS)
    batch = batch_of(decisions(40))
    losses, gradients = [], []
    for is_bf16 in (False, True):
        network.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
            loss = objective.loss(network(batch), batch)["loss"]
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]))
    assert losses[1] == pytest.approx(losses[0], rel=0.02) and losses[1] != losses[0]
    assert float(torch.cosine_similarity(*gradients, dim=0)) > 0.99


def test_in_bf16_on_a_cpu_only_few_numbers_of_rows_occur(network: Network) -> None:
    """oneDNN compiles a kernel for each new number."""
    numbers: dict[bool, set[int]] = {False: set(), True: set()}
    use_bf16 = False
    hook = network.encoder.norm.register_forward_hook(lambda _, __, hidden_XD: numbers[use_bf16].add(len(hidden_XD)))
    for use_bf16 in numbers:
        for num in range(4, 40, 2):
            with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
                outputs_of(network, batch_of(decisions(num)))
    hook.remove()
    assert len(numbers[True]) < len(numbers[False]) / 2
    assert all(number % 256 == 0 for number in numbers[True])


def test_padding_is_in_segments_that_are_not_longer_than_a_decision() -> None:
    for num in (2, 30, 300):
        layout = with_varlen_layout(batch_of(decisions(num)), LAYOUT).varlen
        assert layout is not None
        assert len(layout.own_N) == len(layout.seen_N) == len(layout.candidates_N)
        own_rows = len(layout.row_X) - len(layout.event_Z)
        for starts, rows, longest in (
            (layout.own_N, own_rows, layout.longest_own),
            (layout.seen_N, len(layout.seen_V), layout.longest_seen),
            (layout.candidates_N, len(layout.candidate_C), layout.longest_candidates),
        ):
            assert starts[-1] == rows and starts.dtype == torch.int32
            assert 0 < starts.diff().min() and starts.diff().max() <= longest
        assert layout.events_N[-1] == len(layout.event_Z)
        assert 0 <= layout.events_N.diff().min() and layout.events_N.diff().max() <= layout.longest_events


def test_shapes_repeat_from_batch_to_batch() -> None:
    annotations = random_annotations(6000, seed=0)
    shapes, lengths = set(), set()
    for first in range(0, 6000, 600):
        batch = with_varlen_layout(batch_of(annotations[first : first + 600]), LAYOUT)
        assert batch.varlen is not None
        shapes.add(tuple(len(getattr(batch.varlen, name)) for name in TENSORS))
        lengths.add(int(batch.seen_B.sum()))
    assert len(lengths) == 10
    assert len(shapes) <= 5


class KernelCalls(TorchDispatchMode):
    """Records the arguments of the kernel that GPUs have for packed batches."""

    def __init__(self) -> None:
        super().__init__()
        self.arguments: list[tuple[Any, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name() == "torch_attn::_varlen_attn":
            self.arguments.append(args)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("width", "kernels"), [(4, 8), (8, 8), (12, 16)])
def test_heads_have_a_width_that_the_kernel_for_packed_batches_accepts(width: int, kernels: int) -> None:
    """On `meta`, where a function of shapes replaces the kernel."""
    config = ModelConfig(width=4 * width, heads=4, layers=1, feedforward=32)
    network, objective = build_network("imitation", config, ObjectiveConfig(hidden_hands=1.0), FOUR_PLAYERS)
    network.to("meta"), objective.to("meta")
    packed = with_varlen_layout(batch_of(decisions(8)), LAYOUT).to("meta")
    with KernelCalls() as calls:
        objective.loss(network(packed, with_auxiliary=True), packed)["loss"].backward()
    assert len(calls.arguments) == 5  # own tokens, events, candidates, across, from the kinds of hidden tiles
    for query, key, value, query_starts, key_starts, _, _, _, scale, *_ in calls.arguments:
        assert {tensor.shape[1:] for tensor in (query, key, value)} == {(4, kernels)}
        assert query_starts.dtype == key_starts.dtype == torch.int32
        assert scale == width**-0.5


def test_from_each_gives_every_segment_of_padding_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a key has no query, a kernel may leave its gradient unwritten."""
    seen = []

    def recorded(query: Tensor, key_value: Tensor, heads: int, starts: Tensor, key_starts: Tensor, *_: Any) -> Tensor:
        seen.append((len(query), len(key_value), starts, key_starts))
        return query

    monkeypatch.setattr(attention, "_attend_in_segments", recorded)
    packed = with_varlen_layout(batch_of(decisions(8)), LAYOUT)
    backend = attention_backend(packed)
    query_BKD = torch.randn(8, 5, 16)
    assert torch.equal(backend.from_each(query_BKD, torch.randn(10_000, 32), 2), query_BKD)
    ((num_queries, num_keys, starts, key_starts),) = seen
    assert starts.dtype == key_starts.dtype and len(starts) == len(key_starts)
    assert (int(starts[-1]), int(key_starts[-1])) == (num_queries, num_keys)
    assert starts.diff()[:8].tolist() == [5] * 8 and set(starts.diff()[8:].tolist()) == {1}
