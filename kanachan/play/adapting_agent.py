"""A network that is adapted to each round when it begins, as an agent."""

from collections.abc import Sequence

from annotate.game.deals import SeenDeal
from annotate.game.record import Event
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.adaptation import AdaptationConfig, Adapter
from kanachan.play.agent import ActRequest, GameKey, SeededSampler
from kanachan.play.agent_spec import AgentSpec
from kanachan.play.policy_agent import CachedPolicy, PolicyAgent, load_policy, seat_of


class AdaptingAgent(PolicyAgent):
    """Plays by the scores of a policy that is adapted to a round at the seat's first request in it.

    Args:
        policy: with additions of the rank that `adapter` has; the others are as for `PolicyAgent`.
    """

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
                adapted = self._adapter.adapt(opening, SeenDeal.at_first_turn(request.turn, opening.start))
                self.policy.set_additions(seat, adapted.additions)
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
    """Loads the agent of a specification with `:adapt`.

    Raises:
        ValueError: weights that cannot be read, of another vocabulary or without probabilities.
    """
    assert spec.rollouts is not None
    policy = load_policy(spec, vocabulary, device)
    config = AdaptationConfig(rollouts=spec.rollouts)
    try:
        adapter = Adapter(policy, config, use_bf16=use_bf16)
    except ValueError as error:
        raise ValueError(f"{spec.text}: {error}") from None
    cached = CachedPolicy(policy, use_bf16=use_bf16, rank=config.low_rank)
    return AdaptingAgent(cached, sampler, spec.temperature, explore, adapter)
