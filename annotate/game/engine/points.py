"""The points of the seats, which the engine does without while none can be paid, for speed.

At every turn of a closed hand with 1,000 points the engine evaluates each discard for riichi, once to list the options
and once to check the action that is played: two thirds of the time of its steps. So `annotate.game.engine.table` gives
it the points only for what may pay some (riichi and what follows it, wins, kans, the end of a round), and where a hand
may declare riichi.
"""

from collections.abc import Sequence
from typing import Any

from annotate.game.corrections import STICK
from annotate.game.engine.hand_evaluator import shanten

_CLOSED_HAND = 14
"""tiles in a hand without melds, with the one drawn"""


class Points:
    """The points of the seats while the engine is without them; in all arguments `env` is riichienv's RiichiEnv."""

    def __init__(self) -> None:
        self._withheld: list[int] = []
        """by seat; empty while the engine has them"""

    @property
    def are_withheld(self) -> bool:
        return bool(self._withheld)

    def scores(self, env: Any) -> list[int]:
        return list(self._withheld or env.scores())

    def withhold(self, env: Any) -> None:
        """Takes the points from the engine; none may be paid before it gets them back."""
        if not self._withheld:
            self._withheld = env.scores()
            env.set_scores([0] * len(self._withheld))

    def give_back(self, env: Any) -> None:
        if self._withheld:
            assert not any(env.scores()), f"{env.scores()} were paid while the engine was without points"
            env.set_scores(self._withheld)
            self._withheld = []

    def with_riichi(self, env: Any, seat: int, observation: Any, hand: Sequence[int]) -> Any:
        """Returns the engine's observation for a seat on its own turn, with riichi among its actions if it is possible;
        the engine has the points then. `observation` is the same, without riichi if the engine was without points;
        `hand` the seat's concealed tiles, physical."""
        if not self._withheld or self._withheld[seat] < STICK or shanten(hand, len(self._withheld)) > 0:
            return observation
        if observation.riichi_declared[seat]:  # it stays tenpai
            return observation
        if len(hand) < _CLOSED_HAND and any(meld.opened for meld in observation.melds[seat]):
            return observation
        self.give_back(env)
        return env.get_observation(seat)
