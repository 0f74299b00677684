"""Players without a network: random, and by rules."""

import math
from collections.abc import Sequence

from annotate.game.record import Event
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Action
from kanachan.play.agent import UNBATCHED, ActRequest, BatchKey, GameKey, SeededSampler, uniform_hash


class RandomAgent:
    """Any possible action, all alike."""

    plays_forced = False

    def __init__(self, lots: SeededSampler) -> None:
        self._lots = lots

    def group(self, request: ActRequest) -> BatchKey:
        return UNBATCHED

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        chosen = []
        for request in requests:
            actions = request.observation.actions
            token = actions[int(self._lots.of(request) * len(actions))]
            chosen.append(Action(token, -math.log(len(actions))))
        return chosen

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass


class RuleAgent:
    """`annotate.simulation.rule_agent.RuleBasedAgent`, never careless."""

    plays_forced = False

    def __init__(self, temperament: str, lots: SeededSampler, vocabulary: Vocabulary) -> None:
        liking = next(each for each in TEMPERAMENTS if each.name == temperament)
        seed = int(uniform_hash(lots.seed, lots.player) * (1 << 32))
        self._player = RuleBasedAgent(liking, seed, vocabulary)

    def group(self, request: ActRequest) -> BatchKey:
        return UNBATCHED

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        return [Action(self._player.choose(request.turn)) for request in requests]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass
