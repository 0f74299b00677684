"""The contract of all agents of the arena."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from annotate.game.engine import Table
from annotate.game.record import Event
from annotate.game.tiles import RED_IDS
from annotate.observation import Observation
from annotate.vocabulary import FOUR_PLAYERS as V
from annotate.vocabulary import THREE_PLAYERS as V3
from annotate.vocabulary import VOCABULARIES, Vocabulary
from kanachan.config import StageName
from kanachan.data.columns import columns_of_observations
from kanachan.inference.choice import Action
from kanachan.inference.policy import Policy
from kanachan.play.agent import ActRequest, Agent, GameKey, IllegalAction, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import AgentSpec, parse_agent
from kanachan.play.match import GameResult, Match, default_format
from kanachan.play.match_games import match_games
from kanachan.play.mjai_agent import Program, _Seated
from kanachan.play.policy_agent import PolicyAgent
from tests.support.matches import mjai, opening_of_round
from tests.support.rounds import Script, start_of_round, wall_of_deal
from tests.support.tiny_weights import written

INT8 = ("int8",) if find_spec("onnxruntime") else ()  # the extra `onnx`
KINDS = ("random", "rule", "greedy", "sampled", "absolute seats", "advantage", "adapted", "mjai", *INT8)
VALUES: dict[str, StageName] = {V.name: "rank", V3.name: "round_delta"}
Requests = dict[tuple[GameKey, int, int], ActRequest]


Names = dict[str, str]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Names:
    """The specification of each kind on a command line."""
    return _names(tmp_path_factory.mktemp("weights"), V)


@pytest.fixture(scope="module")
def names_of(tmp_path_factory: pytest.TempPathFactory, names: Names) -> Mapping[str, Names]:
    """The specifications by vocabulary."""
    return {V.name: names, V3.name: _names(tmp_path_factory.mktemp("weights"), V3)}


def _names(folder: Path, vocabulary: Vocabulary) -> Names:
    imitation = written(folder / "imitation", vocabulary=vocabulary)
    values = written(folder / "values", VALUES[vocabulary.name], seed=1, vocabulary=vocabulary)
    return {
        "random": "random",
        "rule": "rule:careful",
        "greedy": str(imitation),
        "sampled": f"{imitation}@0.7",
        "absolute seats": str(written(folder / "absolute", actor_first=False, vocabulary=vocabulary)),
        "advantage": f"{imitation}+{values}~20",
        "adapted": f"{imitation}!adapt=2@0.7",
        "mjai": mjai(),
        "int8": f"{imitation}!int8",
    }


class Watched:
    """A player, with its requests and its actions."""

    def __init__(self, player: Agent) -> None:
        self.player = player
        self.plays_forced, self.group = player.plays_forced, player.group
        self.requests: Requests = {}
        self.chosen: dict[tuple[GameKey, int, int], int] = {}

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        actions = self.player.act(requests)
        for request, action in zip(requests, actions, strict=True):
            key = request.game, request.turn.seat, request.number
            self.requests[key], self.chosen[key] = request, action.token
        return actions

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        self.player.end(game, seat, events)

    def close(self) -> None:
        self.player.close()


def played(
    name: str, games: Sequence[GameKey], together: int, most: int = 10_000, vocabulary: Vocabulary = V
) -> tuple[list[GameResult], Watched]:
    """East games of A against random players, or the first `most` moves of them."""
    match = Match(players=(name, "random"), style=0, format=default_format(vocabulary))
    players: Mapping[str, Watched] = {
        letter: Watched(make_agent(parse_agent(text), SeededSampler(5, letter), vocabulary))
        for letter, text in zip("AB", match.players, strict=True)
    }
    running, waiting, results = match_games(match, players), list(games), []
    try:
        while waiting or len(running):
            while waiting and len(running) < together:
                running.begin(waiting.pop(0))
            results += running.advance()
            most -= 1
            if not most:
                break
    finally:
        for player in players.values():
            player.close()
    return sorted(results, key=lambda result: result.game), players["A"]


GAMES = [GameKey(0, 1), GameKey(1, 0), GameKey(1, 2)]
every_vocabulary = pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=lambda vocabulary: vocabulary.name)


WHOLE_GAMES = ("random", "rule", "mjai")
MOVES = {kind: 10_000 if kind in WHOLE_GAMES else 120 for kind in KINDS}
"""networks take longer, and a round or two show how they play"""


@every_vocabulary
@pytest.mark.parametrize("kind", KINDS)
def test_the_actions_of_a_player_do_not_depend_on_the_other_games(
    kind: str, vocabulary: Vocabulary, names_of: Mapping[str, Names]
) -> None:
    name = names_of[vocabulary.name][kind]
    # among others a game waits now and then, and has fewer turns after as many moves
    together, watched = played(name, GAMES, together=3, most=3 * MOVES[kind], vocabulary=vocabulary)
    alone, watched_alone = played(name, GAMES[1:2], together=1, most=MOVES[kind], vocabulary=vocabulary)
    chosen, chosen_alone = (
        {key: token for key, token in w.chosen.items() if key[0] == GAMES[1]} for w in (watched, watched_alone)
    )
    common = chosen.keys() & chosen_alone.keys()
    assert {key: chosen[key] for key in common} == {key: chosen_alone[key] for key in common}
    assert len(common) > 20
    if kind in WHOLE_GAMES:
        assert chosen.keys() == chosen_alone.keys()
        assert [result for result in together if result.game == GAMES[1]] == alone


@every_vocabulary
@pytest.mark.parametrize("kind", KINDS)
def test_a_player_chooses_possible_actions_and_is_queried_about_forced_ones_only_if_it_plays_them(
    kind: str, vocabulary: Vocabulary, names_of: Mapping[str, Names]
) -> None:
    name = names_of[vocabulary.name][kind]
    _, watched = played(name, GAMES[:1], together=1, most=MOVES[kind], vocabulary=vocabulary)
    assert all(token in watched.requests[key].observation.actions for key, token in watched.chosen.items())
    has_forced = any(len(request.observation.actions) == 1 for request in watched.requests.values())
    assert has_forced <= watched.plays_forced
    assert sorted(number for _, _, number in watched.requests) == list(range(len(watched.requests)))


def scores_of(policy: Policy, requests: Sequence[ActRequest]) -> list[np.ndarray]:
    """Returns the scores of the policy outside of the arena."""
    columns = columns_of_observations([request.observation for request in requests], policy.vocabulary)
    return [prediction.score for prediction in policy.predict(policy.batch(columns))]


@pytest.mark.parametrize("kind", ["greedy", "absolute seats", "advantage"])
def test_a_policy_takes_the_action_of_the_highest_score(kind: str, names: Names) -> None:
    _, watched = played(names[kind], GAMES[:1], together=1, most=60)
    for (key, request), score_A in zip(
        watched.requests.items(), scores_of(plain_policy(names[kind]), list(watched.requests.values())), strict=True
    ):
        place = request.observation.actions.index(watched.chosen[key])
        assert score_A[place] >= score_A.max() - 1e-4


def plain_policy(name: str) -> Policy:
    """Returns the policy of a specification, without cached events."""
    from kanachan.inference.advantage_policy import AdvantagePolicy

    spec = parse_agent(name)
    policies = [Policy.load(path) for path in spec.files]
    return policies[0] if len(policies) == 1 else AdvantagePolicy(*policies, spec.points)


@pytest.mark.parametrize(
    ("vocabulary", "use_bf16", "largest", "typical"),
    [(V, False, 1e-4, 1e-5), (V, True, 0.5, 0.05), (V3, False, 1e-4, 1e-5)],
)
def test_scores_with_cached_events_equal_those_computed_from_scratch(
    vocabulary: Vocabulary, use_bf16: bool, largest: float, typical: float, names_of: Mapping[str, Names]
) -> None:
    found: dict[tuple[GameKey, int, int], np.ndarray] = {}
    names = names_of[vocabulary.name]
    player = make_agent(parse_agent(names["greedy"]), SeededSampler(0, "A"), vocabulary, use_bf16=use_bf16)
    assert isinstance(player, PolicyAgent)
    _, watched = played("random", GAMES, together=3, most=120, vocabulary=vocabulary)
    for key, request in watched.requests.items():
        (found[key],) = evaluated(player, [request])
    wanted = scores_of(plain_policy(names["greedy"]), list(watched.requests.values()))
    assert max(len(s.observation.progression) for s in watched.requests.values()) > 40
    difference = np.concatenate(list(found.values())) - np.concatenate(wanted)
    assert np.concatenate(wanted).std() > 1
    assert np.abs(difference).max() < largest
    assert np.sqrt((difference**2).mean()) < typical


@pytest.mark.parametrize(("kind", "use_bf16"), [("greedy", False), ("greedy", True), *((kind, False) for kind in INT8)])
def test_a_score_does_not_depend_on_the_rest_of_its_batch(kind: str, use_bf16: bool, names: Names) -> None:
    _, watched = played("random", GAMES, together=3, most=120)
    by_number: dict[int, list[ActRequest]] = {}
    for (_, _, number), request in watched.requests.items():
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
    _, watched = played("random", GAMES[:1], together=1)
    (request,) = [s for s in watched.requests.values() if len(s.observation.actions) > 8][:1]
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


def test_two_players_of_one_name_draw_different_random_numbers(names: Names) -> None:
    _, watched = played("random", GAMES[:1], together=1)
    drawn = [[SeededSampler(0, letter).of(request) for request in watched.requests.values()] for letter in "AB"]
    assert not set(drawn[0]) & set(drawn[1])
    assert 0.35 < np.mean(drawn) < 0.65


# External programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "habit, error, message",
    [
        (
            "wins",
            IllegalAction,
            r"illegal action in wall 0, seating 1, East \d honba \d, tiles left \d+, seat 1: .*hora",
        ),
        (
            "declares",
            IllegalAction,
            r"illegal action in wall 0, seating 1, East 1 honba 0, tiles left \d+, seat 1: {.*reach[^}]*}; possible: ",
        ),
        ("ends", ValueError, "the program has ended, with status 3"),
        ("babbles", ValueError, "an mjai event expected as answer, not b'hello'"),
    ],
)
def test_a_program_that_errs_is_named_with_the_situation(habit: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        played(mjai(habit), GAMES[:1], together=1)
    assert "mjai_seat.py" in str(raised.value)


ANSWERS_WHEN_IT_ACTS = """
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "tsumo" and event["actor"] == int(sys.argv[1]):
        print(json.dumps({"type": "dahai", "pai": event["pai"]}), flush=True)
