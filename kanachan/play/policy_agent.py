"""Trained networks as agents, which evaluate requests of many games together in batches of a few fixed shapes.

The rounding of a row can depend on the shape of its batch, and in rare cases the choice does too. Therefore a row's
shape depends only on the row, and all batches of a shape have the same number of rows, some of which may be padding:
the actions of a player never depend on how many games advance together.

A forward pass, with only the new events of each seat:

    PolicyAgent.act ─► CachedPolicy.evaluate ─┬► CachedNetwork, here
                                              ├► Int8Network, here: int8 matrices on a CPU
                                              └► RemoteNetwork ─► inference server ─► CachedNetwork, for all workers

Shapes: see kanachan.models.kv_cache.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.annotation import Observation
from annotate.game.record import Event
from kanachan.inference.choice import Action, Prediction, choose
from kanachan.inference.int8_network import Int8Network
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork, IncrementalBatch
from kanachan.models.transformer import Network
from kanachan.play.agent import UNBATCHED, ActRequest, Agent, BatchKey, GameKey, SeededSampler
from kanachan.play.batch_shapes import CachedRow, Shape, batches_of_shape, filled, shapes_of
from kanachan.play.remote_network import RemoteNetwork
from kanachan.play.together import FIRST_SLOTS

_ROWS = {"cpu": 16, "gpu": 256}
"""rows of a batch: 128 games would not fill many more on a CPU; on a GPU, padding costs little"""


@dataclass(slots=True)
class _Seat:
    """The cached events of a seat's current round."""

    slot: int
    events: tuple[int, ...] = ()


class CachedPolicy:
    """Evaluates observations by a policy; caches each seat's events and computes only the new events.

    For speed, its predictions have only scores; the other fields are None.

    Args:
        policy: the policy whose network is copied, with a cache.
        use_bf16: multiply in bf16; has no effect on networks with int8 matrices.
    """

    def __init__(self, policy: Policy, *, use_bf16: bool = False) -> None:
        self.is_remote = isinstance(policy.network, RemoteNetwork)
        """whether a server computes the network; it merges the rows of several workers"""
        kind = policy.network.device_type if isinstance(policy.network, RemoteNetwork) else policy.device.type
        is_int8, vocabulary = isinstance(policy.network, Int8Network), policy.vocabulary
        rows = _ROWS["cpu" if kind == "cpu" else "gpu"]
        self._shapes = shapes_of(vocabulary.max_progression, rows, has_middle=is_int8)
        num_rows = max(s.rows * (1 + vocabulary.num_seats + s.tiles + s.new) for s in self._shapes)
        sizes = vocabulary.max_progression, num_rows
        self._network = _with_cache(policy.network, *sizes, use_bf16=use_bf16)
        self._policy = policy.with_network(self._network)
        self._seats: dict[Hashable, _Seat] = {}
        self._num_slots = 0
        """number of slots for seats"""
        self._free: list[int] = []

    @torch.inference_mode()
    def evaluate(self, observations: Sequence[Observation], seats: Sequence[Hashable]) -> list[Prediction]:
        """Returns the prediction for each observation, which is the same up to rounding as without cached events.
        `seats`: keys of the table and seat of each, by which cached events are found."""
        places: dict[Shape, list[int]] = {}
        rows = []
        for place, (observation, seat) in enumerate(zip(observations, seats, strict=True)):
            start = self._start(observation, seat)
            places.setdefault(self._fitting(observation, start), []).append(place)
            cached = self._cached(seat)
            cached.events = observation.progression
            rows.append(CachedRow(observation, cached.slot, start))
        batches = [
            (shape, batch)
            for shape, of_shape in places.items()
            for batch in batches_of_shape([rows[place] for place in of_shape], shape, self._policy)
        ]
        predictions: list[Prediction | None] = [None] * len(observations)
        of_rows = chain.from_iterable(places.values())
        for score_BA in self._scores(batches):
            for score_A, place in zip(score_BA, of_rows, strict=False):
                predictions[place] = Prediction(score_A[: len(observations[place].actions)], None, None, None)
        return [prediction for prediction in predictions if prediction is not None]

    def _scores(self, batches: Sequence[tuple[Shape, IncrementalBatch]]) -> Iterator[NDArray[np.float32]]:
        """Yields score_BA of each batch."""
        if isinstance(self._network, RemoteNetwork):
            self._network.request(batches)
        for shape, batch in batches:
            output = self._policy.output(filled([batch], shape.rows).to(self._policy.device))
            yield self._policy.objective.score(output)[: len(batch)].float().cpu().numpy()

    def shape(self, observation: Observation, seat: Hashable) -> Shape:
        """Returns the shape of the batch in which an observation of a seat is computed."""
        return self._fitting(observation, self._start(observation, seat))

    def _fitting(self, observation: Observation, start: int) -> Shape:
        num_seen = len(observation.progression)
        num_tiles = len(observation.sparse) - self._policy.vocabulary.num_places
        size = num_seen - start, num_seen, num_tiles, len(observation.actions)
        return next(shape for shape in self._shapes if shape.fits(*size))

    def _start(self, observation: Observation, seat: Hashable) -> int:
        """Returns how many events of an observation are cached already."""
        cached, events = self._seats.get(seat), observation.progression
        if cached is None or events[: len(cached.events)] != cached.events:
            return 0
        # without new events, the last event is computed again, since each row must have an event
        return min(len(cached.events), len(events) - 1)

    def _cached(self, seat: Hashable) -> _Seat:
        if seat not in self._seats:
            if not self._free:
                self._make_room()
            self._seats[seat] = _Seat(self._free.pop())
        return self._seats[seat]

    def _make_room(self) -> None:
        before, self._num_slots = self._num_slots, max(2 * self._num_slots, FIRST_SLOTS)
        self._free = list(range(before + 1, self._num_slots + 1))
        self._network.reserve(1 + self._num_slots)  # slot 0 is for padding

    def forget(self, seat: Hashable) -> None:
        """Frees the slot of a seat."""
        removed = self._seats.pop(seat, None)
        if removed is not None:
            self._free.append(removed.slot)


