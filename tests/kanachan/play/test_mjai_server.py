"""kanachan-bot answers each line with one line, as in Mortal's protocol, and plays the actions of its network."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotate.game.features import ObservationEncoder
from annotate.game.mjai_actions import choice_of_event
from annotate.game.record import Event
from annotate.game.tiles import TILE_OF_MJAI
from annotate.records.reading import read_games
from annotate.simulation.simulate import rounds_of, simulate_game
from annotate.vocabulary import Vocabulary, is_red, tile34_of
from kanachan.config import StageName
from kanachan.inference.policy import Policy
from kanachan.objectives.stages import STAGES
from kanachan.play.mjai_bot import MjaiBot
from kanachan.play.mjai_server import Bot
from kanachan.play.mortal_meta import mask_action
from tests.support.bots import END_OF_ROUND, START, answers, bot_of, stream
from tests.support.mjai_table import V, hidden_from, turns
from tests.support.rare_rounds import TENPAI
from tests.support.real_records import real_records
from tests.support.rounds import DULL, V3, play_round
from tests.support.rounds import words as words_of
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of imitation for three players."""
    return written(tmp_path_factory.mktemp("weights"), vocabulary=V3)


@pytest.fixture(scope="module")
def rounds() -> list[list[Event]]:
    return rounds_of(simulate_game(V, 5, 0, style=0, annotated=False).events)


@pytest.mark.parametrize("kind", ["imitation", "grading", "imitation of three"])
def test_the_bot_decides_whole_games_as_its_network_does_on_the_record(
    weights: dict[StageName, Path], of_three: Path, kind: str
) -> None:
    path = {**weights, "imitation of three": of_three}[kind]
    policy = Policy.load(path)
    vocabulary = policy.vocabulary
    game = simulate_game(vocabulary, 5, 1, style=0, room=4, grades=(14,) * vocabulary.num_seats)
    for seat in (0, vocabulary.num_seats - 1):
        own = [a for a in game.annotations if vocabulary.sparse["seat"].token(seat) in a.sparse]
        wanted = [a.actions[int(p.score.argmax())] for a, p in zip(own, policy.predictions(own), strict=True)]
        bot = bot_of(path, seat, style=0)
        assert bot.answer(json.dumps(START)) == {"type": "none"}
        found: list[int] = []
        for events in rounds_of(game.events):
            turn_of = {id(event): turn for _, event, turn in turns(seat, events, vocabulary=vocabulary)}
            for event in events:
                answer, turn = bot.answer(json.dumps(hidden_from(seat, event))), turn_of.get(id(event))
                if turn is None:
                    assert answer == {"type": "none"}
                elif len(turn.options) > 1 and event["type"] != "reach":
                    # for a riichi, the answer to its echo has the discard
                    token = wanted[len(found)] if answer["type"] == "reach" else None
                    found.append(token or choice_of_event(turn, answer, vocabulary).token)
        assert found == wanted and len(found) > 20


def test_riichi_is_declared_and_its_discard_answers_the_echo(weights: dict[StageName, Path]) -> None:
    events = play_round("0 riichi 8m", [TENPAI, *DULL[1:]], "8m").events
    bot = bot_of(weights["imitation"], 0)
    found = answers(bot, [START, *events[:3]])
    assert events[2]["type"] == "reach"
    discard = found[3]
    assert discard["type"] == "dahai" and "tsumogiri" in discard
    assert found[2]["meta"]["mask_bits"] >> 37 & 1 and not discard["meta"]["mask_bits"] >> 37 & 1


@pytest.mark.parametrize("stage", STAGES)
def test_meta_has_a_value_for_each_bit_and_the_action_has_the_highest(
    weights: dict[StageName, Path], stage: StageName, rounds: list[list[Event]]
) -> None:
    metas = 0
    for answer in answers(bot_of(weights[stage], 3), stream(3, rounds[:2])):
        meta = answer.get("meta", {})
        if "q_values" not in meta:
            continue
        bits = [bit for bit in range(46) if meta["mask_bits"] >> bit & 1]
        assert len(bits) == len(meta["q_values"])
        assert meta["is_greedy"] and meta["batch_size"] == 1 and meta["eval_time_ns"] > 0
        assert 0 <= meta["shanten"] <= 6 and isinstance(meta["at_furiten"], bool)
        best = meta["candidates"][int(np.argmax(meta.get("probabilities") or meta["expected_points"]))]
        assert best["type"] == answer["type"] and best.get("pai") == answer.get("pai", best.get("pai"))
        assert len(meta["candidates"]) == len(meta.get("probabilities") or meta["expected_points"])
        assert ("probabilities" in meta) == (stage == "imitation")
        assert ("rank_probabilities" in meta) == (stage == "rank")
        metas += 1
    assert metas > 20


