"""Creates agents from their specifications; defines the agents without a network: random and rule-based."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, Agent, SeededSampler, uniform_hash
from kanachan.play.agent_spec import AgentSpec, parse_agent

if TYPE_CHECKING:
    from kanachan.play.match import Match
    from kanachan.play.remote_network import ServerAddress
    from kanachan.play.selfplay import SelfPlay


class RandomAgent(Agent):
    """Chooses among all possible actions with equal probabilities."""

    def __init__(self, sampler: SeededSampler) -> None:
        self._sampler = sampler

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        chosen = []
        for request in requests:
            actions = request.observation.actions
            token = actions[int(self._sampler.of(request) * len(actions))]
            chosen.append(Action(token, -math.log(len(actions))))
        return chosen


class RuleAgent(Agent):
    """Plays like `annotate.simulation.rule_agent.RuleBasedAgent`, without careless actions."""

    def __init__(self, temperament: str, sampler: SeededSampler, vocabulary: Vocabulary) -> None:
        named = next(each for each in TEMPERAMENTS if each.name == temperament)
        seed = int(uniform_hash(sampler.seed, sampler.player) * (1 << 32))
        self._player = RuleBasedAgent(named, seed, vocabulary)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        return [Action(self._player.choose(request.turn)) for request in requests]


def make_agent(
    spec: AgentSpec,
    sampler: SeededSampler,
    vocabulary: Vocabulary,
    device: str = "cpu",
    *,
    use_bf16: bool = False,
    explore: float = 0.0,
    server: "ServerAddress | None" = None,
) -> Agent:
    """Creates the agent of a specification. `explore`: see `PolicyAgent`; `server`: the process that computes the
    networks, except for networks with int8 matrices; None: this process. Raises ValueError if the weights cannot be
    read or a program cannot be started, and OSError if the server has ended."""
    if spec.kind == "random":
        return RandomAgent(sampler)
    if spec.kind == "rule":
        return RuleAgent(spec.temperament, sampler, vocabulary)
    if spec.kind == "mjai":
        from kanachan.play.mjai_agent import MjaiAgent

        return MjaiAgent(spec.command, vocabulary)
    # torch is imported only for agents with a network
    from kanachan.inference.int8_network import with_int8
    from kanachan.inference.policy import Policy
    from kanachan.models.device import chosen_device
    from kanachan.play.policy_agent import CachedPolicy, PolicyAgent
    from kanachan.play.remote_network import RemoteNetwork

    is_elsewhere = spec.is_int8 or server is not None
    policy = Policy.load(spec.weights, "cpu" if is_elsewhere else chosen_device(device, is_exact=True))
    if spec.is_int8:
        policy = with_int8(policy, spec.text)
    elif server is not None:
        policy = policy.with_network(RemoteNetwork(server, spec.weights))
    return PolicyAgent(CachedPolicy(policy, use_bf16=use_bf16), sampler, spec.temperature, explore)


@contextmanager
def agents_of(
    series: "Match | SelfPlay", device: str, server: "ServerAddress | None" = None
) -> Iterator[Mapping[str, Agent]]:
    """Yields the players' agents by letter, and closes them at the end. Until then, networks use only one thread.
    Other arguments and errors: see `make_agent`."""
    specs = {letter: parse_agent(text) for letter, text in series.letters.items()}
    use_bf16, explore = series.precision == "bf16", series.explore
    agents: dict[str, Agent] = {}
    with ExitStack() as held:
        if any(spec.weights for spec in specs.values()):
            import torch

            held.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)  # rounding can depend on it, and other processes use the other cores
        for letter, spec in specs.items():
            settings = spec, SeededSampler(series.seed, letter), series.vocabulary, device
            agent = make_agent(*settings, use_bf16=use_bf16, explore=explore, server=server)
            held.callback(agent.close)
            agents[letter] = agent
        yield agents
