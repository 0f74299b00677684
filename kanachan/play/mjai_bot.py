"""A seat at an mjai table with a network that decides for it: events in, what it does and why out.

Shapes: A options of a turn.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotate.game.engine import Turn, shanten
from annotate.game.features import ObservationEncoder
from annotate.game.mjai_actions import events_of_option
from annotate.game.record import Event, Rules
from annotate.game.seat_view import SeatTable
from annotate.observation import Observation
from annotate.runtime.json_output import rounded
from kanachan.inference.advantage_policy import AdvantagePolicy
from kanachan.inference.choice import Prediction, choose
from kanachan.inference.policy import Policy
from kanachan.play.mortal_meta import values46
from kanachan.play.rank_forecast import RankForecast

_LEAST_LOG_PROBABILITY = -1_000.0  # JSON has no infinity


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What the networks say of a turn; options stand in the order of their tokens."""

    score: NDArray[np.float32]
    """[A] of the policy, the greater the better"""
    quality: NDArray[np.float64]
    """[A] the same in a unit of order one: log probabilities, or points divided by the stage's scale"""
    probability: NDArray[np.float32] | None
    """[A] that the policy plays it"""
    expected_points: NDArray[np.float32] | None
    """[A] in the points of the stage"""
    rank_probability: NDArray[np.float32] | None
    """[A, R]"""
    eval_time_ns: int


class MjaiBot:
    """Decides for one seat, round after round.

    Args:
        writer: of the room, the style and the grades.
        sampling: None takes the option of the greatest score; else one is drawn, with probabilities proportional to
            exp(score / sampling).
        forecast: is shown the decisions.
    """

    def __init__(
        self,
        policy: Policy,
        seat: int,
        rules: Rules,
        writer: ObservationEncoder,
        *,
        sampling: float | None = None,
        seed: int = 0,
        forecast: RankForecast | None = None,
    ) -> None:
        self.policy = policy
        self.seat = seat
        self._values = policy.value if isinstance(policy, AdvantagePolicy) else None
        self._rules: Rules = rules
        self._writer = writer
        self._sampling = sampling
        self._random = np.random.default_rng(seed)
        self._forecast = forecast
        self._table: SeatTable | None = None
        self._tokens: tuple[int, ...] = ()
        """options of the decision that `_opinion` is of"""
        self._opinion: Evaluation | None = None
        self._chosen = -1

    @property
    def is_in_round(self) -> bool:
        return self._table is not None

    def start_round(self, start: Event) -> None:
        """Begins a round, by mjai's start_kyoku."""
        self.leave_round()
        if self._forecast is not None:
            self._forecast.start_round(start)
        self._table = SeatTable.of_start(self._rules, start, self.seat, self._writer.vocabulary)

    def leave_round(self) -> None:
        self._table = self._opinion = None

    def follow(self, event: Event, is_asked: bool = True) -> Event | None:
        """Takes the next event of the round; what to do, an mjai event with `meta`, or None where nothing can be done.

        Args:
            is_asked: False if no answer is wanted whatever happens.

        Raises:
            ValueError: the event cannot follow on those before it. The round is over for this seat.
        """
        assert self._table is not None
        before, self._opinion = self._opinion, None
        try:
            turn = self._table.follow(event)
        except ValueError:
            self.leave_round()
            raise
        if turn is None or not is_asked:
            return None
        after_reach = event["type"] == "reach"
        tokens = tuple(turn.options)
        if len(tokens) == 1:
            opinion = None
            self._chosen = tokens[0]
        elif after_reach and before is not None:
            # the decision was on riichi and its discard; somebody else may have declared it for us
            opinion = _part(before, self._tokens, tokens)
            if self._chosen not in tokens:
                prediction = Prediction(opinion.score, None, None, None)
                self._chosen = choose(tokens, prediction, self._sampling, self._uniform()).token
        else:
            observation = self._writer.observation(turn, self._table.progression)
            opinion = self._ask(observation)
            self._tokens, self._opinion = tokens, opinion
            if self._forecast is not None:
                self._forecast.see(observation, self.seat)
        events = events_of_option(turn, self._chosen, self._writer.vocabulary)
        return {**events[-1 if after_reach else 0], "meta": self._meta(turn, opinion, after_reach)}

    def _ask(self, observation: Observation) -> Evaluation:
        start = time.perf_counter_ns()
        policy, values = self.policy, self._values
        uniform = self._uniform()
        (action,) = policy.act([observation], self._sampling, None if uniform is None else [uniform])
        self._chosen, own = action.token, action.prediction
        assert own is not None
        valued: Prediction | None = own if own.probability is None else None
        if values is not None:
            (valued,) = values.evaluate([observation])
        score = own.score.astype(np.float64)
        if own.probability is None:
            quality = score / policy.objective.scale
        else:
            greatest = score.max()
            quality = score - greatest - np.log(np.exp(score - greatest).sum())
            quality = np.maximum(quality, _LEAST_LOG_PROBABILITY)
        return Evaluation(
            score=own.score,
            quality=quality,
            probability=own.probability,
            expected_points=None if valued is None else valued.score,
            rank_probability=None if valued is None else valued.rank_probability,
            eval_time_ns=time.perf_counter_ns() - start,
        )

    def _uniform(self) -> float | None:
        return None if self._sampling is None else self._random.random()

    def _meta(self, turn: Turn, opinion: Evaluation | None, after_reach: bool) -> dict[str, Any]:
        """Without an opinion, where only one thing can be done, without values."""
        assert self._table is not None
        vocabulary, tokens = self._writer.vocabulary, tuple(turn.options)
        quality = [0.0] if opinion is None else opinion.quality.tolist()
        coarse = values46(dict(zip(tokens, quality, strict=True)), vocabulary, after_reach)
        meta: dict[str, Any] = {"mask_bits": coarse["mask_bits"]} if opinion is None else coarse
        meta["is_greedy"] = opinion is None or tokens[int(opinion.score.argmax())] == self._chosen
        # as Mortal's: before the draw, and 0 with a hand that is complete
        meta["shanten"] = max(0, shanten([tile for tile in turn.hand if tile != turn.drawn]))
        meta["at_furiten"] = self._table.is_furiten
        if opinion is None:
            return meta
        meta |= {"batch_size": 1, "eval_time_ns": opinion.eval_time_ns}
        meta["candidates"] = [_told(events_of_option(turn, token, vocabulary), after_reach) for token in tokens]
        if opinion.probability is not None:
            meta["probabilities"] = [rounded(p) for p in opinion.probability.tolist()]
        if opinion.expected_points is not None:
            meta["expected_points"] = [rounded(points) for points in opinion.expected_points.tolist()]
        if opinion.rank_probability is not None:
            meta["rank_probabilities"] = [[rounded(p) for p in row] for row in opinion.rank_probability.tolist()]
        return meta


def _told(events: Sequence[Event], after_reach: bool) -> Event:
    """One event for one candidate: riichi together with its discard, unless it is declared already."""
    return events[-1] if after_reach else {**events[-1], "type": events[0]["type"]}


def _part(opinion: Evaluation, tokens: Sequence[int], kept: Sequence[int]) -> Evaluation:
    """The opinion of some of the options."""
    places = [tokens.index(token) for token in kept]

    def kept_of(values: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        return None if values is None else values[places]

    return Evaluation(
        score=opinion.score[places],
        quality=opinion.quality[places],
        probability=kept_of(opinion.probability),
        expected_points=kept_of(opinion.expected_points),
        rank_probability=kept_of(opinion.rank_probability),
        eval_time_ns=opinion.eval_time_ns,
    )