"""


def test_a_program_that_answers_only_where_it_can_act_is_understood() -> None:
    program = Program([sys.executable, "-c", ANSWERS_WHEN_IT_ACTS], 2, 4, answers_all=False)
    try:
        program.send([{"type": "start_game"}, {"type": "tsumo", "actor": 2, "pai": "5m"}])
        assert program.answer()["pai"] == "5m"
        dahai = {"type": "dahai", "actor": 2, "pai": "5m"}
        program.send([dahai, {"type": "tsumo", "actor": 1, "pai": "?"}, {"type": "tsumo", "actor": 2, "pai": "6m"}])
        assert program.answer()["pai"] == "6m"
    finally:
        program.close()


def test_a_program_that_closes_its_output_is_named() -> None:
    with Stopped(Program(["bash", "-c", "exec 1>&-; sleep 60"], 3, 4, answers_all=False)) as program:
        program.send([{"type": "start_game"}])
        with pytest.raises(ValueError, match="bash .* has closed its input or output, but has not ended"):
            program.answer()


PONS = """
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    answer = {"type": "none"}
    if event["type"] == "dahai" and event["actor"] == 0:
        consumed = {"plain": ["5m", "5m"], "red": ["5mr", "5m"]}[sys.argv[1]]
        answer = {"type": "pon", "actor": 2, "target": 0, "pai": "5m", "consumed": consumed}
    if event["type"] == "tsumo" and event["actor"] == 2:
        answer = {"type": "dahai", "actor": 2, "pai": event["pai"], "tsumogiri": True}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("wanted", ["plain", "red"])
