"""Decisions of games between rule-based players, on which conversions of networks are checked."""

from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import Columns, columns_of_annotations

_MOST_DECISIONS = 512


def simulated_decisions(vocabulary: Vocabulary, seed: int) -> Columns:
    """Returns the first decisions of a game; every call with the same seed returns the same decisions."""
    annotations = simulate_game(vocabulary, seed=seed).annotations
    return columns_of_annotations(annotations[:_MOST_DECISIONS], vocabulary)
