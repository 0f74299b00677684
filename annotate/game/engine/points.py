"""The points of the seats, which the engine does without while none are paid, for speed.

At every turn of a closed hand with 1,000 points the engine evaluates each discard for riichi, once to list the options
and once to check the action: half of its time. So it is told of the points only where a discard leaves the hand tenpai,
and where a round may end. Nothing else depends on them.
"""

from collections.abc import Sequence
from typing import Any

from annotate.game.engine.hand_evaluator import shanten

_CLOSED_HAND = 14
"""tiles in a hand without melds, with the one drawn"""


class Points:
    """The points of the seats at an engine (riichienv's RiichiEnv)."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._withheld: list[int] = []
        """by seat; empty while the engine has them"""

    @property
    def scores(self) -> list[int]:
        """The points by seat."""
        return list(self._withheld or self._env.scores())

    def withhold(self) -> None:
        """Takes the points from the engine; none may be paid before it gets them back."""
        if not self._withheld:
            self._withheld = self._env.scores()
            self._env.set_scores([0] * len(self._withheld))

    def give_back(self) -> None:
        """Gives the engine the points."""
        if self._withheld:
            assert not any(self._env.scores()), f"{self._env.scores()} were paid without points"
            self._env.set_scores(self._withheld)
            self._withheld = []

    def observed(self, seat: int, observation: Any, hand: Sequence[int]) -> Any:
        """Returns the engine's observation for a seat on its own turn, with riichi among the options if it is possible.

        Args:
            observation: one that lacks riichi if points are withheld.
            hand: its concealed tiles, physical.
        """
        if not self._withheld or shanten(hand, len(self._withheld)) > 0 or observation.riichi_declared[seat]:
            return observation
        if len(hand) < _CLOSED_HAND and any(meld.opened for meld in observation.melds[seat]):
            return observation
        self.give_back()
        return self._env.get_observation(seat)
