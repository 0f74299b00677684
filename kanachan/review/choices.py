"""Joins the candidates of a decision that are one choice to a player: a tile from the hand, or the same as drawn.

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
    """the decision with a candidate for each choice: of several the one taken, else the first"""
    places: tuple[tuple[int, ...], ...]
    """[C] of each choice: its candidates in the original decision"""

    def of(self, prediction: Prediction) -> Prediction:
        """Returns a prediction by choice: probabilities are added, of values the highest counts."""
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
    observation = annotation.observation._replace(actions=actions)
    return Choices(annotation._replace(observation=observation, chosen=chosen), places)
