from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig
from kanachan.data.batch import batch_of_annotations
from kanachan.objectives.networks import build_network
from kanachan.training.throughput import count_flops, matrix_flops_per_second, peak_memory
from tests.support.random_annotations import random_annotations

MODEL = ModelConfig(width=64, layers=3, heads=4, feedforward=128, decoder_layers=2)


@pytest.mark.parametrize("trains_encoder", [True, False])
def test_the_work_of_a_decision_equals_the_count_of_torch(trains_encoder: bool) -> None:
    batch = batch_of_annotations(random_annotations(1, seed=0) * 4, FOUR_PLAYERS)
    network, objective = build_network("imitation", MODEL, ObjectiveConfig(), FOUR_PLAYERS)
    network.encoder.requires_grad_(trains_encoder)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        objective.loss(network(batch), batch)["loss"].backward()
    work = count_flops(MODEL, batch, trains_encoder=trains_encoder)
    assert work.flops == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_tokens_are_counted_without_padding_and_shared_events_once() -> None:
    decisions = [a for a in random_annotations(12, seed=0) if len(a.progression) > 1]
    separate = count_flops(MODEL, batch_of_annotations(decisions, FOUR_PLAYERS))
    twice = count_flops(MODEL, batch_of_annotations([a for a in decisions for _ in range(2)], FOUR_PLAYERS))
    # one vector for six tokens of the table, and one for each pair of a grade and a rank
    own = sum(len(a.sparse) - 6 - 4 * 2 + 1 + 4 for a in decisions)
    events = sum(len(a.progression) for a in decisions)
    assert (separate.decisions, separate.tokens) == (len(decisions), own + events)
    assert (twice.decisions, twice.tokens) == (2 * len(decisions), 2 * own + events)


def test_measuring_matrix_products_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    peak = matrix_flops_per_second(torch.device("cpu"), torch.float32)
    assert 1e8 < peak < 1e15
    assert torch.equal(torch.get_rng_state(), state)


def test_the_peak_of_memory_is_the_systems_number_in_bytes() -> None:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("only Linux reports it in a file")
    kibibytes = int(status.read_text().partition("VmHWM:")[2].split()[0])
    assert peak_memory(torch.device("cpu")) == pytest.approx(1024 * kibibytes, rel=0.05)
