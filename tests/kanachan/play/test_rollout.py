"""Games of the arena wait for each other, so that agents receive many requests at once."""

from collections import Counter
from collections.abc import Sequence

import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.inference.choice import Action
from kanachan.play import rollout
from kanachan.play.agent import UNBATCHED, ActRequest, BatchKey, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import GameResult, Match
from kanachan.play.rollout import BatchedGames

MATCH = Match(players=("rule", "rule"), style=0)


class InThrees:
    """An agent that prefers three requests at a time, with separate batches for requests that allow a discard."""

    plays_forced = False

    def __init__(self) -> None:
        self._player = make_agent(parse_agent("rule"), SeededSampler(0, "A"), V)
        self.batches: list[list[BatchKey]] = []
        self.end, self.close = self._player.end, self._player.close

    def group(self, request: ActRequest) -> BatchKey:
        return BatchKey(len(request.observation.actions) > 5, 3)

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        self.batches.append([self.group(request) for request in requests])
        return self._player.act(requests)


def test_a_game_waits_until_a_batch_has_the_preferred_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "_MOST_MOVES_WAITED", 1_000_000)
    in_threes = InThrees()
    running = BatchedGames(MATCH.begin, {"A": in_threes, "B": in_threes}, GameResult.of)
    for wall in range(9):  # at most two wait for each of the two groups of both players
        running.begin(GameKey(wall, 0))
    results = running.advance()
    while len(running) == 9:
        assert all(num % 3 == 0 for groups in in_threes.batches for num in Counter(groups).values())
        results += running.advance()
    while len(running):
        results += running.advance()
    assert len(in_threes.batches) > 300 and len(results) == 9


def test_a_game_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithRareGroup(InThrees):
        def group(self, request: ActRequest) -> BatchKey:
            is_rare = request.number % 7 == 3
            if is_rare:
                started[request.game] = num_moves
            return BatchKey("rare", 1000) if is_rare else UNBATCHED

        def act(self, requests: Sequence[ActRequest]) -> list[Action]:
            waited.extend(num_moves - started.pop(s.game) for s in requests if s.game in started)
            return self._player.act(requests)

    monkeypatch.setattr(rollout, "_MOST_MOVES_WAITED", 10)
    started, waited, num_moves = dict[GameKey, int](), list[int](), 0
    player = WithRareGroup()
    running = BatchedGames(MATCH.begin, {"A": player, "B": player}, GameResult.of)
    for wall in range(4):
        running.begin(GameKey(wall, 0))
    while len(running):
        num_moves += 1
        running.advance()
    assert len(waited) > 50 and max(waited) == 11
