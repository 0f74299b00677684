"""The parts of a new network that come from earlier weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.config import MODEL_SIZES, DataConfig, ModelConfig, ObjectiveConfig, StageName, TrainConfig
from kanachan.models.weights import read_weights, write_weights
from kanachan.objectives.prior import Prior
from kanachan.training.initialization import InitialNetwork, initial_network
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

TINY = MODEL_SIZES["tiny"]


def initial(
    stage: StageName, init: Path, vocabulary: Vocabulary = FOUR_PLAYERS, model: ModelConfig = TINY, **objective: Any
) -> InitialNetwork:
    config = TrainConfig(
        stage=stage, data=DataConfig(path="."), model=model, objective=ObjectiveConfig(**objective), init=str(init)
    )
    return initial_network(config, vocabulary, inherits=True)


def inherited(network: InitialNetwork, init: Path) -> set[str]:
    """Returns the names of the parts that are equal in the network and in the weights."""
    theirs = read_weights(init).tensors
    return {
        part
        for part, module in network.network.named_children()
        if all(
            f"{part}.{name}" in theirs and torch.equal(tensor, theirs[f"{part}.{name}"])
            for name, tensor in module.state_dict().items()
        )
    }


@pytest.mark.parametrize(
    ("stage", "earlier", "parts"),
    [
        ("rank", "rank", {"encoder", "decoder", "head", "summary_head"}),
        ("grading", "round_delta", {"encoder"}),
        ("policy", "imitation", {"encoder", "decoder", "head"}),
        ("imitation", "policy", {"encoder", "decoder", "head"}),
        ("rank", "policy", {"encoder"}),
    ],
)
def test_the_same_kind_of_stage_gives_all_parts_and_another_one_the_encoder(
    stage: StageName, earlier: StageName, parts: set[str], tmp_path: Path
) -> None:
    init = written(tmp_path, earlier)
    made = initial(stage, init)
    assert inherited(made, init) == parts
    assert made.origin == f"encoder{' and decoder' if 'decoder' in parts else ''} from {init}"
    assert made.is_whole == ("decoder" in parts)


def test_a_head_of_another_shape_is_new_and_reported(tmp_path: Path) -> None:
    init = written(tmp_path, "imitation", round_winner=1.0)
    theirs = read_weights(init).tensors
    made = initial("imitation", init, round_winner=1.0, hidden_hands=1.0)
    assert made.origin == f"encoder and decoder from {init}, new with other shapes: auxiliary_head"
    assert not made.is_whole
    for part in ("encoder", "decoder", "head"):
        for name, tensor in getattr(made.network, part).state_dict().items():
            assert torch.equal(tensor, theirs[f"{part}.{name}"])


def test_without_the_prior_of_the_weights_the_heads_are_new(tmp_path: Path) -> None:
    init = written(tmp_path / "rank", "rank", prior=str(written_reward(tmp_path / "reward.safetensors")))
    made = initial("rank", init)
    assert inherited(made, init) == {"encoder", "decoder"}
    assert made.origin.endswith("new with other shapes: head, summary_head")


def test_a_stage_with_a_prior_keeps_decoder_and_head_if_the_prior_is_trained_again(tmp_path: Path) -> None:
    priors = [str(written_reward(tmp_path / f"{seed}.safetensors", seed=seed)) for seed in range(2)]
    init = written(tmp_path / "rank", "rank", prior=priors[0])
    made = initial("rank", init, prior=priors[1])
    assert inherited(made, init) == {"encoder", "decoder", "head", "summary_head"}


@pytest.mark.parametrize(
    ("earlier", "stage"), [("round_delta", "rank"), ("round_delta", "grading"), ("rank", "grading")]
)
def test_a_stage_with_a_prior_keeps_the_decoder_and_the_points_of_the_round(
    earlier: StageName, stage: StageName, tmp_path: Path
) -> None:
    prior = str(written_reward(tmp_path / "reward.safetensors"))
    init = written(tmp_path, earlier, **({} if earlier == "round_delta" else {"prior": prior}))
    made, theirs, count = initial(stage, init, prior=prior), read_weights(init).tensors, Prior.num_points
    assert inherited(made, init) & {"encoder", "decoder"} == {"encoder", "decoder"}
    for part, head in (("head", made.network.head), ("summary_head", made.network.summary_head)):
        assert head is not None
        assert torch.equal(head.weight[:count], theirs[f"{part}.weight"][:count])
        assert torch.equal(head.bias[:count], theirs[f"{part}.bias"][:count])
        assert not head.weight[count:].any() and not head.bias[count:].any()
    assert made.origin == f"encoder and decoder from {init}"


def test_rank_of_three_players_keeps_the_points_of_rank_of_four(tmp_path: Path) -> None:
    priors = {
        v: str(written_reward(tmp_path / f"{v.name}.safetensors", vocabulary=v)) for v in (FOUR_PLAYERS, THREE_PLAYERS)
    }
    init = written(tmp_path, "rank", prior=priors[FOUR_PLAYERS])
    made = initial("rank", init, THREE_PLAYERS, prior=priors[THREE_PLAYERS], rank_points=(135.0, 0.0, -135.0))
    count = Prior.num_points
    assert torch.equal(made.network.head.weight[:count], read_weights(init).tensors["head.weight"][:count])
    assert len(made.network.head.weight) == count + 3 and not made.network.head.weight[count:].any()


def test_heads_of_weights_with_a_prior_that_predicted_no_points_are_not_taken_for_points(tmp_path: Path) -> None:
    prior = str(written_reward(tmp_path / "reward.safetensors"))
    init = read_weights(written(tmp_path, "grading", prior=prior))
    earlier = {
        n: t[Prior.num_points :] if "head" in n else t for n, t in init.tensors.items() if "points_logit" not in n
    }
    write_weights(init.path, earlier, init.card)
    made = initial("rank", init.path, prior=prior)
    assert inherited(made, init.path) == {"encoder"} and made.origin == f"encoder from {init.path}"


def test_the_head_is_new_if_the_decoder_is(tmp_path: Path) -> None:
    prior = str(written_reward(tmp_path / "reward.safetensors"))
    init = written(tmp_path, "round_delta")
    made = initial("rank", init, model=replace(TINY, decoder_layers=2), prior=prior)
    assert made.origin == f"encoder from {init}, new with other shapes: decoder, head"
    assert not made.network.head.weight.any()


def test_a_shallower_network_starts_with_blocks_of_a_deeper_one_and_reports_which(tmp_path: Path) -> None:
    init = written(tmp_path, "imitation", layers=5)
    made = initial("imitation", init, model=replace(TINY, layers=3))
    theirs, ours = read_weights(init).tensors, made.network.state_dict()
    source = {0: 0, 1: 2, 2: 4}
    for name, tensor in ours.items():
        for block, origin in source.items():
            if name.startswith(f"encoder.blocks.{block}."):
                name = name.replace(f"blocks.{block}.", f"blocks.{origin}.", 1)
                break
        assert torch.equal(tensor, theirs[name]), name
    assert made.origin == f"encoder (of 5 blocks number 1 and 3 and 5) and decoder from {init}"
    assert made.ancestry.lineage[-1]["encoder_blocks"] == [1, 3, 5]


def test_imitation_of_three_players_starts_from_encoder_and_decoder_of_four(tmp_path: Path) -> None:
    init = written(tmp_path, "imitation")
    made = initial("imitation", init, THREE_PLAYERS)
    assert inherited(made, init) == {"head"}  # all other parts have rows of their own
    assert made.origin == f"encoder and decoder from {init} (kanachan-4p)"
    (own,) = made.ancestry.lineage
    assert own["vocabulary"] == FOUR_PLAYERS.name and own["stage"] == "imitation"
