"""The gate of an iteration, which decides how much of an update of a policy is taken. It searches the line from the
policy before the update through the policy after it for the highest gain.

To first order, both the gain and its standard error grow with the share of the update that is taken. So whether
the direction is good does not depend on the share, but how far the direction stays good does.

The search uses the gains in half of the games; the reported gain is from the other half, because the highest of several
gains is partly luck. An update is taken if its gain is more probably positive than not: a few thousand games seldom
prove the gain of one update, and a wrong step loses as little as a right step gains.
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
    """reports of kanachan-evaluate --gain by share of the change of the weights, in the order of measurement; without a
    gain where a share is too far from the policy"""

    @property
    def measured(self) -> dict[float, Mapping[str, Any]]:
        """The reports that have a gain."""
        return {share: report for share, report in self.reports.items() if report["gain"] is not None}

    @property
    def next_share(self) -> float | None:
        """The share to measure next; None at the end of the search. The first share is the whole update. The share is
        doubled while the gain grows; if the doubled share is too far, the midpoint is tried. If the whole update gains
        nothing, the share is halved until one gains."""
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
        """The share with the highest gain in enough games; None if no share gains, so that the policy stays."""
        return max(filter(self._gains, self.reports), key=self._gain, default=None)

    @property
    def gain(self) -> Mapping[str, float] | None:
        """The gain of the chosen share, with its interval, in the games that did not choose it; None if the policy
        stays."""
        return None if self.chosen is None else dict(self.reports[self.chosen]["reporting"]["gain"])

    def in_words(self) -> str:
        """Returns the choice and its reason, after the search has ended."""
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
