"""The contract of all agents of the arena."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from annotate.vocabulary import THREE_PLAYERS as V3
from annotate.vocabulary import Vocabulary
from kanachan.data.columns import columns_of_observations
from kanachan.inference.int8_network import with_int8
from kanachan.inference.policy import Policy
from kanachan.play.agent import ActRequest, GameKey, IllegalAction, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.match import GameResult, Match, default_format
from kanachan.play.policy_agent import PolicyAgent
from kanachan.play.rollout import BatchedGames
from tests.support.matches import Requests, Watched, mjai
from tests.support.tiny_rewards import written_reward
from tests.support.tiny_weights import written

INT8 = ("int8",) if find_spec("onnxruntime") else ()  # the extra `onnx`
KINDS = ("random", "rule", "greedy", "sampled", "mjai", *INT8)


Names = dict[str, str]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    """The specification of each kind of player, as on a command line."""
    return _names(tmp_path_factory.mktemp("weights"), V)


@pytest.fixture(scope="module")
def names_of(tmp_path_factory: pytest.TempPathFactory, names: Names) -> Mapping[str, Names]:
    """The specifications by vocabulary."""
    return {V.name: names, V3.name: _names(tmp_path_factory.mktemp("weights"), V3)}


def _names(folder: Path, vocabulary: Vocabulary) -> Names:
    imitation = written(folder / "imitation", vocabulary=vocabulary)
    return {
        "random": "random",
        "rule": "rule:careful",
        "greedy": str(imitation),
        "sampled": f"{imitation}@0.7",
        "mjai": mjai(),
        "int8": f"{imitation}:int8",
        "grading": str(
            written(folder / "grading", "grading", vocabulary=vocabulary, prior=str(_reward(folder, vocabulary)))
        ),
    }


def _reward(folder: Path, vocabulary: Vocabulary) -> Path:
    return written_reward(folder / "reward.safetensors", vocabulary=vocabulary)


def played(
    name: str, games: Sequence[GameKey], together: int, most: int = 10_000, vocabulary: Vocabulary = V
) -> tuple[list[GameResult], Watched]:
    """Plays East games of A against random players, or only the first `most` moves of the games."""
    match = Match(players=(name, "random"), style=0, format=default_format(vocabulary))
    players: Mapping[str, Watched] = {
        letter: Watched(make_agent(parse_agent(text), SeededSampler(5, letter), vocabulary))
        for letter, text in zip("AB", match.players, strict=True)
    }
    running, waiting, results = BatchedGames(match.begin, players, GameResult.of), list(games), []
    try:
        while waiting or len(running):
            while waiting and len(running) < together:
                running.begin(waiting.pop(0))
            results += [result for _, result in running.advance()]
            most -= 1
            if not most:
                break
    finally:
        for player in players.values():
            player.close()
    return sorted(results, key=lambda result: result.game), players["A"]


GAMES = [GameKey(0, 1), GameKey(1, 0), GameKey(1, 2)]
WHOLE_GAMES = ("random", "rule", "mjai")
MOVES = {kind: 10_000 if kind in WHOLE_GAMES else 60 for kind in KINDS}
"""networks take longer, and a round shows how they play"""


@pytest.mark.parametrize(
    ("kind", "vocabulary"),
    [*product(KINDS, [V, V3])],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_the_actions_of_a_player_are_possible_and_do_not_depend_on_the_other_games(
    kind: str, vocabulary: Vocabulary, names_of: Mapping[str, Names]
) -> None:
    """A player is asked about forced actions only if it plays them."""
    name, games = names_of[vocabulary.name][kind], GAMES
    # a game that is played beside others sometimes waits, so it has fewer turns after as many moves
    together, watched = played(name, games, together=3, most=len(games) * MOVES[kind], vocabulary=vocabulary)
    alone, watched_alone = played(name, GAMES[1:2], together=1, most=MOVES[kind], vocabulary=vocabulary)
    chosen, chosen_alone = (
        {key: token for key, token in w.chosen.items() if key[0] == GAMES[1]} for w in (watched, watched_alone)
    )
    common = chosen.keys() & chosen_alone.keys()
    assert {key: chosen[key] for key in common} == {key: chosen_alone[key] for key in common}
    assert len(common) > 10
    for played_by in (watched, watched_alone):
        requests = played_by.requests
        assert all(token in requests[key].observation.actions for key, token in played_by.chosen.items())
        has_forced = any(len(request.observation.actions) == 1 for request in requests.values())
        assert has_forced <= played_by.plays_forced
    assert sorted(number for _, _, number in watched_alone.requests) == list(range(len(watched_alone.requests)))
    if kind in WHOLE_GAMES:
        assert chosen.keys() == chosen_alone.keys()
        assert [result for result in together if result.game == GAMES[1]] == alone


@cache
def situations(vocabulary: Vocabulary = V) -> Requests:
    """Returns the requests of a few rounds to a player that answers at random."""
    return played("random", GAMES, together=3, most=100, vocabulary=vocabulary)[1].requests


def scores_of(policy: Policy, requests: Sequence[ActRequest]) -> list[np.ndarray]:
    """Returns the scores of the policy outside of the arena."""
    columns = columns_of_observations([request.observation for request in requests], policy.vocabulary)
    return [prediction.score for prediction in policy.predict(policy.batch(columns))]


def test_a_policy_takes_the_action_of_the_highest_score(names: Names) -> None:
    _, watched = played(names["greedy"], GAMES[:1], together=1, most=60)
    scores = scores_of(plain_policy(names["greedy"]), list(watched.requests.values()))
    for (key, request), score_A in zip(watched.requests.items(), scores, strict=True):
        place = request.observation.actions.index(watched.chosen[key])
        assert score_A[place] >= score_A.max() - 1e-4


def plain_policy(name: str) -> Policy:
    """Returns the policy of a specification, without cached events."""
    spec = parse_agent(name)
    policy = Policy.load(spec.weights)
    return with_int8(policy, name) if spec.is_int8 else policy


@pytest.mark.parametrize(
    ("kind", "vocabulary", "use_bf16", "largest", "typical"),
    [
        ("greedy", V, False, 1e-4, 1e-5),
        ("greedy", V, True, 0.5, 0.05),
        ("greedy", V3, False, 1e-4, 1e-5),
        ("grading", V, False, 0.02, 0.002),
        *((kind, vocabulary, False, 0.05, 0.005) for kind in INT8 for vocabulary in (V, V3)),
    ],
)
def test_scores_with_cached_events_equal_scores_computed_from_scratch(
    kind: str, vocabulary: Vocabulary, use_bf16: bool, largest: float, typical: float, names_of: Mapping[str, Names]
) -> None:
    found: dict[tuple[GameKey, int, int], np.ndarray] = {}
    name = names_of[vocabulary.name][kind]
    player = make_agent(parse_agent(name), SeededSampler(0, "A"), vocabulary, use_bf16=use_bf16)
    assert isinstance(player, PolicyAgent)
    requests = situations(vocabulary)
    for key, request in requests.items():
        (found[key],) = evaluated(player, [request])
    wanted = scores_of(plain_policy(name), list(requests.values()))
    assert max(len(s.observation.progression) for s in requests.values()) > 40
    difference = np.concatenate(list(found.values())) - np.concatenate(wanted)
    assert np.concatenate(wanted).std() > 1
    assert np.abs(difference).max() < largest
    assert np.sqrt((difference**2).mean()) < typical


@pytest.mark.parametrize(("kind", "use_bf16"), [("greedy", False), ("greedy", True), *((kind, False) for kind in INT8)])
def test_a_score_does_not_depend_on_the_rest_of_its_batch(kind: str, use_bf16: bool, names: Names) -> None:
    by_number: dict[int, list[ActRequest]] = {}
    for (_, _, number), request in situations().items():
        by_number.setdefault(number, []).append(request)
    one_by_one, together = (
        make_agent(parse_agent(names[kind]), SeededSampler(0, "A"), V, use_bf16=use_bf16) for _ in range(2)
    )
    assert isinstance(one_by_one, PolicyAgent)
    assert isinstance(together, PolicyAgent)
    assert any(len(requests) > 1 for requests in by_number.values())
    for requests in by_number.values():
        alone = [evaluated(one_by_one, [request])[0] for request in requests]
        for score_A, alone_A in zip(evaluated(together, requests), alone, strict=True):
            np.testing.assert_array_equal(score_A, alone_A)


def test_sampled_choices_follow_the_softmax_of_the_scores(names: Names) -> None:
    (request,) = [s for s in situations().values() if len(s.observation.actions) > 8][:1]
    (score_A,) = scores_of(plain_policy(names["greedy"]), [request])
    weight_A = np.exp((score_A - score_A.max()) / 2.0)
    counts = np.zeros(len(score_A))
    player = make_agent(parse_agent(f"{names['greedy']}@2"), SeededSampler(0, "A"), V)
    for action in player.act([replace(request, game=GameKey(wall, 0)) for wall in range(2000)]):
        counts[request.observation.actions.index(action.token)] += 1
    np.testing.assert_allclose(counts / counts.sum(), weight_A / weight_A.sum(), atol=0.04)


def evaluated(player: PolicyAgent, requests: Sequence[ActRequest]) -> list[np.ndarray]:
    """Returns the scores of the options of each request."""
    seats = [(request.game, request.turn.seat) for request in requests]
    return [p.score for p in player.policy.evaluate([request.observation for request in requests], seats)]


def test_two_players_with_the_same_name_draw_different_random_numbers() -> None:
    drawn = [[SeededSampler(0, letter).of(request) for request in situations().values()] for letter in "AB"]
    assert not set(drawn[0]) & set(drawn[1])
    assert 0.35 < np.mean(drawn) < 0.65


@pytest.mark.parametrize(
    "habit, error, message",
    [
        (
            "declares",
            IllegalAction,
            r"illegal action in wall 0, seating 1, East 1 honba 0, tiles left \d+, seat 1: {.*reach[^}]*}; possible: ",
        ),
        ("ends", ValueError, "the program has ended, with status 3"),
        ("babbles", ValueError, "an mjai event expected as answer, not b'hello'"),
    ],
)
def test_an_error_of_a_program_is_reported_with_its_name(habit: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        played(mjai(habit), GAMES[:1], together=1)
    assert "mjai_seat.py" in str(raised.value)
