"""The adaptation of a policy to the round that begins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from annotate.game.deals import SeenDeal
from annotate.game.tiles import TILE_OF_ID
from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.inference.policy import Policy
from kanachan.models.low_rank import Additions
from kanachan.play.agent import SeededSampler
from kanachan.play.policy_agent import CachedPolicy, PolicyAgent
from kanachan.play.round_games import PlayedRound, play_rounds
from kanachan.reinforcement.adaptation import AdaptationConfig, Adapter, seed_of
from tests.support.matches import opening_of_round
from tests.support.rounds import tiles
from tests.support.tiny_weights import written

HAND = tuple(sorted(tile for tile in tiles("123m456p789s11z55m") if tile is not None))
DEAL = SeenDeal(dealer=0, seat=2, hand=HAND, drawn=None, indicator=TILE_OF_ID[135])
OPENING = opening_of_round()


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(written(tmp_path_factory.mktemp("weights")))


def adapter(policy: Policy, **settings: Any) -> Adapter:
    return Adapter(policy, AdaptationConfig(**{"rollouts": 3, "temperature": 2.0, **settings}))


def rounds(policy: Policy, num: int) -> list[PlayedRound]:
    player = PolicyAgent(CachedPolicy(policy), SeededSampler(0, "A"), 2.0)
    walls = DEAL.walls(num, "test", V)
    return [each for each in play_rounds(OPENING, walls, {"A": player}, ("A",) * 4, V) if each is not None]


def test_the_weights_stay_as_they_are(policy: Policy) -> None:
    before = {name: tensor.clone() for name, tensor in policy.network.state_dict().items()}
    adapted = adapter(policy).adapt(OPENING, DEAL)
    assert all(factors.up.any() for factors in adapted)
    after = policy.network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.grad is None for parameter in policy.network.parameters())


def test_an_adaptation_is_a_function_of_what_the_seat_sees(policy: Policy) -> None:
    used = adapter(policy, rollouts=2)
    first = used.adapt(OPENING, DEAL)
    elsewhere = used.adapt(OPENING, replace(DEAL, seat=1))
    again = adapter(policy, rollouts=2).adapt(opening_of_round(), replace(DEAL))
    assert all(map(torch.equal, _tensors(first), _tensors(again)))
    assert not all(map(torch.equal, _tensors(first), _tensors(elsewhere)))
    other_seed = adapter(policy, rollouts=2, seed=1).adapt(OPENING, DEAL)
    assert not all(map(torch.equal, _tensors(first), _tensors(other_seed)))


def _tensors(adapted: Additions) -> list[torch.Tensor]:
    return [tensor for factors in adapted for tensor in factors]


class NotesKernels(TorchFunctionMode):
    """Notes whether attention may take kernels whose gradients depend on chance on a GPU, where it is derived."""

    def __init__(self) -> None:
        super().__init__()
        self.may_take: list[bool] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.scaled_dot_product_attention and torch.is_grad_enabled():
            kernels = torch.backends.cuda
            names = ("flash", "mem_efficient", "cudnn")
            self.may_take.append(any(getattr(kernels, f"{name}_sdp_enabled")() for name in names))
        return func(*args, **(kwargs or {}))


def test_on_another_device_gradients_do_not_depend_on_chance(policy: Policy, tmp_path: Path) -> None:
    elsewhere = adapter(Policy.load(written(tmp_path), "meta"))
    own = [(logged, 0.1) for logged in rounds(policy, 1)[0].decisions]
    encoded = list(elsewhere._encoded(own))
    additions = elsewhere._network.no_additions(2, seed=0)
    elsewhere._network.set_additions(additions)
    with NotesKernels() as noted:
        elsewhere._take_steps([tensor.requires_grad_() for pair in additions for tensor in pair], encoded, 1)
    assert noted.may_take and not any(noted.may_take)


def test_actions_of_better_rounds_become_more_probable(policy: Policy) -> None:
    used = adapter(policy, rollouts=8, steps=10, learning_rate=0.02, points=1e3)
    adapted = used.adapted(used.adapt(OPENING, DEAL))
    walls = DEAL.walls(8, f"rollouts/{_seed(used)}", V)
    player = PolicyAgent(CachedPolicy(policy), SeededSampler(_seed(used), "A"), 2.0)
    played = [each for each in play_rounds(OPENING, walls, {"A": player}, ("A",) * 4, V) if each is not None]
    delta_K = torch.tensor([float(each.delta[DEAL.seat]) for each in played])
    assert delta_K.std() > 0
    gain_K = torch.tensor([_log_probability(adapted, each) - _log_probability(policy, each) for each in played])
    assert torch.corrcoef(torch.stack((delta_K, gain_K)))[0, 1] > 0.3


def _seed(used: Adapter) -> int:
    return seed_of(OPENING, DEAL, used.config.seed)


def _log_probability(policy: Policy, played: PlayedRound) -> float:
    """The log probability of the seat's actions at the temperature of the roll-outs."""
    own = [
        logged.decision
        for logged in played.decisions
        if logged.decision.seat == DEAL.seat and not logged.decision.is_preempted
    ]
    found = policy.evaluate([decision.observation for decision in own])
    logs = [torch.from_numpy(each.score / 2.0).log_softmax(0) for each in found]
    return float(sum(log_A[decision.chosen] for log_A, decision in zip(logs, own, strict=True)))
