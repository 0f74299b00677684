"""Joins candidates that are one choice for a player: a discard from the hand, and of the same tile just drawn.

Shapes: A candidates, C choices, R ranks.
"""

from dataclasses import dataclass

import numpy as np

from annotate.annotation import Annotation
from annotate.vocabulary import Vocabulary
from kanachan.inference.choice import Prediction


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a decision."""

    annotation: Annotation
    """the decision with one candidate per choice: the candidate taken, else the choice's first"""
    places: tuple[tuple[int, ...], ...]
    """[C] places of each choice's candidates in the original decision"""

    def of(self, prediction: Prediction) -> Prediction:
        """Returns a prediction by choice, with the sum of its candidates' probabilities, or their highest value."""
        groups = [list(places) for places in self.places]
        if prediction.probability is not None:
            score = np.array([np.logaddexp.reduce(prediction.score[places]) for places in groups], np.float32)
            probability = np.array([prediction.probability[places].sum() for places in groups], np.float32)
            return Prediction(score, probability, None, prediction.value)
        best = [places[int(prediction.score[places].argmax())] for places in groups]
        ranks = prediction.rank_probability
        return Prediction(prediction.score[best], None, None if ranks is None else ranks[best], prediction.value)


def choices_of(annotation: Annotation, vocabulary: Vocabulary) -> Choices:
    """Returns the choices of a decision, in the order of their first candidates."""
    places_of: dict[tuple[str, tuple[tuple[str, int], ...]], list[int]] = {}
    for place, token in enumerate(annotation.actions):
        name, values = vocabulary.action.describe(token)
        rest = tuple((factor, value) for factor, value in values.items() if factor != "tsumogiri")
        places_of.setdefault((name, rest), []).append(place)
    places = tuple(map(tuple, places_of.values()))
    chosen = next(index for index, of_choice in enumerate(places) if annotation.chosen in of_choice)
    kept = [annotation.chosen if index == chosen else of_choice[0] for index, of_choice in enumerate(places)]
    actions = tuple(annotation.actions[place] for place in kept)
    return Choices(annotation._replace(actions=actions, chosen=chosen), places)
