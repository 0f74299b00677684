"""The points of the seats in a round that the engine plays without most of them, for speed.

At every turn of a closed hand with 1,000 points the engine evaluates each discard for riichi, once to list the options
and once to check the action: half of its time. So it is told of a seat's points only where a discard leaves the hand
tenpai. Nothing else within a round depends on points: payments are added to whatever the engine has.
"""

from collections.abc import Sequence
from operator import add
from typing import Any

from annotate.game.hand_evaluator import shanten

_CLOSED_HAND = 14
"""tiles in a hand without melds, with the one drawn"""


class WithheldPoints:
    """The part of each seat's points that an engine (riichienv's RiichiEnv) is not told of.

    Args:
        points: by seat, all points at the start of the round; zeros where the engine is to know of everything.
    """

    def __init__(self, env: Any, points: Sequence[int]) -> None:
        self._env = env
        self._withheld = list(points)
        self._told: tuple[int, int] | None = None
        """the seat that is told for this turn, and its points"""

    def added_to(self, scores: Sequence[int]) -> tuple[int, ...]:
        """Returns the points of all seats, given the engine's scores."""
        return tuple(map(add, scores, self._withheld))

    def observed(self, seat: int, observation: Any, hand: Sequence[int]) -> Any:
        """Returns what the engine shows a seat on its own turn, told of the seat's points if it may declare riichi.

        Args:
            observation: the same, without points.
            hand: its concealed tiles, physical.
        """
        points = self._withheld[seat]
        if not points or shanten(hand, len(self._withheld)) > 0:
            return observation
        if len(hand) < _CLOSED_HAND and any(meld.opened for meld in observation.melds[seat]):
            return observation
        self._told = seat, points
        self._withhold(seat, -points)
        return self._env.get_observation(seat)

    def end_turn(self, declares_riichi: bool) -> None:
        """Withholds the points of the seat whose turn it is again, unless it is about to declare riichi.

        After that the engine evaluates no discards of it any more.
        """
        if self._told is not None and not declares_riichi:
            self._withhold(*self._told)
        self._told = None

    def _withhold(self, seat: int, points: int) -> None:
        scores = self._env.scores()
        scores[seat] -= points
        self._withheld[seat] += points
        self._env.set_scores(scores)
