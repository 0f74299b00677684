"""What a player sees at a decision point, as tokens of a vocabulary."""

from typing import NamedTuple


class Observation(NamedTuple):
    """A seat's view of the table and the actions that it may take, without what it chose or what followed."""

    sparse: tuple[int, ...]
    numeric: tuple[int, ...]
    progression: tuple[int, ...]
    actions: tuple[int, ...]
    """ascending"""