def test_a_program_has_the_pon_that_it_wants(wanted: str) -> None:
    table = Table.of_round("mjsoul", start_of_round(), wall_of_deal(("5m", "", "055m"), "7z"), V)
    table.step({at: choice.move for at, choice in Script("0 discard 5m").choose(table.turns).items()})
    (turn,) = [turn for turn in table.turns if turn.seat == 2]
    request = ActRequest(GameKey(0, 0), 0, turn, Observation((), (), (), ()), opening_of_round())
    player = make_agent(parse_agent(f"mjai:{sys.executable} -c {shlex.quote(PONS)} {wanted}"), SeededSampler(0, "A"), V)
    try:
        (action,) = player.act([request])
    finally:
        player.close()
    skip = V.action["skip"].first
    table.step({other.seat: other.options[action.token if other is turn else skip][0] for other in table.turns})
    (meld,) = table.turns[0].observation.melds[2]
    assert any(tile in RED_IDS for tile in meld.tiles) == (wanted == "red")


def test_a_program_without_a_request_in_the_last_round_receives_the_end_of_the_game(tmp_path: Path) -> None:
    """After a ron on the first discard the others have no turn."""
    path = tmp_path / "received"
    program = Program(
        [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').writelines(sys.stdin)", str(path)], 3, 4
    )
    seated = _Seated(program)
    first = [{"type": "start_game"}, *({"type": kind, "actor": 0} for kind in ("start_kyoku", "tsumo", "dahai"))]
    rest = [{"type": kind, "actor": 1} for kind in ("hora", "end_kyoku")]
    last = [{"type": kind, "actor": 0} for kind in ("start_kyoku", "tsumo", "dahai", "hora", "end_kyoku", "end_game")]
    seated._new([dict(event) for event in first])
    seated.end([dict(event, pai="1m", tehais=[["1m"]] * 4) for event in (*first, *rest, *last)])
    program.close()
    received = [json.loads(line)["type"] for line in path.read_text().splitlines()]
    assert received == [event["type"] for event in (*rest, *last)]


def test_the_seat_replaces_its_placeholder_or_is_appended() -> None:
    for command in (["{seat}x"], ["--seat={seat}", "y"]):
        with Stopped(Program(["echo", *command], 3, 4)) as program:
            assert program.name == " ".join(["echo", *command]).replace("{seat}", "3")
    with Stopped(Program(["echo", "x"], 3, 4)) as program:
        assert program.name == "echo x 3"


class Stopped:
    def __init__(self, program: Program) -> None:
        self._program = program

    def __enter__(self) -> Program:
        return self._program

    def __exit__(self, *error: object) -> None:
        self._program.close()


# Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message",
    [
        ("rule:timid", "no such temperament; there are steady"),
        ("mjai:", "a command expected"),
        ("no/such/folder", "no player of this name, and no weights there"),
        ("{weights}@0", "a temperature must be a positive number, not 0"),
        ("{weights}+nothing~5", "no player of this name, and no weights there"),
        ("no/such/folder!int8", "no player of this name, and no weights there"),
        ("{weights}+{weights}!int8~5", "!int8 is for WEIGHTS alone, not together with VALUES"),
        ("{weights}!adapt=0", "a number of roll-outs, at least 2, expected behind !adapt=, such as 32, not '0'"),
        ("{weights}!adapt=many", "a number of roll-outs, .* not 'many'"),
        ("{weights}!adapt=8!int8", "int8 matrices cannot be adapted"),
        ("{weights}!int8!adapt=8", "int8 matrices cannot be adapted"),
        ("{weights}+{weights}!adapt=8~5", "!adapt is for WEIGHTS alone, not together with VALUES"),
        ("{weights}+{weights}~5!adapt=8", "!adapt is for WEIGHTS alone, not together with VALUES"),
        ("{weights}+{weights}~5!int8", "!int8 is for WEIGHTS alone, not together with VALUES"),
        ("rule:careful!adapt=8", "only WEIGHTS can be adapted, not rule:careful"),
        ("no/such/folder!adapt=8", "no player of this name, and no weights there"),
    ],
)
def test_a_name_that_is_none_is_refused(text: str, message: str, names: Names) -> None:
    with pytest.raises(ValueError, match=message):
        parse_agent(text.format(weights=names["greedy"]))


