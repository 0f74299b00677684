"""Games of the arena wait for each other, so that players are asked about many situations at once."""

from collections import Counter
from collections.abc import Sequence

import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.inference.choice import Action
from kanachan.play import rollout as arena_game
from kanachan.play.agent import UNBATCHED, ActRequest, BatchKey, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import Match
from kanachan.play.rollout import BatchedGames


class InThrees:
    """A player that is best asked about three situations at a time, those that can discard apart from others."""

    plays_forced = False

    def __init__(self) -> None:
        self._player = make_agent(parse_agent("rule"), SeededSampler(0, "A"), V)
        self.asked: list[list[BatchKey]] = []
        self.end, self.close = self._player.end, self._player.close

    def group(self, situation: ActRequest) -> BatchKey:
        return BatchKey(len(situation.observation.actions) > 5, 3)

    def act(self, situations: Sequence[ActRequest]) -> list[Action]:
        self.asked.append([self.group(situation) for situation in situations])
        return self._player.act(situations)


def test_a_game_waits_until_a_player_has_as_many_situations_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena_game, "_MOST_MOVES_WAITED", 1_000_000)
    in_threes = InThrees()
    hall = BatchedGames(Match(players=("rule", "rule"), style=0), {"A": in_threes, "B": in_threes})
    for wall in range(9):  # two at most wait for each of two groups of both players
        hall.begin(GameKey(wall, 0))
    results = hall.advance()
    while len(hall) == 9:
        assert all(num % 3 == 0 for groups in in_threes.asked for num in Counter(groups).values())
        results += hall.advance()
    while len(hall):
        results += hall.advance()
    assert len(in_threes.asked) > 300 and len(results) == 9


def test_a_game_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithRareGroup(InThrees):
        def group(self, situation: ActRequest) -> BatchKey:
            is_rare = situation.number % 7 == 3
            if is_rare:
                begun[situation.game] = num_moves
            return BatchKey("rare", 1000) if is_rare else UNBATCHED

        def act(self, situations: Sequence[ActRequest]) -> list[Action]:
            waited.extend(num_moves - begun.pop(s.game) for s in situations if s.game in begun)
            return self._player.act(situations)

    monkeypatch.setattr(arena_game, "_MOST_MOVES_WAITED", 10)
    begun, waited, num_moves = dict[GameKey, int](), list[int](), 0
    player = WithRareGroup()
    hall = BatchedGames(Match(players=("rule", "rule"), style=0), {"A": player, "B": player})
    for wall in range(4):
        hall.begin(GameKey(wall, 0))
    while len(hall):
        num_moves += 1
        hall.advance()
    assert len(waited) > 50 and max(waited) == 11
