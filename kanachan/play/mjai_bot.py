"""A policy that plays one seat at an mjai table: it receives events, and returns actions and predictions.

Shapes: A options of a turn, R ranks.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.annotation import Observation
from annotate.game.engine.hand_evaluator import shanten
from annotate.game.engine.table import Turn
from annotate.game.features import ObservationEncoder
from annotate.game.mjai_actions import events_of_option
from annotate.game.record import Event, Rules
from annotate.game.seat_view import SeatTable
from annotate.runtime.json_output import rounded
from kanachan.inference.choice import Prediction, choose
from kanachan.inference.policy import Policy
from kanachan.play.mortal_meta import mask_values

_LEAST_LOG_PROBABILITY = -1_000.0  # JSON cannot represent infinity


@dataclass(frozen=True, slots=True)
class Judged:
    """The policy's choice at a turn, and its predictions for the options, in the order of `tokens`."""

    tokens: tuple[int, ...]
    chosen: int
    """the token of the chosen option"""
    prediction: Prediction
    quality: NDArray[np.float64]
    """[A] log probabilities, or points divided by the stage's scale"""
    eval_time_ns: int

    def among(self, tokens: tuple[int, ...]) -> "Judged":
        """Returns the same with only some of the options, which may lack the chosen one."""
        places, every = [self.tokens.index(token) for token in tokens], self.prediction
        optional = (every.probability, every.rank_probability)
        probability, ranks = (None if values is None else values[places] for values in optional)
        prediction = Prediction(every.score[places], probability, ranks, every.value)
        return replace(self, tokens=tokens, prediction=prediction, quality=self.quality[places])


class MjaiBot:
    """Decides for one seat, round after round.

    Args:
        encoder: the encoder for the room, the style and the grades.
        sampling: None takes the option with the highest score; otherwise, an option is sampled with a probability
            proportional to exp(score / sampling).
    """

    def __init__(
        self,
        policy: Policy,
        seat: int,
        rules: Rules,
        encoder: ObservationEncoder,
        *,
        sampling: float | None = None,
        seed: int = 0,
    ) -> None:
        self.policy = policy
        self.seat = seat
        self._rules: Rules = rules
        self._encoder = encoder
        self._sampling = sampling
        self._random = np.random.default_rng(seed)
        self._table: SeatTable | None = None
        self._last: Judged | None = None
        """the choice after the last event, if there was one"""

    @property
    def num_seats(self) -> int:
        """The number of players in a game."""
        return self._encoder.vocabulary.num_seats

    @property
    def is_in_round(self) -> bool:
        """Whether a round has been started and has not ended."""
        return self._table is not None

    def start_round(self, start: Event) -> None:
        """Starts a round with the mjai event start_kyoku."""
        self.leave_round()
        self._table = SeatTable.of_start(self._rules, start, self.seat, self._encoder.vocabulary)

    def leave_round(self) -> None:
        """Ends the round, if there is one."""
        self._table = self._last = None

    def follow(self, event: Event, needs_answer: bool = True) -> Event | None:
        """Processes the next event of the round, and returns the seat's action as an mjai event with `meta`, or None if
        the seat cannot act or no answer is needed. Raises ValueError if the event cannot follow the events before it;
        the round is then over for this seat."""
        assert self._table is not None
        before, self._last = self._last, None
        try:
            turn = self._table.follow(event)
        except ValueError:
            self.leave_round()
            raise
        if turn is None or not needs_answer:
            return None
        after_reach = event["type"] == "reach"
        tokens = tuple(turn.options)
        judged = None
        if len(tokens) > 1 and after_reach and before is not None:
            # the choice included the discard, unless riichi was declared against it
            judged = before.among(tokens)
            if judged.chosen not in tokens:
                action = choose(tokens, judged.prediction, self._sampling, self._uniform())
                judged = replace(judged, chosen=action.token)
        elif len(tokens) > 1:
            judged = self._last = self._judge(self._encoder.observation(turn, self._table.progression))
        chosen = tokens[0] if judged is None else judged.chosen
        events = events_of_option(turn, chosen, self._encoder.vocabulary)
        return {**events[-1 if after_reach else 0], "meta": self._meta(turn, judged, after_reach)}

    def _judge(self, observation: Observation) -> Judged:
        start = time.perf_counter_ns()
        (prediction,) = self.policy.evaluate([observation])
        action = choose(observation.actions, prediction, self._sampling, self._uniform())
        score = prediction.score.astype(np.float64)
        if prediction.probability is None:
            quality = score / self.policy.objective.scale
        else:
            quality = np.maximum(score - np.logaddexp.reduce(score), _LEAST_LOG_PROBABILITY)
        return Judged(observation.actions, action.token, prediction, quality, time.perf_counter_ns() - start)

    def _uniform(self) -> float | None:
        return None if self._sampling is None else self._random.random()

    def _meta(self, turn: Turn, judged: Judged | None, after_reach: bool) -> dict[str, Any]:
        """Returns the `meta` of an answer. `judged`: None if there is only one option; then `meta` has no values."""
        assert self._table is not None
        vocabulary, tokens = self._encoder.vocabulary, tuple(turn.options)
        quality = [0.0] if judged is None else judged.quality.tolist()
        coarse = mask_values(dict(zip(tokens, quality, strict=True)), vocabulary, after_reach)
        meta: dict[str, Any] = {"mask_bits": coarse["mask_bits"]} if judged is None else coarse
        meta["is_greedy"] = judged is None or tokens[int(judged.prediction.score.argmax())] == judged.chosen
        # as in Mortal: the shanten before the draw, and 0 for a complete hand
        held = [tile for tile in turn.hand if tile != turn.drawn]
        meta["shanten"] = max(0, shanten(held, self.num_seats))
        meta["at_furiten"] = self._table.is_furiten
        if judged is None:
            return meta
        prediction = judged.prediction
        meta |= {"batch_size": 1, "eval_time_ns": judged.eval_time_ns}
        meta["candidates"] = [_candidate(events_of_option(turn, token, vocabulary), after_reach) for token in tokens]
        if prediction.probability is not None:
            meta["probabilities"] = [rounded(p) for p in prediction.probability.tolist()]
        else:
            meta["expected_points"] = [rounded(points) for points in prediction.score.tolist()]
        if prediction.rank_probability is not None:
            meta["rank_probabilities"] = [[rounded(p) for p in row] for row in prediction.rank_probability.tolist()]
        return meta


def _candidate(events: Sequence[Event], after_reach: bool) -> Event:
    """Returns one event for a candidate: riichi includes its discard, unless it has been declared already."""
    return events[-1] if after_reach else {**events[-1], "type": events[0]["type"]}