def _with_cache(
    network: Network, num_events: int, num_rows: int, *, use_bf16: bool
) -> Int8Network | RemoteNetwork | CachedNetwork:
    if isinstance(network, Int8Network):
        return network.with_own_cache()
    if isinstance(network, RemoteNetwork):
        return network.with_cache(num_events, num_rows, use_bf16=use_bf16)
    return CachedNetwork(network, num_events, num_rows, use_bf16=use_bf16)


def seat_of(request: ActRequest) -> tuple[GameKey, int]:
    """Returns the key of the seat whose events are cached."""
    return request.game, request.turn.seat


class PolicyAgent(Agent):
    """Plays by a policy's scores: samples from the softmax of the scores divided by `temperature`; None: takes the
    highest score. `explore`: the share of actions that are drawn uniformly from all possible actions."""

    def __init__(
        self, policy: CachedPolicy, sampler: SeededSampler, temperature: float | None = None, explore: float = 0.0
    ) -> None:
        self.policy = policy
        self._sampler = sampler
        self._temperature = temperature
        self._explore = explore

    def group(self, request: ActRequest) -> BatchKey:
        if self.policy.is_remote:
            return UNBATCHED
        shape = self.policy.shape(request.observation, seat_of(request))
        return BatchKey(shape, shape.rows)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        predictions = self.policy.evaluate([r.observation for r in requests], list(map(seat_of, requests)))
        actions = []
        for request, prediction in zip(requests, predictions, strict=True):
            uniform = None if self._temperature is None else self._sampler.of(request)
            actions.append(choose(request.observation.actions, prediction, self._temperature, uniform, self._explore))
        return actions

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        self.policy.forget((game, seat))
