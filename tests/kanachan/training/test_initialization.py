"""The parts of a new network that come from earlier weights."""

from pathlib import Path
from typing import Any

import torch

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, DataConfig, ObjectiveConfig, StageName, TrainConfig
from kanachan.models.weights import read_weights
from kanachan.training.initialization import InitialNetwork, initial_network
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written


def initial(stage: StageName, init: Path, **objective: Any) -> InitialNetwork:
    config = TrainConfig(
        stage=stage,
        data=DataConfig(path="."),
        model=MODEL_SIZES["tiny"],
        objective=ObjectiveConfig(**objective),
        init=str(init),
    )
    return initial_network(config, FOUR_PLAYERS, inherits=True)


def inherited(network: InitialNetwork, init: Path) -> set[str]:
    """The parts of the network that equal those of the weights."""
    theirs = read_weights(init).tensors
    return {
        part
        for part, module in network.network.named_children()
        if all(
            f"{part}.{name}" in theirs and torch.equal(tensor, theirs[f"{part}.{name}"])
            for name, tensor in module.state_dict().items()
        )
    }


def test_weights_of_the_same_stage_give_the_whole_network(tmp_path: Path) -> None:
    init = written(tmp_path, "rank")
    made = initial("rank", init)
    assert inherited(made, init) == {name for name, _ in made.network.named_children()}
    assert made.origin == f"encoder and decoder from {init}"


def test_weights_of_another_stage_give_the_encoder_alone(tmp_path: Path) -> None:
    init = written(tmp_path, "round_delta")
    made = initial("grading", init)
    assert inherited(made, init) == {"encoder"}
    assert made.origin == f"encoder from {init}"


def test_a_head_of_another_shape_is_new_and_reported(tmp_path: Path) -> None:
    init = written(tmp_path, "imitation", round_winner=1.0)
    theirs = read_weights(init).tensors
    made = initial("imitation", init, round_winner=1.0, hidden_hands=1.0)
    assert made.origin == f"encoder and decoder from {init}, new with other shapes: auxiliary_head"
    for part in ("encoder", "decoder", "head"):
        for name, tensor in getattr(made.network, part).state_dict().items():
            assert torch.equal(tensor, theirs[f"{part}.{name}"])


def test_weights_of_the_same_stage_and_prior_give_the_whole_network(tmp_path: Path) -> None:
    reward = str(written_reward(tmp_path / "reward.safetensors"))
    init = written(tmp_path / "rank", "rank", prior=reward)
    made = initial("rank", init, prior=reward)
    assert inherited(made, init) == {name for name, _ in made.network.named_children()}
    assert made.origin == f"encoder and decoder from {init}"


def test_without_the_prior_of_the_weights_the_heads_are_new(tmp_path: Path) -> None:
    init = written(tmp_path / "rank", "rank", prior=str(written_reward(tmp_path / "reward.safetensors")))
    made = initial("rank", init)
    assert inherited(made, init) == {"encoder", "decoder"}
    assert made.origin.endswith("new with another prior: head, summary_head")


def test_with_another_prior_than_that_of_the_weights_the_network_starts_as_good_as_it(tmp_path: Path) -> None:
    priors = [str(written_reward(tmp_path / f"{seed}.safetensors", seed=seed)) for seed in range(2)]
    for init in (written(tmp_path / "old", "rank"), written(tmp_path / "new", "rank", prior=priors[0])):
        made = initial("rank", init, prior=priors[1])
        assert inherited(made, init) & {"encoder", "decoder", "head", "prior"} == {"encoder", "decoder"}
        assert not made.network.head.weight.any()
