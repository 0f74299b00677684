"""Players without a network: random, and by rules."""

from collections.abc import Sequence

from annotate.game.record import Event
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedPlayer
from annotate.vocabulary import Vocabulary
from kanachan.play.agent import WITHOUT_WAITING, GameKey, Group, Lots, Situation, chance


class RandomPlayer:
    """Any possible action, all alike."""

    plays_forced = False

    def __init__(self, lots: Lots) -> None:
        self._lots = lots

    def group(self, situation: Situation) -> Group:
        return WITHOUT_WAITING

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


class RulePlayer:
    """`annotate.simulation.rule_agent.RuleBasedPlayer`, never careless."""

    plays_forced = False

    def __init__(self, temperament: str, lots: Lots, vocabulary: Vocabulary) -> None:
        liking = next(each for each in TEMPERAMENTS if each.name == temperament)
        seed = int(chance(lots.seed, lots.player) * (1 << 32))
        self._player = RuleBasedPlayer(liking, seed, vocabulary)

    def group(self, situation: Situation) -> Group:
        return WITHOUT_WAITING

    def choose(self, situations: Sequence[Situation]) -> list[int]:
        return [self._player.choose(situation.turn) for situation in situations]

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        pass

    def close(self) -> None:
        pass