OF_FOUR = {"discard 1m": 0, "discard 5m": 4, "discard 0m": 34, "cut 9s": 26, "cut 0s": 36, "discard 7z": 33}
OF_FOUR |= {"riichi 3p": 37, "riichi-cut 0p": 37, "chi 56m": 38, "chi 46m": 39, "chi 34m": 40, "chi 06m": 38}
OF_THREE = {"discard 9m": 8, "riichi 3p": 37, "pon": 38, "ankan 5p": 39, "kita": 40, "ron": 41, "kyushu": 42}
"""with three players there are 44 actions: no chi, but setting a North aside"""


@pytest.mark.parametrize(("vocabulary", "actions"), [(V, OF_FOUR), (V3, OF_THREE)], ids=["four", "three"])
def test_the_mask_uses_mortals_action_numbers(vocabulary: Vocabulary, actions: dict[str, int]) -> None:
    for words, action in actions.items():
        tokens = [token for token in range(vocabulary.action.size) if words_of(token, vocabulary) == words]
        assert action in {mask_action(token, vocabulary) for token in tokens}, words


def test_sampled_choices_depend_on_the_seed_and_are_not_always_the_best(
    weights: dict[StageName, Path], rounds: list[list[Event]]
) -> None:
    def play(seed: int) -> list[Event]:
        found = answers(bot_of(weights["imitation"], 0, sampling=1.0, seed=seed), stream(0, rounds[:1]))
        return [{**a, "meta": a["meta"]["is_greedy"]} for a in found if "meta" in a]

    played = play(1)
    assert played == play(1) != play(2)
    assert {answer["meta"] for answer in played} == {True, False}


def test_the_mask_always_includes_the_players_action(weights: dict[StageName, Path], rounds: list[list[Event]]) -> None:
    num_done = 0
    for seat in range(4):
        bot = bot_of(weights["imitation"], seat)
        bot.answer(json.dumps(START))
        for events in rounds[:2]:
            meta: Any = None
            for event in events:
                if event.get("actor") == seat and event["type"] not in ("tsumo", "reach_accepted"):
                    assert meta["mask_bits"] >> bit_of(event) & 1, event
                    assert "kan_select" in meta or event["type"] not in ("ankan", "kakan")
                    num_done += 1
                answer = bot.answer(json.dumps(event))
                if event["type"] not in ("reach_accepted", "dora"):
                    meta = answer.get("meta")
    assert num_done > 60


def bit_of(event: Event) -> int:
    """Returns which of the 46 actions an event belongs to."""
    if event["type"] == "dahai":
        tile = TILE_OF_MJAI[event["pai"]]
        return 34 + tile // 10 if is_red(tile) else tile34_of(tile)
    if event["type"] == "chi":
        held = [tile34_of(TILE_OF_MJAI[name]) for name in event["consumed"]]
        return 38 + sum(tile < tile34_of(TILE_OF_MJAI[event["pai"]]) for tile in held)
    return {"reach": 37, "pon": 41, "daiminkan": 42, "ankan": 42, "kakan": 42, "hora": 43}[event["type"]]


@pytest.mark.parametrize(
    "line, message",
    [
        ("nonsense", "not JSON"),
        ("[1]", "an object"),
        ('{"type":"tsumo","actor":0,"pai":"1m"}', "outside of a round"),
        ('{"type":"start_kyoku"}', "missing"),
        ('{"type":"start_game","names":["a","b","c"]}', "a game of 3 players: these weights play games of 4"),
        ('{"type":"start_game","id":3}', "seat 0"),
        ('{"type":"what"}', "an unknown type of event"),
        ("\udcff", "not JSON"),
    ],
)
def test_a_wrong_line_is_answered_with_an_error_and_the_next_game_is_played(
    weights: dict[StageName, Path], rounds: list[list[Event]], line: str, message: str
) -> None:
    bot = bot_of(weights["imitation"], 0)
    bot.answer(json.dumps(START))
    answer = bot.answer(line)
    assert answer["type"] == "error" and message in answer["message"]
    found = answers(bot, stream(0, [rounds[0][:20]]))
    assert "error" not in {answer["type"] for answer in found}
    assert any("meta" in answer for answer in found)


def test_after_an_error_all_lines_are_refused_until_the_next_round(
    weights: dict[StageName, Path], rounds: list[list[Event]]
) -> None:
    bot = bot_of(weights["imitation"], 0)
    first, second = rounds[:2]
    received = [START, *(hidden_from(0, event) for event in [first[0], first[1], first[1], *first[2:]])]
    found = [answer["type"] for answer in answers(bot, received)]
    assert "error" not in found[:3] and set(found[3:]) == {"error"}
    assert "error" not in {answer["type"] for answer in answers(bot, [hidden_from(0, event) for event in second])}


def test_after_an_error_the_scores_of_the_next_round_follow_from_the_payments(
    weights: dict[StageName, Path], rounds: list[list[Event]]
) -> None:
    seen = []
    for wrong in ([], [rounds[0][1]]):
        bot = bot_of(weights["imitation"], 0)
        bot._player.start_round = lambda start: seen.append(start["scores"])  # type: ignore[method-assign]
        lines = [START, *(hidden_from(0, event) for event in [*rounds[0][:2], *wrong, *rounds[0][2:], rounds[1][0]])]
        answers(bot, [{name: value for name, value in line.items() if name != "scores"} for line in lines])
    assert seen == [rounds[0][0]["scores"], rounds[1][0]["scores"]] * 2


