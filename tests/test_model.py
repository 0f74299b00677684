"""The network's invariants: what may change in its input without any change of its output."""

from dataclasses import replace

import pytest
import torch
from decisions import random_annotations
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.batch import Batch, TokenLayout, batch_of_annotations
from kanachan.config import ModelConfig
from kanachan.model import Network, Output

LAYOUT = TokenLayout(FOUR_PLAYERS)
CONFIG = ModelConfig(width=16, layers=2, heads=2, feedforward=32, decoder_layers=2)
NUM_LEADING = LAYOUT.num_leading


def random_batch(num_rows: int, seed: int = 0) -> Batch:
    return batch_of_annotations(random_annotations(num_rows, seed), FOUR_PLAYERS)


def tiny_network(num_candidate_outputs: int = 3, num_summary_outputs: int = 2) -> Network:
    torch.manual_seed(0)
    return Network(CONFIG, LAYOUT, FOUR_PLAYERS.max_progression, num_candidate_outputs, num_summary_outputs).eval()


@torch.no_grad()
def outputs(network: Network, batch: Batch) -> Output:
    return network(batch)


def assert_same(left: Tensor, right: Tensor) -> None:
    assert left.abs().max() > 0.1
    torch.testing.assert_close(left, right, rtol=0, atol=1e-5)


@pytest.fixture
def network() -> Network:
    return tiny_network()


def test_permuting_the_candidates_permutes_their_outputs(network: Network) -> None:
    batch = random_batch(6)
    permutation = torch.randperm(batch.candidate_BA.shape[1], generator=torch.Generator().manual_seed(1))
    before = outputs(network, batch)
    after = outputs(network, replace(batch, candidate_BA=batch.candidate_BA[:, permutation]))
    mask_BA = after.mask_BA
    assert_same(before.candidate_BAK[:, permutation][mask_BA], after.candidate_BAK[mask_BA])
    assert_same(before.summary_BK, after.summary_BK)


def test_more_padding_changes_nothing(network: Network) -> None:
    batch = random_batch(6)
    pad = torch.nn.functional.pad
    padded = replace(
        batch,
        token_BT=pad(batch.token_BT, (0, 9)),
        position_BT=pad(batch.position_BT, (0, 9)),
        candidate_BA=pad(batch.candidate_BA, (0, 4)),
    )
    before, after = outputs(network, batch), outputs(network, padded)
    assert_same(before.candidate_BAK[before.mask_BA], after.candidate_BAK[after.mask_BA])
    assert_same(before.summary_BK, after.summary_BK)


def test_a_batch_of_one_equals_a_batch_of_many(network: Network) -> None:
    batch = random_batch(6)
    together = outputs(network, batch)
    for row in range(len(batch)):
        length = int((batch.token_BT[row] != 0).sum())
        num_candidates = int((batch.candidate_BA[row] != 0).sum())
        alone = outputs(
            network,
            replace(
                batch,
                token_BT=batch.token_BT[row : row + 1, :length],
                position_BT=batch.position_BT[row : row + 1, :length],
                numeric_BN=batch.numeric_BN[row : row + 1],
                candidate_BA=batch.candidate_BA[row : row + 1, :num_candidates],
            ),
        )
        assert_same(together.candidate_BAK[row, :num_candidates], alone.candidate_BAK[0])
        assert_same(together.summary_BK[row], alone.summary_BK[0])


def test_permuting_the_sparse_tokens_changes_nothing(network: Network) -> None:
    batch = random_batch(6)
    token_BT = batch.token_BT.clone()
    token_BT[:, NUM_LEADING : NUM_LEADING + 8] = token_BT[:, NUM_LEADING : NUM_LEADING + 8].flip(1)
    before, after = outputs(network, batch), outputs(network, replace(batch, token_BT=token_BT))
    assert_same(before.candidate_BAK[before.mask_BA], after.candidate_BAK[after.mask_BA])


def test_the_order_of_events_matters(network: Network) -> None:
    batch = random_batch(6)
    events = (batch.position_BT == 1) | (batch.position_BT == 2)
    rows = events.sum(dim=1) == 2
    token_BT = batch.token_BT.clone()
    token_BT[rows] = token_BT[rows].masked_scatter(events[rows], token_BT[rows][events[rows]].view(-1, 2).flip(1))
    before, after = outputs(network, batch), outputs(network, replace(batch, token_BT=token_BT))
    assert rows.any()
    assert ((before.summary_BK - after.summary_BK).abs().amax(dim=1)[rows] > 1e-4).all()


@pytest.mark.parametrize("number, change", [(0, 1), (1, 1), (2, 100), (5, 100)])
def test_a_hundred_points_or_one_stick_are_seen(network: Network, number: int, change: int) -> None:
    batch = random_batch(6)
    numeric_BN = batch.numeric_BN.clone()
    numeric_BN[:, number] += change
    before, after = outputs(network, batch), outputs(network, replace(batch, numeric_BN=numeric_BN))
    assert ((before.summary_BK - after.summary_BK).abs().amax(dim=1) > 1e-4).all()


def test_padding_gets_no_gradient_and_every_other_parameter_does() -> None:
    network = tiny_network().train()
    batch = random_batch(32)
    output = network(batch)
    (output.candidate_BAK[output.mask_BA].square().sum() + output.summary_BK.square().sum()).backward()
    assert network.encoder.position_embedding.weight.grad is not None
    assert not network.encoder.token_embedding.weight.grad[TokenLayout.PAD].any()
    assert not network.encoder.position_embedding.weight.grad[0].any()
    assert not network.decoder.candidate_embedding.weight.grad[0].any()
    without = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_the_encoder_has_the_same_keys_whatever_the_heads() -> None:
    def encoder_keys(network: Network) -> set[str]:
        return {key for key in network.state_dict() if key.startswith("encoder.")}

    assert encoder_keys(tiny_network(1, 0)) == encoder_keys(tiny_network(101, 101))


def test_a_network_without_summary_outputs_gives_none() -> None:
    assert tiny_network(1, 0)(random_batch(3)).summary_BK.shape == (3, 0)


def test_dropout_is_off_in_evaluation() -> None:
    network = Network(replace(CONFIG, dropout=0.5), LAYOUT, FOUR_PLAYERS.max_progression, 1, 0)
    batch = random_batch(3)
    torch.manual_seed(0)
    noisy = [network(batch).candidate_BAK for _ in range(2)]
    network.eval()
    quiet = [network(batch).candidate_BAK for _ in range(2)]
    assert not torch.equal(*noisy) and torch.equal(*quiet)
