"""Agents without a network: random, and rule-based."""

import math
from collections.abc import Sequence

from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, Agent, SeededSampler, uniform_hash


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
