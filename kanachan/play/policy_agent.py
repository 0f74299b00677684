"""Trained networks as players: the situations of many games are scored together, in batches of a few fixed shapes.

How the numbers of a row are rounded can depend on the shape of its batch, and then so could, once in a long game, a
choice. So a row's shape follows from the row alone, and a batch always has the same number of rows, some of which may
fill up: what a player does never depends on how many games advance together.

Shapes: A candidates of a situation; otherwise as in kanachan.models.kv_cache.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from annotate.game.record import Event
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import columns_of_observations
from kanachan.inference.advantage_policy import AdvantagePolicy
from kanachan.inference.choice import Action, choose
from kanachan.inference.policy import NetworkPolicy, Policy, chosen_device
from kanachan.models.kv_cache import CachedNetwork, IncrementalBatch
from kanachan.play.agent import ActRequest, BatchKey, GameKey, SeededSampler
from kanachan.play.agent_spec import AgentSpec

_MOST_TILES = 19  # 14 of the hand, 5 indicators
_MOST_CANDIDATES = 64
_FIRST_SLOTS = 64
_ROWS = {"cpu": 16, "gpu": 64}
"""that pass a network at once; with many more, 128 games would not fill them"""


class Shape(NamedTuple):
    """Of the rows that are computed together."""

    new: int
    """new events"""
    seen: int
    """events in all"""
    tiles: int
    candidates: int
    rows: int


def _shapes(most_events: int, rows: int) -> tuple[Shape, ...]:
    """A row has the first that holds it. Nineteen of twenty have one of the first three: since its last decision a seat
    has seen four discards at most, and there is one dora indicator."""
    few = max(rows // 4, 1)
    return (
        Shape(4, 32, 15, 14, rows),
        Shape(4, 64, 15, 14, rows),
        Shape(4, most_events, 15, 14, rows),
        Shape(12, most_events, _MOST_TILES, _MOST_CANDIDATES, few),
        Shape(most_events, most_events, _MOST_TILES, _MOST_CANDIDATES, few),
    )


@dataclass(slots=True)
class _Seat:
    """What is kept of the round that a seat of a game is in."""

    slot: int
    events: tuple[int, ...] = ()


class Evaluation(NamedTuple):
    """What a policy computes of a request."""

    score: NDArray[np.float32]
    """[A]"""
    value: float | None


class Scorer:
    """Computes the scores of requests of many games.

    Args:
        policies: one, or imitation and values; copies of their networks store the events.
        points: the temperature of the advantages, where there are two.
        use_bf16: multiply in bf16.

    Raises:
        ValueError: the two are not fit to be used together.
    """

    def __init__(self, policies: Sequence[NetworkPolicy], points: float = math.inf, *, use_bf16: bool = False) -> None:
        vocabulary, device = policies[0].vocabulary, policies[0].device
        self._shapes = _shapes(vocabulary.max_progression, _ROWS["cpu" if device.type == "cpu" else "gpu"])
        num_rows = max(s.rows * (1 + vocabulary.num_seats + s.tiles + s.new) for s in self._shapes)
        self._networks = [
            CachedNetwork(p.network, vocabulary.max_progression, num_rows, use_bf16=use_bf16).eval() for p in policies
        ]
        prior, *values = (
            policy.with_network(network) for policy, network in zip(policies, self._networks, strict=True)
        )
        self.policy: Policy = AdvantagePolicy(prior, values[0], points) if values else prior
        self._seats: dict[tuple[GameKey, int], _Seat] = {}
        self._num_slots = 0
        self._free: list[int] = []

    @torch.inference_mode()
    def evaluate(self, requests: Sequence[ActRequest]) -> list[Evaluation]:
        """Evaluates each request as the policy without stored events does, up to rounding."""
        shape_of = [self.shape(request) for request in requests]
        slots, starts = zip(*map(self._continued, requests), strict=True)
        rows = _Rows(requests, np.array(slots), np.array(starts), self.policy, shape_of)
        found: list[Evaluation | None] = [None] * len(requests)
        for places, batch in rows.batches():
            output, value_B = self.policy.output_and_value(batch.to(self.policy.device))
            score_BA = self.policy.objective.score(output).float().cpu().numpy()
            values = [None] * len(batch) if value_B is None else value_B.tolist()
            for row, place in enumerate(places):
                score_A = score_BA[row, : len(requests[place].observation.actions)]
                found[place] = Evaluation(score_A, values[row])
        return [evaluation for evaluation in found if evaluation is not None]

    def shape(self, request: ActRequest) -> Shape:
        """Returns the shape of the rows among which a request is computed."""
        observation = request.observation
        num_seen = len(observation.progression)
        num_tiles = len(observation.sparse) - self.policy.vocabulary.num_places
        size = num_seen - self._start(request), num_seen, num_tiles, len(observation.actions)
        fitting = (shape for shape in self._shapes if all(ours <= its for ours, its in zip(size, shape, strict=False)))
        found = next(fitting, None)
        assert found is not None, size
        return found

    def _start(self, request: ActRequest) -> int:
        """Returns how many events of a request are stored already."""
        seat = self._seats.get((request.game, request.turn.seat))
        events = request.observation.progression
        if seat is None or events[: len(seat.events)] != seat.events:
            return 0
        # the last one is computed again if nothing has happened since: no row is without events
        return min(len(seat.events), len(events) - 1)

    def _continued(self, request: ActRequest) -> tuple[int, int]:
        """Returns where the events of a request are stored, and how many of them are there already."""
        start = self._start(request)
        key = request.game, request.turn.seat
        if key not in self._seats:
            if not self._free:
                self._make_room()
            self._seats[key] = _Seat(self._free.pop())
        seat = self._seats[key]
        seat.events = request.observation.progression
        return seat.slot, start

    def _make_room(self) -> None:
        # slot 0 is for rows that fill up
        before = max(self._num_slots, 1)
        self._num_slots = max(2 * self._num_slots, _FIRST_SLOTS)
        self._free = list(range(before, self._num_slots))
        for network in self._networks:
            network.reserve(self._num_slots)

    def forget(self, game: GameKey, seat: int) -> None:
        kept = self._seats.pop((game, seat), None)
        if kept is not None:
            self._free.append(kept.slot)


class _Rows:
    """Requests as rows of a batch, each with the events alone that are new."""

    def __init__(
        self,
        requests: Sequence[ActRequest],
        slot_B: NDArray[np.int64],
        start_B: NDArray[np.int64],
        policy: Policy,
        shape_of: Sequence[Shape],
    ) -> None:
        self._places: dict[Shape, list[int]] = {}
        for place, shape in enumerate(shape_of):
            self._places.setdefault(shape, []).append(place)
        observations = [
            request.observation._replace(progression=request.observation.progression[start:])
            for request, start in zip(requests, start_B.tolist(), strict=True)
        ]
        # rows may come out grouped, as of the same round: a row's events then begin those of its group
        batch = policy.batch(columns_of_observations(observations, policy.vocabulary))
        new_B = batch.seen_B
        event_BE = batch.event_GE.index_select(0, batch.group_B)
        event_BE = event_BE.where(torch.arange(event_BE.shape[1]) < new_B[:, None], 0)
        widest = Shape(*map(max, zip(*shape_of, strict=True)))
        self._batch = replace(
            batch,
            tile_BT=_widened(batch.tile_BT, widest.tiles),
            event_GE=_widened(event_BE, widest.new),
            candidate_BA=_widened(batch.candidate_BA, widest.candidates),
        )
        self._slot_B, self._start_B, self._new_B = torch.from_numpy(slot_B), torch.from_numpy(start_B), new_B

    def batches(self) -> Iterator[tuple[list[int], IncrementalBatch]]:
        """Some of the rows, and a batch that begins with them."""
        for shape, places in self._places.items():
            for first in range(0, len(places), shape.rows):
                part = places[first : first + shape.rows]
                yield part, self._batch_of(part, shape)

    def _batch_of(self, places: list[int], shape: Shape) -> IncrementalBatch:
        num_filling = shape.rows - len(places)
        row_B = torch.tensor(places + places[:1] * num_filling)
        is_real_B = torch.arange(shape.rows) < len(places)
        taken = self._batch.each(lambda tensor_B: tensor_B.index_select(0, row_B))
        start_B = self._start_B[row_B].where(is_real_B, 0)
        return IncrementalBatch(
            table_BS=taken.table_BS,
            standing_BP2=taken.standing_BP2,
            tile_BT=taken.tile_BT[:, : shape.tiles],
            numeric_BN=taken.numeric_BN,
            event_GE=taken.event_GE[:, : shape.new],
            group_B=taken.group_B,
            seen_B=start_B + self._new_B[row_B],
            candidate_BA=taken.candidate_BA[:, : shape.candidates],
            seat_B=taken.seat_B,
            slot_B=self._slot_B[row_B].where(is_real_B, 0),
            start_B=start_B,
            num_seen=shape.seen,
        )


def _widened(tensor_BX: torch.Tensor, width: int) -> torch.Tensor:
    return F.pad(tensor_BX, (0, width - tensor_BX.shape[1]))


class PolicyAgent:
    """A policy at the table.

    Args:
        temperature: scores are divided by it, and their softmax is drawn from; None takes the greatest score.
    """

    plays_forced = False

    def __init__(self, scorer: Scorer, lots: SeededSampler, temperature: float | None = None) -> None:
        self.scorer = scorer
        self._lots = lots
        self._temperature = temperature

    def group(self, request: ActRequest) -> BatchKey:
        shape = self.scorer.shape(request)
        return BatchKey(shape, shape.rows)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        return [
            choose(request.observation.actions, score_A, self._temperature, self._uniform(request), value)
            for request, (score_A, value) in zip(requests, self.scorer.evaluate(requests), strict=True)
        ]

    def _uniform(self, request: ActRequest) -> float | None:
        return None if self._temperature is None else self._lots.of(request)

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        self.scorer.forget(game, seat)

    def close(self) -> None:
        pass


def load_policy_agent(
    spec: AgentSpec, lots: SeededSampler, vocabulary: Vocabulary, device: str, *, use_bf16: bool
) -> PolicyAgent:
    """The player of weights.

    Raises:
        ValueError: weights that cannot be read, of another vocabulary, or not fit to be used together.
    """
    torch.set_num_threads(1)  # how sums are rounded can depend on it; more cores are for more processes
    policies = [Policy.load(path, chosen_device(device)) for path in spec.files]
    for policy in policies:
        if policy.vocabulary.fingerprint != vocabulary.fingerprint:
            raise ValueError(f"{spec.text}: made for the vocabulary {policy.vocabulary.name}, not {vocabulary.name}")
    try:
        scorer = Scorer(policies, spec.points, use_bf16=use_bf16)
    except ValueError as error:
        raise ValueError(f"{spec.text}: {error}") from None
    return PolicyAgent(scorer, lots, spec.temperature)
