"""The networks before the network of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanachan.models.learned_games import GAMES_KEY, NONE, LearnedGames


@dataclass(frozen=True)
class Ancestry:
    """The networks from which the network of a run has parts or learns. Checkpoints have it, so that a resumed run
    needs no --init."""

    lineage: Sequence[Mapping[str, Any]] = ()
    """earlier stages from which it has parts, as in cards"""
    games: LearnedGames = NONE
    """games that all of these networks have learned from"""

    def as_json(self) -> dict[str, Any]:
        return {"lineage": list(self.lineage), GAMES_KEY: self.games.encode()}

    @classmethod
    def of_json(cls, content: Mapping[str, Any], name: str) -> "Ancestry":
        """Returns the ancestry in a checkpoint, whose name is for error messages."""
        return cls(content["lineage"], LearnedGames.of_card(content, name))
