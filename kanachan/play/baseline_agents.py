"""Players without a network: random, and by rules."""

from collections.abc import Sequence

from annotate.game.record import Event
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import Vocabulary
from kanachan.play.agent import UNBATCHED, BatchKey, GameKey, SeededSampler, Situation, uniform_hash


class RandomAgent:
    """Any possible action, all alike."""

    plays_forced = False

    def __init__(self, lots: SeededSampler) -> None:
        self._lots = lots

    def group(self, situation: Situation) -> BatchKey:
        return UNBATCHED

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        chosen = []
        for situation in situations:
            actions = situation.actions
            chosen.append(actions[int(self._lots.of(situation) * len(actions))])
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

    def group(self, situation: Situation) -> BatchKey:
        return UNBATCHED

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        return [self._player.choose(situation.turn) for situation in situations]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass
