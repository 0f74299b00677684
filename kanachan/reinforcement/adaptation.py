"""Adaptation of a policy to the round that begins: parametric Monte-Carlo policy adaptation of Suphx (Li et al. 2020,
arXiv:2003.13590, section 3.4).

Deals are drawn that agree with what a seat sees when the round begins; its policy plays each of them to its end in all
seats; and a few steps of policy gradient on these roll-outs give the decoder additions of low rank for this round. All
is a function of the weights, the settings and what the seat sees.

Shapes: B decisions, A candidates.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from annotate.game.deals import SeenDeal
from annotate.game.record import Event
from annotate.vocabulary import Vocabulary
from kanachan.data.batch import Batch
from kanachan.data.columns import columns_of_observations
from kanachan.inference.choice import Action
from kanachan.inference.policy import Policy
from kanachan.models.low_rank import Additions, Factors, LowRankNetwork
from kanachan.models.transformer import Encoded
from kanachan.play.agent import ActRequest, GameKey, Opening, SeededSampler
from kanachan.play.agent_spec import AgentSpec
from kanachan.play.game import LoggedDecision
from kanachan.play.policy_agent import CachedPolicy, PolicyAgent, load_policy, seat_of
from kanachan.play.round_games import play_rounds
from kanachan.reinforcement.behaviour import divergence

_ROWS = 64  # decisions whose situations are encoded together


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptationConfig:
    """Settings of the adaptation to a round."""

    rollouts: int
    """deals that are drawn and played for a round, two or more, whose outcomes are compared"""
    temperature: float = 0.7
    """of the roll-outs: scores are divided by it, and their softmax is sampled from"""
    steps: int = 4
    learning_rate: float = 0.002
    points: float = 10_000.0
    """the anchor: so many points of expected return are worth one nat of Kullback-Leibler divergence from the policy,
    summed over the decisions of a round"""
    low_rank: int = 4
    """of the additions"""
    seed: int = 0


class _Encoded(NamedTuple):
    """Some decisions of the roll-outs, and what does not change while the policy is adapted."""

    batch: Batch
    encoded: Encoded
    """the situations"""
    log_policy_BA: Tensor
    """log probabilities of the policy; 0 at padding"""
    chosen_B: Tensor
    advantage_B: Tensor
    """the return of the roll-out less that expected, in units of `AdaptationConfig.points`"""


class Adapter:
    """Adapts a policy to rounds, each from its unadapted state; `use_bf16`: multiply in bf16 in the roll-outs. Raises
    ValueError if the weights have no probabilities."""

    def __init__(self, policy: Policy, config: AdaptationConfig, *, use_bf16: bool = False) -> None:
        if "probabilities" not in policy.objective.prediction_fields:
            raise ValueError(
                f"only weights of imitation, which have probabilities, can be adapted to a round, not of {policy.stage}"
            )
        self.config = config
        self._policy = policy
        self._network = LowRankNetwork(policy.network)
        self._low_rank = policy.with_network(self._network)
        self._roller = CachedPolicy(policy, use_bf16=use_bf16)

    def adapt(self, opening: Opening, deal: SeenDeal) -> Additions:
        """Returns additions for the round that begins so, for the seat of `deal`."""
        config, vocabulary = self.config, self._policy.vocabulary
        seed = seed_of(opening, deal, config.seed)
        walls = deal.walls(config.rollouts, f"rollouts/{seed}", vocabulary)
        players = {"A": PolicyAgent(self._roller, SeededSampler(seed, "A"), config.temperature)}
        played = [
            each for each in play_rounds(opening, walls, players, ("A",) * vocabulary.num_seats, vocabulary) if each
        ]
        deltas = [each.delta[deal.seat] for each in played]
        mean = math.fsum(deltas) / max(len(deltas), 1)
        own = [
            (logged, (delta - mean) / config.points)
            for each, delta in zip(played, deltas, strict=True)
            for logged in each.decisions
            if logged.decision.seat == deal.seat and not logged.decision.is_preempted
        ]
        start = self._network.no_additions(config.low_rank, seed)
        if not own:
            return start
        return self._fitted(start, list(self._encoded(own)), len(played))

    def adapted(self, additions: Additions) -> Policy:
        """Returns the policy with additions in all its decisions; of the policies that this method has returned, only
        the last one can be used."""
        self._network.set_additions(additions)
        return self._low_rank

    @torch.no_grad()
    def _encoded(self, own: Sequence[tuple[LoggedDecision, float]]) -> Iterator[_Encoded]:
        """Yields decisions with the advantages of their roll-outs."""
        policy = self._policy
        self._network.set_additions(None)
        for first in range(0, len(own), _ROWS):
            part = own[first : first + _ROWS]
            decisions = [logged.decision for logged, _ in part]
            columns = columns_of_observations([each.observation for each in decisions], policy.vocabulary)
            batch = policy.batch(columns).to(policy.device)
            encoded = policy.network.encoded(batch)
            chosen_B = torch.tensor([each.chosen for each in decisions], device=policy.device)
            advantage_B = torch.tensor([advantage for _, advantage in part], device=policy.device)
            yield _Encoded(batch, encoded, self._log_policy(batch, encoded), chosen_B, advantage_B)

    def _log_policy(self, batch: Batch, encoded: Encoded) -> Tensor:
        """Returns the log probabilities of the policy with its present additions, 0 at padding."""
        score_BA = self._policy.objective.score(self._low_rank.decoded(batch, encoded))
        log_policy_BA = (score_BA / self.config.temperature).log_softmax(dim=1)
        return log_policy_BA.masked_fill(batch.candidate_BA == 0, 0.0)

    def _fitted(self, start: Additions, encoded: Sequence[_Encoded], num_rollouts: int) -> Additions:
        """Returns the additions after the steps, from some that change nothing."""
        tensors = [tensor.requires_grad_() for factors in start for tensor in factors]
        additions = tuple(Factors(*pair) for pair in zip(tensors[::2], tensors[1::2], strict=True))
        self._network.set_additions(additions)
        self._take_steps(tensors, encoded, num_rollouts)
        self._network.set_additions(None)
        return tuple(Factors(*(each.detach() for each in pair)) for pair in additions)

    def _take_steps(self, tensors: list[Tensor], encoded: Sequence[_Encoded], num_rollouts: int) -> None:
        optimizer = torch.optim.Adam(tensors, self.config.learning_rate)
        with _repeatable_gradients(self._policy.device):
            for _ in range(self.config.steps):
                optimizer.zero_grad()
                for part in encoded:
                    loss = _loss(part, self._log_policy(part.batch, part.encoded)) / num_rollouts
                    for tensor, gradient in zip(tensors, torch.autograd.grad(loss, tensors), strict=True):
                        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
                optimizer.step()


def _repeatable_gradients(device: torch.device) -> AbstractContextManager[None]:
    """Leaves out the kernels of attention whose gradients, on a GPU, are summed in an order that depends on chance."""
    return nullcontext() if device.type == "cpu" else sdpa_kernel(SDPBackend.MATH)


def seed_of(opening: Opening, deal: SeenDeal, seed: int) -> int:
    """Returns a number that is a function of what a seat sees when a round begins, and of a seed."""
    start = [opening.start[key] for key in ("bakaze", "oya", "honba", "kyotaku", "scores")]
    seen = opening.rules, opening.style, opening.room, opening.grades, *start, deal
    return int.from_bytes(blake2b(repr((seed, *seen)).encode(), digest_size=6).digest(), "big")


def _loss(part: _Encoded, log_policy_BA: Tensor) -> Tensor:
    """Returns what a step lowers: the divergence from the policy less the advantages, weighted by importance."""
    change_BA = log_policy_BA - part.log_policy_BA
    weight_B = change_BA.gather(1, part.chosen_B[:, None])[:, 0].exp()
    return (divergence(part.log_policy_BA, log_policy_BA) - weight_B * part.advantage_B).sum()


class AdaptingAgent(PolicyAgent):
    """Plays by the scores of a policy that is adapted to a round at the seat's first request in it. `policy`: with
    additions of the rank that `adapter` has; the others are as for `PolicyAgent`."""

    def __init__(
        self,
        policy: CachedPolicy,
        sampler: SeededSampler,
        temperature: float | None,
        explore: float,
        adapter: Adapter,
    ) -> None:
        super().__init__(policy, sampler, temperature, explore)
        self._adapter = adapter
        self._adapted_to: dict[tuple[GameKey, int], Event] = {}
        """by game and seat: the start of the round that its additions are for"""

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        for request in requests:
            seat, opening = seat_of(request), request.opening
            if self._adapted_to.get(seat) != opening.start:
                self._adapted_to[seat] = opening.start
                additions = self._adapter.adapt(opening, SeenDeal.at_first_turn(request.turn, opening.start))
                self.policy.set_additions(seat, additions)
        return super().act(requests)

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        super().end(game, seat, events)
        self._adapted_to.pop((game, seat), None)


def load_adapting_agent(
    spec: AgentSpec,
    sampler: SeededSampler,
    vocabulary: Vocabulary,
    device: str,
    *,
    use_bf16: bool,
    explore: float,
) -> AdaptingAgent:
    """Loads the agent of a specification with `:adapt`. Raises ValueError: weights that cannot be read, of another
    vocabulary or without probabilities."""
    assert spec.rollouts is not None
    policy = load_policy(spec, vocabulary, device)
    config = AdaptationConfig(rollouts=spec.rollouts)
    try:
        adapter = Adapter(policy, config, use_bf16=use_bf16)
    except ValueError as error:
        raise ValueError(f"{spec.text}: {error}") from None
    cached = CachedPolicy(policy, use_bf16=use_bf16, rank=config.low_rank)
    return AdaptingAgent(cached, sampler, spec.temperature, explore, adapter)
