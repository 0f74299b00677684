import pytest
from decisions import random_annotations
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.accounting import training_flops
from kanachan.batch import batch_of_annotations
from kanachan.checkpoint import build_network
from kanachan.config import ModelConfig, ObjectiveConfig


def test_the_work_of_a_decision_is_what_torch_counts() -> None:
    model = ModelConfig(width=64, layers=3, heads=4, feedforward=128, decoder_layers=2)
    batch = batch_of_annotations(random_annotations(1, seed=0) * 4, FOUR_PLAYERS)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        objective.loss(network(batch), batch)["loss"].backward()
    assert training_flops(model, [batch]) == pytest.approx(counter.get_total_flops() / 4, rel=0.01)
