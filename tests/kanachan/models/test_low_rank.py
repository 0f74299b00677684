"""Additions of low rank: what they change, and what not."""

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.data.columns import columns_of_annotations
from kanachan.inference.policy import Policy
from kanachan.models.low_rank import Additions, Factors, LowRankNetwork
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(written(tmp_path_factory.mktemp("weights")))


def changed(additions: Additions) -> Additions:
    return tuple(Factors(down, torch.ones_like(up)) for down, up in additions)


def scores(policy: Policy, network: LowRankNetwork | None = None) -> torch.Tensor:
    batch = policy.batch(columns_of_annotations(random_annotations(8, seed=1), V))
    with torch.no_grad():
        found: torch.Tensor = (network or policy.network)(batch).candidate_BAK
    return found


def test_additions_that_are_new_change_nothing(policy: Policy) -> None:
    network = LowRankNetwork(policy.network).eval()
    assert torch.equal(scores(policy, network), scores(policy))
    network.set_additions(network.no_additions(4, seed=0))
    assert torch.equal(scores(policy, network), scores(policy))


def test_additions_change_the_scores_until_they_are_removed_and_no_weights(policy: Policy) -> None:
    before = {name: tensor.clone() for name, tensor in policy.network.state_dict().items()}
    unadapted = scores(policy)
    network = LowRankNetwork(policy.network).eval()
    network.set_additions(changed(network.no_additions(4, seed=0)))
    assert not torch.allclose(scores(policy, network), unadapted)
    assert torch.equal(scores(policy), unadapted)
    network.set_additions(None)
    assert torch.equal(scores(policy, network), unadapted)
    after = policy.network.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
