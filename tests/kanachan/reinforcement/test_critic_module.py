"""The loss of a critic."""

from dataclasses import replace

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, OptimConfig
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.reinforcement.critic_module import CriticModule
from kanachan.reinforcement.critic_network import CriticNetwork
from tests.support.random_annotations import random_annotations
from tests.support.tiny_stage import make_trainer

MODEL = ModelConfig(width=16, layers=1, heads=2, feedforward=32)


def labelled(first: int, last: int) -> Batch:
    """Returns some decisions of a batch, two of which have an unknown return."""
    batch = batch_of_annotations(random_annotations(12, seed=3)[first:last], FOUR_PLAYERS)
    label_BS = torch.arange(48.0).view(12, 4)
    label_BS[[1, 2]] = torch.nan
    assert batch.labels is not None
    return replace(batch, labels=replace(batch.labels, label_BL=label_BS[first:last]))


def test_the_loss_of_a_batch_is_the_mean_of_those_of_its_parts_whatever_returns_are_unknown() -> None:
    torch.manual_seed(0)
    network = CriticNetwork(MODEL, FOUR_PLAYERS, scale=1, is_zero_sum=False)
    module = CriticModule(network, MODEL, OptimConfig(), 10, 1)
    module.trainer = make_trainer()
    whole, *parts = (module.training_step(labelled(*rows), 0) for rows in ((0, 12), (0, 4), (4, 8), (8, 12)))
    torch.testing.assert_close(torch.stack(parts).mean(), whole)
    (gradient,) = torch.autograd.grad(whole, network.head.bias)
    assert bool(gradient.isfinite().all()) and float(gradient.norm()) > 0
