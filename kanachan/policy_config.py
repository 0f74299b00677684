"""Settings of the stages that learn from self-play, as frozen dataclasses; the string under a field is its help text.
Imports nothing heavy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


def rank_points(num_seats: int) -> tuple[float, ...]:
    """Returns equally spaced points of the ranks, with mean zero."""
    return tuple((num_seats - 1) / 2 - rank for rank in range(num_seats))


RANK_POINTS = rank_points(4)
"""points for four players; configs/ has the points for three"""
_DEFAULTS_OF_POINTS = (RANK_POINTS, rank_points(3))
UtilityKind = Literal["ranks", "grading_points"]
BackendName = Literal["inline", "processes", "ray"]


def require(condition: bool, message: str) -> None:
    """Raises ValueError unless a condition holds."""
    if not condition:
        raise ValueError(message)


def require_points(points: Sequence[float]) -> None:
    """Raises ValueError if the points of the ranks are not finite or are all equal."""
    require(all(map(math.isfinite, points)), f"the points of the ranks must be finite numbers, not {list(points)}")
    require(len(set(points)) > 1, f"the points of the ranks are all equal: {list(points)}")


def require_each(config: object, section: str, least: int | None, *names: str) -> None:
    """Raises ValueError if one of these settings is set and below `least` (None: and not positive)."""
    for name in names:
        value = getattr(config, name)
        if value is not None:
            bound = "positive" if least is None else f"at least {least}" if least else "zero or more"
            is_valid = value > 0 if least is None else value >= least
            require(is_valid, f"{section}.{name} must be {bound}, not {value}")


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Stage policy: training on the policy's own games, and limits of its change (docs/self-play.md)."""

    reward: str | None = None
    """weights of a reward predictor (stage reward): a decision is credited with the change of the predicted utility in
    its round. Iterations fit one to their games if none is given"""
    utility: UtilityKind = "ranks"
    """utility of the end of a game: policy.points of the final rank, or grading points"""
    points: tuple[float, ...] = RANK_POINTS
    """points of each rank, with utility ranks"""
    keep: float = 1.0
    """share of the decisions with an action probability above 0.98 that is trained on, with accordingly more weight;
    such decisions have almost no gradient"""
    clip: float = 0.1
    """the ratio of the new to the old probability of an action is clipped to 1 - clip and 1 + clip"""
    kl: float = 0.1
    """weight of the divergence from the policy of --init"""
    magnet: str | None = None
    """weights of stage imitation or policy that the policy is also kept near; default: the weights of --init"""
    magnet_kl: float = 0.05
    """weight of the divergence from policy.magnet"""
    kl_limit: float = 0.002
    """divergence from --init on the validation split, in nats per decision, above which the run ends"""

    def __post_init__(self) -> None:
        require_each(self, "policy", 0, "kl", "magnet_kl")
        require_each(self, "policy", None, "clip", "kl_limit")
        require(0 < self.keep <= 1, f"policy.keep must be a share above 0 and at most 1, not {self.keep}")
        require_points(self.points)
        require(
            self.utility == "ranks" or self.points in _DEFAULTS_OF_POINTS,
            f"policy.points={list(self.points)} has no effect with policy.utility={self.utility}; remove it",
        )


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig:
    """Stage policy: self-play in iterations; without selfplay.games, a single training on the games in data.path."""

    games: int | None = None
    """games per iteration (24,000 are about 14 million decisions)"""
    iterations: int = 1
    """number of iterations, each: games, fit of the reward predictor, one pass over the games, gate"""
    temperature: float = 0.7
    """temperature of the policy in its games, as @T of kanachan-selfplay"""
    explore: float = 0.0
    """share of the policy's actions that are drawn from all possible actions with equal probabilities"""
    opponents: tuple[str, ...] = ()
    """other players and their shares of the seats, such as rule=0.1, as for kanachan-selfplay; the policy has the
    rest. With an earlier policy among them, the policy does not learn to beat only itself"""
    rules: Literal["mjsoul", "tenhou"] = "tenhou"
    """rules of the games"""
    style: Literal["east", "south"] = "south"
    """length of the games"""
    backend: BackendName | None = None
    """where the games are played, as --backend of kanachan-selfplay"""
    address: str | None = None
    """address of a Ray cluster"""
    processes: int | None = None
    """processes that play; default: one per core"""
    device: str = "cpu"
    """device of the networks that play"""
    int8: bool = False
    """play with int8 matrices (:int8), on the CPU: more games in the same time; the games record the probabilities of
    the int8 network"""

    def __post_init__(self) -> None:
        require_each(self, "selfplay", 1, "games", "iterations", "processes")
        require(
            self.temperature > 0,
            f"selfplay.temperature must be positive, not {self.temperature}: the games need randomness",
        )
        require(0 <= self.explore < 1, f"selfplay.explore must be a share from 0 to 1, not {self.explore}")
        require(
            not self.int8 or self.device == "cpu", f"selfplay.int8=True needs selfplay.device=cpu, not {self.device}"
        )
        require(
            self.address is None or self.device == "cpu",
            f"selfplay.device={self.device}: on a cluster (selfplay.address) each worker computes on a core; remove it",
        )
        require(
            self.share_of_policy > 0,
            f"selfplay.opponents={list(self.opponents)}: their shares leave no seat to the policy",
        )

    @property
    def share_of_policy(self) -> float:
        """Share of the seats that the policy has."""
        return 1 - sum(_share(player) for player in self.opponents)


def _share(player: str) -> float:
    text = player.rpartition("=")[2]
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if "=" not in player or not 0 < share < 1:
        raise ValueError(f"selfplay.opponents: {player}: PLAYER=SHARE expected, such as rule=0.1")
    return share
