"""The loss of stage policy against a plain loop, and its first gradient."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kanachan.data.batch import Batch
from kanachan.policy_config import PolicyConfig
from kanachan.reinforcement.behaviour import Behaviour
from kanachan.reinforcement.policy_gradient import LogProbabilities, policy_gradient
from kanachan.training.tempered_network import log_probabilities
from tests.support.random_outputs import random_batch

EXPLORE = 0.1


def scores(batch: Batch, seed: int, spread: float = 1.0) -> Tensor:
    drawn_BA = spread * torch.randn(batch.candidate_BA.shape, generator=torch.Generator().manual_seed(seed))
    return drawn_BA.masked_fill(batch.candidate_BA == 0, -math.inf)


def played(batch: Batch, old_BA: Tensor) -> Batch:
    """The batch with advantages and weights drawn at random, and the probabilities of a behaviour that explores."""
    behaviour_BA = Behaviour(1.0, EXPLORE).log_probabilities(old_BA)
    behaviour_B = behaviour_BA.gather(1, batch.chosen_B[:, None])[:, 0].float()
    generator = torch.Generator().manual_seed(7)
    advantage_B = torch.randn(len(batch), generator=generator)
    weight_B = 0.5 + torch.rand(len(batch), generator=generator)
    assert batch.labels is not None
    return replace(batch, labels=replace(batch.labels, label_BL=torch.stack([behaviour_B, advantage_B, weight_B], 1)))


def policies(batch: Batch, temperature: float = 1.0) -> LogProbabilities:
    return LogProbabilities(*(log_probabilities(scores(batch, seed), temperature) for seed in range(3)))


def test_the_loss_equals_a_plain_loop() -> None:
    config = PolicyConfig(clip=0.2, kl=0.3, magnet_kl=0.05)
    log = policies(random_batch(), temperature=0.7)
    batch = played(random_batch(), log.old_BA)
    assert batch.label_BL is not None
    total, num_clipped = 0.0, 0
    for row in range(len(batch)):
        places = range(int((batch.candidate_BA[row] != 0).sum()))
        new, old, fixed = ([math.exp(float(each[row, place])) for place in places] for each in log)
        behaviour = [(1 - EXPLORE) * p + EXPLORE / len(places) for p in old]
        _, advantage, weight = batch.label_BL[row].tolist()
        taken = int(batch.chosen_B[row])
        ratio = new[taken] / old[taken]
        clipped = min(max(ratio, 0.8), 1.2)
        num_clipped += ratio * advantage > clipped * advantage
        loss = -old[taken] / behaviour[taken] * min(ratio * advantage, clipped * advantage)
        loss += 0.3 * sum(p * math.log(p / q) for p, q in zip(new, old, strict=True))
        loss += 0.05 * sum(p * math.log(p / q) for p, q in zip(new, fixed, strict=True))
        loss -= 0.4 * -sum(p * math.log(p) for p in new)
        total += weight * loss / len(batch)
    found = policy_gradient(config, log, batch, 0.4)
    assert float(found["loss"]) == pytest.approx(total, rel=1e-4)
    assert num_clipped > 0


def test_before_the_first_step_nothing_diverges_and_nothing_is_clipped() -> None:
    batch = random_batch()
    log_BA = policies(batch).old_BA
    found = policy_gradient(PolicyConfig(), LogProbabilities(log_BA, log_BA, log_BA), played(batch, log_BA), 0.0)
    assert [float(found[name]) for name in ("divergence", "magnet_divergence", "clipped", "change")] == [0, 0, 0, 0]
    assert float(found["entropy"]) == float(found["old_entropy"]) > 0
    # on average, the action taken is less probable with exploring than without
    assert float(found["importance"]) == pytest.approx(1, abs=0.3)


def test_the_first_gradient_is_the_gradient_of_advantage_times_log_probability() -> None:
    batch = random_batch()
    score_BA = scores(batch, 0).requires_grad_()
    old_BA = log_probabilities(score_BA.detach(), 1.0)
    batch = played(batch, old_BA)
    new_BA = log_probabilities(score_BA, 1.0)
    assert batch.label_BL is not None
    behaviour_B, advantage_B, weight_B = batch.label_BL.unbind(1)
    taken = batch.chosen_B[:, None]
    importance_B = (old_BA.gather(1, taken)[:, 0] - behaviour_B).exp()
    expected = -(weight_B * importance_B * advantage_B * new_BA.gather(1, taken)[:, 0]).mean()
    (expected_BA,) = torch.autograd.grad(expected, score_BA, retain_graph=True)
    found = policy_gradient(PolicyConfig(kl=1.0), LogProbabilities(new_BA, old_BA, old_BA), batch, 0.0)
    (found_BA,) = torch.autograd.grad(found["loss"], score_BA)
    assert torch.allclose(found_BA, expected_BA, atol=1e-6)
