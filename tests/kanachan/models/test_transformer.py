"""The network's invariants: which changes of its input leave its output unchanged."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig
from kanachan.data.batch import Batch, TokenLayout, batch_of_annotations
from kanachan.models.attention import PaddedAttention
from kanachan.models.relative_suits import FACTOR
from kanachan.models.transformer import Encoder, Network, Output, attention_backend
from tests.support.random_annotations import random_annotations

LAYOUT = TokenLayout(FOUR_PLAYERS)
CONFIG = ModelConfig(width=16, layers=2, heads=2, feedforward=32, decoder_layers=2)


def random_batch(num_rows: int, seed: int = 0) -> Batch:
    return batch_of_annotations(random_annotations(num_rows, seed), FOUR_PLAYERS)


def tiny_network(num_candidate_outputs: int = 3, num_summary_outputs: int = 2) -> Network:
    torch.manual_seed(0)
    return Network(CONFIG, LAYOUT, num_candidate_outputs, num_summary_outputs, 0, 0, None).eval()


@torch.no_grad()
def outputs(network: Network, batch: Batch) -> Output:
    return network(batch)


def assert_same(left: Tensor, right: Tensor) -> None:
    assert left.abs().max() > 0.1
    torch.testing.assert_close(left, right, rtol=0, atol=1e-5)


def encoded_of(encoder: Encoder, batch: Batch) -> Tensor:
    return encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, attention_backend(batch))


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


def test_the_encoder_equals_attention_over_one_masked_sequence() -> None:
    """Computes the same on one row of own tokens and events, with a mask of which token may attend to which."""
    batch = random_batch(4)
    encoder = tiny_network().encoder
    backend = attention_backend(batch)
    assert isinstance(backend, PaddedAttention)
    own_BOD, event_GED = backend.split(encoded_of(encoder, batch))
    for row in range(len(batch)):
        one = batch_of_annotations(random_annotations(4, seed=0)[row : row + 1], FOUR_PLAYERS)
        # own tokens of the only decision, then its events
        backend = attention_backend(one)
        hidden_VD = encoder._embed(one.table_BS, one.standing_BP2, one.numeric_BN, backend)
        suit_VC = encoder.suits.rows(backend, 1)
        suits = suit_VC.shape[1]
        num_events = int(one.seen_B)
        num_own = len(hidden_VD) - num_events
        may_look = torch.ones(len(hidden_VD), len(hidden_VD), dtype=torch.bool).tril()
        may_look[:num_own] = True
        may_look[num_own:, :num_own] = False
        for block in encoder.blocks:
            attention = block.attention
            normed_VD = attention.norm(hidden_VD)
            query, key, value = (
                part.view(len(hidden_VD), CONFIG.heads, -1).transpose(0, 1)
                for part in attention.query_key_value(normed_VD).chunk(3, dim=1)
            )
            factor_HV1 = FACTOR * attention.suit_factor(normed_VD).T[:, :, None]
            query = torch.cat((factor_HV1 * suit_VC, query[:, :, suits:]), dim=2)
            key = torch.cat((suit_VC.expand(CONFIG.heads, -1, -1), key[:, :, suits:]), dim=2)
            weight = (query @ key.transpose(1, 2) / key.shape[2] ** 0.5).masked_fill(~may_look, -torch.inf).softmax(2)
            hidden_VD = hidden_VD + attention.projection((weight @ value).transpose(0, 1).flatten(1))
            hidden_VD = hidden_VD + block.feedforward(hidden_VD)
        expected_VD = encoder.norm(hidden_VD)
        assert_same(own_BOD[row, :num_own], expected_VD[:num_own])
        assert_same(event_GED[batch.group_B[row], :num_events], expected_VD[num_own:])


def test_permuting_the_tiles_changes_nothing(network: Network) -> None:
    batch = random_batch(6)
    before, after = outputs(network, batch), outputs(network, replace(batch, tile_BT=batch.tile_BT.flip(1)))
    assert_same(before.candidate_BAK[before.mask_BA], after.candidate_BAK[after.mask_BA])


def test_the_order_of_events_matters(network: Network) -> None:
    batch = random_batch(6)
    event_GE = batch.event_GE.clone()
    event_GE[:, 1:3] = event_GE[:, 1:3].flip(1)
    rows = (batch.seen_B > 2) & (event_GE != batch.event_GE).any(dim=1)[batch.group_B]
    before, after = outputs(network, batch), outputs(network, replace(batch, event_GE=event_GE))
    assert rows.any()
    assert ((before.summary_BK - after.summary_BK).abs().amax(dim=1)[rows] > 1e-4).all()


@pytest.mark.parametrize("number, change", [(0, 1), (1, 1), (2, 100), (5, 100)])
def test_a_hundred_points_or_one_stick_change_the_output(network: Network, number: int, change: int) -> None:
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
    assert network.encoder.token_embedding.weight.grad is not None
    assert not network.encoder.token_embedding.weight.grad[TokenLayout.PAD].any()
    assert not network.decoder.candidate_embedding.weight.grad[0].any()
    without = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_dropout_is_off_in_evaluation() -> None:
    network = Network(replace(CONFIG, dropout=0.5), LAYOUT, 1, 0, 0, 0, None)
    batch = random_batch(3)
    torch.manual_seed(0)
    noisy = [network(batch).candidate_BAK for _ in range(2)]
    network.eval()
    quiet = [network(batch).candidate_BAK for _ in range(2)]
    assert not torch.equal(*noisy) and torch.equal(*quiet)
