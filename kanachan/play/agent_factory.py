"""Creates the agents that specifications describe, and those without a network: random, and by rules."""

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
    from kanachan.play.remote_network import ServerAddress


class RandomAgent(Agent):
    """Chooses among the possible actions with equal probabilities."""

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
    """Plays as `annotate.simulation.rule_agent.RuleBasedAgent`, without careless actions."""

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
    """Creates the agent of a specification. `explore`: as of `PolicyAgent`; `server`: a process that computes the
    networks, unless they have int8 matrices; None: this one does. Raises ValueError: the weights cannot be read, or a
    program cannot be started; OSError: the server has ended."""
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
    players: Mapping[str, str],
    seed: int,
    vocabulary: Vocabulary,
    device: str,
    *,
    use_bf16: bool,
    explore: float = 0.0,
    server: "ServerAddress | None" = None,
) -> Iterator[Mapping[str, Agent]]:
    """Yields the agents of players by letter, and closes them in the end. Networks compute on one thread until then.
    The rest is as for `make_agent`."""
    specs = {letter: parse_agent(text) for letter, text in players.items()}
    agents: dict[str, Agent] = {}
    with ExitStack() as held:
        if any(spec.files for spec in specs.values()):
            import torch

            held.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)  # rounding can depend on it, and more cores are for more processes
        for letter, spec in specs.items():
            sampler = SeededSampler(seed, letter)
            agent = make_agent(spec, sampler, vocabulary, device, use_bf16=use_bf16, explore=explore, server=server)
            held.callback(agent.close)
            agents[letter] = agent
        yield agents
