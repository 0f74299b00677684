"""Oracle guiding: hidden tokens that become fewer, and weights that are like any others."""

from pathlib import Path

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, DataConfig, ObjectiveConfig
from kanachan.data.batch import Batch
from kanachan.data.loader import Share
from kanachan.objectives.networks import build_network
from kanachan.reinforcement.oracle_guiding import hidden_share
from kanachan.training.shard_source import ShardSource

ALONE = Share(0, 1)
SHARE = hidden_share(1.0, 20)


def batches(games: Path, *, share: Share = ALONE, varlen: bool = False) -> list[Batch]:
    """The micro-batches of 20 steps, of which the last five have no hidden tokens any more."""
    source = ShardSource(DataConfig(path=str(games), batch=8, micro_batch=4), 0, varlen=varlen, reads_hidden=True)
    source.guide(SHARE)
    loaded = source.train_batches(share)
    return [batch for _, batch in zip(range(40 // share.world), loaded, strict=False)]


def hidden_per_decision(batch: Batch) -> float:
    return 0 if batch.hidden_BU is None else float((batch.hidden_BU != 0).sum()) / len(batch)


def test_the_share_of_hidden_tokens_falls_from_the_start_to_nothing(rule_games: Path) -> None:
    share = hidden_share(0.8, 80)
    assert share is not None
    assert [share(step) for step in (0, 30, 60, 79)] == [0.8, 0.4, 0, 0]
    counts = [hidden_per_decision(batch) for batch in batches(rule_games)]
    assert min(counts[:2]) > 40 and all(30 > count > 0 for count in counts[18:29])
    assert not any(counts[30:])


@pytest.mark.parametrize("varlen", [False, True])
def test_but_for_hidden_tokens_batches_are_those_of_an_ordinary_run(rule_games: Path, varlen: bool) -> None:
    plain = ShardSource(DataConfig(path=str(rule_games), batch=8, micro_batch=4), 0, varlen=varlen)
    expected = [batch for _, batch in zip(range(40), plain.train_batches(ALONE), strict=False)]
    for ours, theirs in zip(batches(rule_games, varlen=varlen), expected, strict=True):
        for name in ("tile_BT", "event_GE", "chosen_B"):
            assert torch.equal(getattr(ours, name), getattr(theirs, name))
        assert not varlen or (ours.varlen is not None and torch.equal(ours.varlen.tile_Y, theirs.varlen.tile_Y))  # type: ignore[union-attr]


@pytest.mark.parametrize("varlen", [False, True])
def test_a_guided_network_starts_as_the_weights_that_it_is_made_of(rule_games: Path, varlen: bool) -> None:
    first, last = (batches(rule_games, varlen=varlen)[number] for number in (0, -1))
    networks = []
    for is_guided in (False, True):
        torch.manual_seed(0)
        networks.append(
            build_network("imitation", MODEL_SIZES["tiny"], ObjectiveConfig(), FOUR_PLAYERS, is_guided=is_guided)[0]
        )
    plain, guided = networks
    for batch in (first, last):
        assert torch.equal(plain(batch).candidate_BAK, guided(batch).candidate_BAK)
    with torch.no_grad():
        assert guided.encoder.hidden_embedding is not None
        guided.encoder.hidden_embedding.weight[1:] = 1 + torch.randn_like(guided.encoder.hidden_embedding.weight[1:])
    assert not torch.allclose(plain(first).candidate_BAK, guided(first).candidate_BAK)
    assert torch.equal(plain(last).candidate_BAK, guided(last).candidate_BAK)
    guided(last).candidate_BAK.sum().backward()
    assert guided.encoder.hidden_embedding.weight.grad is not None  # which DDP waits for


def test_ranks_share_the_hidden_tokens_of_one_process(rule_games: Path) -> None:
    def rows(found: list[Batch]) -> list[list[int]]:
        return sorted(sorted(row.tolist())[-9:] for batch in found[:10] for row in batch.hidden_BU)  # type: ignore[union-attr]

    ranks = (batches(rule_games, share=Share(rank, 2)) for rank in range(2))
    assert rows([batch for pair in zip(*ranks, strict=True) for batch in pair]) == rows(batches(rule_games))


def test_validations_have_no_hidden_tokens(rule_games: Path) -> None:
    source = ShardSource(
        DataConfig(path=str(rule_games), batch=64, micro_batch=64, validation_batch=64), 0, reads_hidden=True
    )
    source.guide(SHARE)
    assert all(batch.hidden_BU is None for batch in source.validation_batches(ALONE, 4))
