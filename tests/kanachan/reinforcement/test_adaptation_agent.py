"""The agent that is adapted to each round."""

from pathlib import Path

import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.inference.policy import Policy
from kanachan.play.agent import ActRequest, Agent, GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.baseline_agents import RandomAgent
from kanachan.play.match import GameResult, Match
from kanachan.play.policy_agent import CachedPolicy
from kanachan.play.rollout import BatchedGames
from kanachan.reinforcement.adaptation import AdaptationConfig, Adapter, AdaptingAgent
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights"))


def first_moves(player: Agent, moves: int) -> tuple[list[ActRequest], list[int]]:
    """The requests and the actions of A in the first moves of two games against random players."""
    requests: list[ActRequest] = []
    chosen: list[int] = []
    act = player.act

    def noted(given: list[ActRequest]) -> list:  # type: ignore[type-arg]
        actions = act(given)
        requests.extend(given)
        chosen.extend(action.token for action in actions)
        return actions

    player.act = noted  # type: ignore[method-assign, assignment]
    players: dict[str, Agent] = {"A": player, "B": RandomAgent(SeededSampler(1, "B"))}
    running = BatchedGames(Match(players=("A", "random"), style=0).begin, players, GameResult.of)
    for key in (GameKey(0, 0), GameKey(1, 2)):
        running.begin(key)
    for _ in range(moves):
        running.advance()
    return requests, chosen


def test_without_steps_it_plays_as_the_unadapted_network(weights: Path) -> None:
    policy = Policy.load(weights)
    config = AdaptationConfig(rollouts=2, steps=0)
    cached = CachedPolicy(policy, rank=config.low_rank)
    agent = AdaptingAgent(cached, SeededSampler(0, "A"), 0.8, 0.0, Adapter(policy, config))
    plain = make_agent(parse_agent(f"{weights}@0.8"), SeededSampler(0, "A"), V)
    _, chosen = first_moves(agent, 60)
    assert len(chosen) > 15 and chosen == first_moves(plain, 60)[1]