@pytest.mark.records
def test_a_real_game_is_followed(weights: dict[StageName, Path]) -> None:
    (game,) = read_games(str(real_records("tenhou/houou-4p-2021")[0]))
    player = MjaiBot(Policy.load(weights["imitation"]), 2, "tenhou", ObservationEncoder(V, 4, 1, (14,) * 4))
    found = answers(Bot(player), stream(2, [r.events for r in game.rounds], is_open=True))
    assert "error" not in {answer["type"] for answer in found}


def test_an_array_of_events_is_answered_once(weights: dict[StageName, Path], rounds: list[list[Event]]) -> None:
    lines = stream(0, rounds[:1])
    bots = [bot_of(weights["imitation"], 0) for _ in "ab"]
    single = [bots[0].answer(json.dumps(event)) for event in lines]
    places = [i for i, found in enumerate(single) if found["type"] not in ("none", "error")][:5]
    assert len(places) == 5
    first = 0
    for place in places:
        together = bots[1].answer(json.dumps(lines[first : place + 1]))
        assert without_time(together) == without_time(single[place])
        first = place + 1


def without_time(answer: Event) -> Event:
    return {**answer, "meta": {key: value for key, value in answer["meta"].items() if key != "eval_time_ns"}}


def test_the_reference_server_is_joined_and_assigns_the_seat(
    weights: dict[StageName, Path], rounds: list[list[Event]]
) -> None:
    player = MjaiBot(Policy.load(weights["imitation"]), 0, "mjsoul", ObservationEncoder(V, 4, 1, (14,) * 4))
    bot = Bot(player)
    hello = {"type": "hello", "protocol": "mjsonp", "protocol_version": 3}
    assert bot.answer(json.dumps(hello))["type"] == "join"
    start, *events = [{k: v for k, v in e.items() if k != "scores"} for e in stream(2, rounds[:1])]
    found = answers(bot, [{**start, "id": 2}, *events])
    assert "error" not in {answer["type"] for answer in found}
    assert {answer["actor"] for answer in found if "actor" in answer} == {2}


@pytest.fixture(scope="module")
def rounds_of_three() -> list[list[Event]]:
    return rounds_of(simulate_game(V3, 5, 0, style=0, annotated=False).events)


def with_a_fourth_seat(event: Event) -> Event:
    """Returns an event as programs with four seats write it, with their word for setting a North aside."""
    empty = {"names": "", "scores": 0, "tehais": ["?"] * 13, "deltas": 0}
    padded = {name: [*event[name], empty[name]] for name in empty.keys() & event.keys()}
    return {**event, **padded, "type": "nukidora" if event["type"] == "kita" else event["type"]}


def test_norths_are_set_aside_at_a_table_of_three(of_three: Path, rounds_of_three: list[list[Event]]) -> None:
    lines = [START, *(hidden_from(0, event) for events in rounds_of_three for event in [*events, END_OF_ROUND])]
    found = answers(bot_of(of_three, 0, sampling=5.0), lines)
    assert "error" not in {answer["type"] for answer in found}
    norths = [answer for answer in found if answer["type"] == "kita"]
    assert norths and all((answer["actor"], answer["pai"]) == (0, "N") for answer in norths)
    assert all(answer["meta"]["mask_bits"] >> 40 & 1 for answer in norths)


def test_an_empty_fourth_seat_and_nukidora_change_nothing(of_three: Path, rounds_of_three: list[list[Event]]) -> None:
    start = {"type": "start_game", "names": ["a", "b", "c"]}
    lines = [start, *(hidden_from(1, event) for events in rounds_of_three for event in [*events, END_OF_ROUND])]
    assert any(line["type"] == "kita" for line in lines)
    plain, padded = (
        [{**answer, "meta": answer.get("meta", {}).get("q_values")} for answer in answers(bot_of(of_three, 1), events)]
        for events in (lines, list(map(with_a_fourth_seat, lines)))
    )
    assert plain == padded


def test_a_table_of_another_number_of_players_is_refused(
    weights: dict[StageName, Path], of_three: Path, rounds: list[list[Event]], rounds_of_three: list[list[Event]]
) -> None:
    (*_, at_four) = answers(bot_of(of_three, 0), [START, hidden_from(0, rounds[0][0])])
    assert at_four["message"] == "start_kyoku: a game of 4 players: these weights play games of 3"
    (*_, at_three) = answers(bot_of(weights["imitation"], 0), [START, hidden_from(0, rounds_of_three[0][0])])
    assert at_three["message"] == "start_kyoku: a game of 3 players: these weights play games of 4"
    kita = {"type": "kita", "actor": 0, "pai": "N"}
    (*_, north) = answers(bot_of(weights["imitation"], 0), [START, hidden_from(0, rounds[0][0]), kita])
    assert north["message"] == "kita: not possible with 4 players"