def test_a_path_that_looks_like_a_temperature_is_a_path(tmp_path: Path) -> None:
    weights = written(tmp_path / "run@0.5")
    assert parse_agent(str(weights.parent)).temperature is None
    assert parse_agent(f"{weights.parent}@2").temperature == 2


def test_int8_comes_before_the_temperature(names: Names) -> None:
    spec = parse_agent(f"{names['greedy']}!int8@0.7")
    assert (spec.files, spec.is_int8, spec.temperature) == ([names["greedy"]], True, 0.7)


def test_the_number_of_rollouts_comes_before_the_temperature(names: Names) -> None:
    spec = parse_agent(f"{names['greedy']}!adapt=32@0.7")
    assert (spec.files, spec.rollouts, spec.temperature) == ([names["greedy"]], 32, 0.7)


def test_the_parts_of_a_name_are_read(names: Names) -> None:
    spec: AgentSpec = parse_agent(names["advantage"] + "@1.5")
    assert (spec.points, spec.temperature) == (20, 1.5)
    assert [Path(path).parent.name for path in spec.files] == ["imitation", "values"]


def test_values_without_a_prior_of_imitation_are_refused(names: Names) -> None:
    prior, _, rest = names["advantage"].partition("+")
    values = rest.partition("~")[0]
    make: Callable[[], object] = lambda: make_agent(parse_agent(f"{values}+{prior}~5"), SeededSampler(0, "A"), V)  # noqa: E731
    with pytest.raises(ValueError, match="a network after rank is not a prior"):
        make()
