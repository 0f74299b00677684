"""The rules that differ between games of four players and of three: seats, sticks, and the numbers of results."""

from dataclasses import dataclass
from functools import cached_property

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary


@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of games with one number of players."""

    vocabulary: Vocabulary
    left_for_riichi: int
    """tiles that must be left for a riichi"""
    counter: int
    """points that a winner receives for each counter stick; each loser of a tsumo pays an equal share"""
    noten_points: int
    """paid in all at an exhaustive draw"""
    start_score: int
    """with another start score, the score that ends a game is unknown"""
    enough: int
    """the score of a seat that ends a game after its usual last round"""

    @cached_property
    def num_seats(self) -> int:
        return self.vocabulary.num_seats

    @cached_property
    def seats(self) -> range:
        return range(self.num_seats)

    @cached_property
    def num_draws(self) -> int:
        """Tiles to draw after the deal, those drawn after kans and Norths included."""
        return self.vocabulary.num_live

    # Results: how a round ended, from a seat's view. 0 is its own tsumo, then follow those of the others.

    @cached_property
    def own_ron(self) -> int:
        return self.num_seats

    @cached_property
    def dealt_in(self) -> int:
        return self.own_ron + self.num_seats - 1

    @cached_property
    def ron_of_others(self) -> int:
        return self.dealt_in + self.num_seats - 1

    @cached_property
    def not_tenpai(self) -> int:
        return self.ron_of_others + (self.num_seats - 1) * (self.num_seats - 2)

    @cached_property
    def tenpai(self) -> int:
        return self.not_tenpai + 1

    @cached_property
    def aborted(self) -> int:
        return self.not_tenpai + 2

    def relative(self, of: int, to: int) -> int:
        """Computes the place of seat `of` relative to seat `to`: 0 the next seat, 1 the one after it, ..."""
        return (of - to - 1) % self.num_seats


OF_FOUR = Rules(FOUR_PLAYERS, 4, 300, 3000, 25_000, 30_000)
OF_THREE = Rules(THREE_PLAYERS, 3, 200, 2000, 35_000, 40_000)


def rules_of_line(text: str) -> Rules:
    """Returns the rules of a line by how many numbers it has; those of four players if it has others."""
    fields = text.split("\t", 3)
    is_of_three = len(fields) > 3 and fields[2].count(",") + 1 == len(THREE_PLAYERS.numeric)
    return OF_THREE if is_of_three else OF_FOUR
