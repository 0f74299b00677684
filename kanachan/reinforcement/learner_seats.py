"""The seats of one network in games of self-play, from the players that the shards record.

Shapes: B decisions, G games, S seats.
"""

from functools import cached_property
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from kanachan.data.columns import Columns, game_key
from kanachan.data.shard_folder import SELF_PLAY
from kanachan.data.shards import Shards
from kanachan.models.card import weights_hash
from kanachan.play.agent_spec import parse_agent
from kanachan.play.selfplay import SelfPlay
from kanachan.reinforcement.behaviour import Behaviour


class LearnerSeats:
    """The seats of a network, named by its weights, in shards with the columns of self-play, and the distribution of
    its actions. Raises ValueError if the shards are not of self-play, or if the network played without a temperature or
    with several."""

    def __init__(self, shards: Shards, weights: str) -> None:
        self.shards = shards
        self.runs = _settings(shards)
        """settings of the runs that played the games; only their seeds differ"""
        self.selfplay = self.runs[0]
        self._sampled = self._temperatures(weights)
        """temperatures of the players that are this network, by letter"""

    def _temperatures(self, weights: str) -> dict[str, float]:
        selfplay, own = self.selfplay, weights_hash(weights)
        players = list(zip(ascii_uppercase, selfplay.players, selfplay.weights, strict=False))
        ours = [(letter, text) for letter, text, hashes in players if hashes == (own,)]
        specs = {letter: parse_agent(text, requires_files=False) for letter, text in ours}
        sampled = {letter: spec.temperature for letter, spec in specs.items() if spec.temperature is not None}
        known = ", ".join(f"{text} ({' + '.join(hashes) or 'no weights'})" for _, text, hashes in players)
        if not ours:
            raise ValueError(
                f"{weights}: its file has the hash {own}, and is none of the players of {self.shards.folder}: {known}"
            )
        if not sampled:
            raise ValueError(
                f"{weights}: drew no actions from its scores in the games of {self.shards.folder} ({known}): self-play "
                f"with a temperature is needed, such as {weights}@0.7"
            )
        if len(set(sampled.values())) > 1:
            raise ValueError(f"{weights}: played at several temperatures in the games of {self.shards.folder}: {known}")
        return sampled

    @property
    def behaviour(self) -> Behaviour:
        return Behaviour(next(iter(self._sampled.values())), self.selfplay.explore)

    @property
    def player(self) -> str:
        return self.selfplay.letters[next(iter(self._sampled))]

    @cached_property
    def _games(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """The keys of the games [G], sorted, and which of their seats were the network's [G, S]."""
        letters = set(self._sampled)
        counts = [settings["games"] for settings in self.shards.made[SELF_PLAY]]
        games = [(run, number) for run, count in zip(self.runs, counts, strict=True) for number in range(count)]
        key_G = np.array([game_key(run.game_id(number)) for run, number in games], np.uint64)
        is_own_GS = np.array([[letter in letters for letter in run.seats(number)] for run, number in games])
        order_G = np.argsort(key_G)
        return key_G[order_G], is_own_GS[order_G]

    def are_of(self, columns: Columns) -> NDArray[np.bool_]:
        """Returns whether each decision [B] is the network's own, drawn from its scores. `columns`: as annotated,
        before seats are rotated. Raises ValueError if a game does not follow from the settings in the shards."""
        key_G, is_own_GS = self._games
        place_B = np.minimum(np.searchsorted(key_G, columns.game), len(key_G) - 1)
        if not np.array_equal(key_G[place_B], columns.game):
            raise ValueError(
                f"{self.shards.folder}: holds games that do not follow from its settings: another version of the "
                f"program ({self.shards.made['version']}) has played them"
            )
        return is_own_GS[place_B, columns.seat]

    @property
    def circumstances(self) -> str:
        """Conditions of the log-probabilities in the shards, besides the weights, in words."""
        selfplay, made = self.selfplay, self.shards.made
        return (
            f"{self.player} at temperature {self.behaviour.temperature:g}, exploration {selfplay.explore:g}, "
            f"precision {selfplay.precision}, device {selfplay.device}, version {made['version']}"
        )


def _settings(shards: Shards) -> list[SelfPlay]:
    settings = shards.made.get(SELF_PLAY)
    if settings is None or not shards.has_behaviour:
        raise ValueError(
            f"{shards.folder}: holds no games as kanachan-selfplay writes them, with their settings and the "
            "probability of each action; shards of people's games lack these, and so do shards that kanachan-pack has "
            "made from other shards without --keep-splits"
        )
    try:
        runs = [SelfPlay.of_json(run, shards.vocabulary) for run in settings]
    except ValueError as error:
        raise ValueError(f"{shards.folder}: {error}") from None
    for run in runs:
        differing = [
            f"{name}: {ours} and {theirs}"
            for (name, ours), theirs in zip(runs[0].as_json().items(), run.as_json().values(), strict=True)
            if ours != theirs and name != "seed"
        ]
        if differing:
            raise ValueError(
                f"{shards.folder}: merged from runs of self-play that differ not only in the seed: "
                f"{', '.join(differing)}"
            )
    return runs
