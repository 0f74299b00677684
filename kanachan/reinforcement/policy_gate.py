"""How far to go along an update of a policy: the gate of an iteration, which searches the line from the policy before
the update through the one after it for the highest gain.

To first order the gain grows with the share of the update that is taken, and so does its standard error: whether the
direction is good does not depend on the share. How far it stays good does.

The search sees the gains in half of the games. The gain that is reported is that in the other half: the highest of
several is partly luck. An update is taken where its gain is more probably positive than not: a few thousand games
seldom show the gain of one update beyond doubt, while a wrong step costs as little as a right one brings.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kanachan.evaluation.bootstrap import FEWEST_GAMES

LARGEST_SHARE = 4.0
SMALLEST_SHARE = 0.25


@dataclass(frozen=True)
class Gate:
    """The gains estimated so far, which share to measure next, and the choice."""

    reports: Mapping[float, Mapping[str, Any]]
    """by share of the change of the weights, in the order in which they were measured: what kanachan-evaluate --gain
    has written; without a gain where a share is too far from the policy"""

    @property
    def measured(self) -> dict[float, Mapping[str, Any]]:
        """The reports that have a gain."""
        return {share: report for share, report in self.reports.items() if report["gain"] is not None}

    @property
    def next_share(self) -> float | None:
        """The share to measure next: first the whole update; twice as much as long as that gains more, and where that
        is too far the middle; where the whole gains nothing, half as much until a share gains. None where the search
        ends."""
        if not self.reports:
            return 1.0
        if not self._gains(1.0):
            smallest = min(self.reports)
            return smallest / 2 if not self._gains(smallest) and smallest > SMALLEST_SHARE else None
        latest, largest = list(self.reports)[-1], max(self.reports)
        if latest < largest:
            return None
        if largest not in self.measured:
            return 0.75 * largest
        gains_more = largest == 1 or self._gain(largest) > self._gain(largest / 2)
        return 2 * largest if gains_more and largest < LARGEST_SHARE else None

    @property
    def chosen(self) -> float | None:
        """The share with the highest gain, of enough games; None if none gains, so that the policy stays."""
        return max(filter(self._gains, self.reports), key=self._gain, default=None)

    @property
    def gain(self) -> Mapping[str, float] | None:
        """The gain of the chosen share, with its interval, in the games that did not choose it; None if the policy
        stays."""
        return None if self.chosen is None else dict(self.reports[self.chosen]["reporting"]["gain"])

    def in_words(self) -> str:
        """Returns the choice and its reason, when the search has ended."""
        if not self.measured:
            return (
                f"gate: even {min(self.reports):.0%} of the update is too far from the policy to be measured: "
                "the policy stays"
            )
        smallest = min(self.measured)
        report = self.measured[smallest]
        gain = self.gain or report["gain"]
        numbers = f"{gain['value']:+.4f} [{gain['low']:+.4f}, {gain['high']:+.4f}] {report['unit']} a game"
        if self.chosen is None:
            return (
                f"gate: no share of the update gains in the {report['choosing']['games']} games that choose, of which "
                f"{FEWEST_GAMES} are needed ({smallest:.0%} of it, in all games: {numbers}): the policy stays"
            )
        return f"gate: {self.chosen:.0%} of the update is taken: {numbers} in the games that did not choose it"

    def _gains(self, share: float) -> bool:
        if share not in self.measured:
            return False
        return self._gain(share) > 0 and self.measured[share]["choosing"]["games"] >= FEWEST_GAMES

    def _gain(self, share: float) -> float:
        return float(self.measured[share]["choosing"]["gain"]["value"]) if share in self.measured else -math.inf
