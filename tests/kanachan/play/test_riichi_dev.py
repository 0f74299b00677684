"""kanachan-bot at an arena over a WebSocket. The server here is our own, uses RiichiEnv, and also misbehaves."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="the extra `connect` is not installed")
from riichienv import RiichiEnv
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.bot import main
from kanachan.play import riichi_dev
from kanachan.play.riichi_dev import chosen_option
from tests.support.tiny_weights import written

TOKEN = "secret"
SEAT = 2


class Table:
    """A game in which the client plays one seat, and the first legal action is played for the others."""

    def __init__(self, mode: str = "4p-red-east", seed: int = 1) -> None:
        self.env = RiichiEnv(game_mode=mode, seed=seed)
        self.requests = 0
        self.illegal: list[str] = []
        self.blind = 0
        """discards that the bot has not chosen itself"""
        self.kinds: set[str] = set()
        self._seen = 0
        self._observations = self.env.reset()

    def advance(self, answer: Callable[[dict[str, Any]], dict[str, Any]], send: Callable[[str], None]) -> None:
        """Plays to the end of the game."""
        while not self.env.done():
            for event in self._observations[SEAT].new_events() if SEAT in self._observations else []:
                event = json.loads(event)
                if event["type"] == "start_game":
                    event["id"] = SEAT
                send(json.dumps(event))
            actions = {}
            for seat, observation in self._observations.items():
                legal = observation.legal_actions()
                actions[seat] = legal[0]
                if seat == SEAT:
                    options = [json.loads(action.to_mjai()) for action in legal]
                    self.requests += 1
                    given = answer({"type": "request_action", "request_id": self.requests, "possible_actions": options})
                    assert given.pop("request_id") == self.requests
                    meant = [number for number, option in enumerate(options) if option.items() <= given.items()]
                    if not meant:
                        self.illegal.append(f"{given} of {options}")
                    else:
                        actions[seat] = legal[meant[0]]
                        self.kinds.add(given["type"])
                    self.blind += given["type"] == "dahai" and "tsumogiri" not in given
                    send(json.dumps({"type": "action_ack", "request_id": self.requests, "status": "accepted"}))
            self._observations = self.env.step(actions)
        send(json.dumps({"type": "end_game", "scores": list(self.env.scores())}))


@contextmanager
def server(handler: Callable[[ServerConnection], None]) -> Iterator[str]:
    def checked(connection: ServerConnection, request: Request) -> Response | None:
        is_known = request.headers.get("Authorization") == f"Bearer {TOKEN}"
        return None if is_known else connection.respond(401, "no such token\n")

    with serve(handler, "127.0.0.1", 0, process_request=checked) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{running.socket.getsockname()[1]}"
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("weights")))


@pytest.fixture(scope="module")
def plain(weights: str, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A game that was played without any trouble."""
    table, token = Table(), tmp_path_factory.mktemp("plain") / "token"
    token.write_text(TOKEN)
    with server(lambda connection: table.advance(asked(connection), connection.send)) as url:
        assert main([weights, "--connect", url, "--token-file", str(token)]) == 0
    return table


def asked(connection: ServerConnection) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def ask(request: dict[str, Any]) -> dict[str, Any]:
        connection.send(json.dumps(request))
        found: dict[str, Any] = json.loads(connection.recv(timeout=20))
        return found

    return ask


@pytest.mark.parametrize(
    "vocabulary, mode, code",
    [(FOUR_PLAYERS, "4p-red-east", 1000), (THREE_PLAYERS, "3p-red-east", 1001)],
    ids=["four", "three"],
)
def test_a_game_is_played_to_its_end_with_only_legal_actions(
    vocabulary: Vocabulary, mode: str, code: int, token: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(mode)
    weights = str(written(tmp_path / "weights", vocabulary=vocabulary))

    def play_and_close(connection: ServerConnection) -> None:
        table.advance(asked(connection), connection.send)
        connection.close(code)  # also a server that goes away (1001) after the game ends the program

    with server(play_and_close) as url:
        assert main([weights, "--connect", url, "--token-file", str(token)]) == 0
    assert table.env.done() and table.illegal == [] and table.blind == 0 and table.requests > 20
    assert {"dahai", "none"} <= table.kinds
    error = capsys.readouterr().err
    assert "game 1 has ended" in error and "as drawn" not in error


def test_repeated_and_invalid_frames_do_no_harm(weights: str, plain: Table, token: Path) -> None:
    disturbed = Table()

    def disturb(connection: ServerConnection) -> None:
        def send(text: str) -> None:
            for frame in (text, text, "{", "[1]", '{"type":"request_action","request_id":0}'):
                connection.send(frame)

        def ask(request: dict[str, Any]) -> dict[str, Any]:
            first = asked(connection)(request)
            assert asked(connection)(request) == first
            return first

        disturbed.advance(ask, send)

    with server(disturb) as url:
        assert main([weights, "--connect", url, "--token-file", str(token)]) == 0
    assert disturbed.illegal == [] and disturbed.env.scores() == plain.env.scores()
    assert disturbed.env.mjai_log == plain.env.mjai_log


def test_an_error_is_reported_once_until_the_bot_can_follow_again(
    weights: str, token: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    def outside_of_a_round(connection: ServerConnection) -> None:
        for event in (
            {"type": "start_game", "id": 1},
            *({"type": "dora", "dora_marker": f"{n}m"} for n in range(1, 9)),
        ):
            connection.send(json.dumps(event))

    with server(outside_of_a_round) as url:
        assert main([weights, "--connect", url, "--token-file", str(token)]) == 0
    assert capsys.readouterr().err.count("tiles are discarded as drawn") == 1


def test_a_game_goes_on_after_the_connection_was_cut(
    weights: str, plain: Table, token: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(riichi_dev, "FIRST_WAIT", 0.01)
    cut = Table()
    connections: list[ServerConnection] = []
    arrived = threading.Event()
    codes = cycle((1001, 1011))  # the server goes away, or has an error

    def wait_for_the_end(connection: ServerConnection) -> None:
        connections.append(connection)
        arrived.set()
        if len(connections) > 1:
            over.wait(60)
            return

        def ask(request: dict[str, Any]) -> dict[str, Any]:
            if cut.requests % 10 == 0:  # the client loses the connection, and connects again, before it has answered
                arrived.clear()
                connections[-1].socket.close() if len(connections) == 1 else connections[-1].close(next(codes))
                assert arrived.wait(20)
            return asked(connections[-1])(request)

        cut.advance(ask, lambda text: connections[-1].send(text))
        over.set()

    over = threading.Event()
    with server(wait_for_the_end) as url:
        assert main([weights, "--connect", url, "--token-file", str(token)]) == 0
    assert len(connections) > 2 and cut.illegal == []
    assert cut.env.mjai_log == plain.env.mjai_log
    assert "no connection (" in capsys.readouterr().err


def test_a_wrong_token_is_refused_and_an_unreachable_server_is_tried_several_times(
    weights: str,
    token: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(riichi_dev, "FIRST_WAIT", 0.01)
    other = tmp_path / "other"
    other.write_text("wrong")
    with server(lambda connection: None) as url:
        assert main([weights, "--connect", url, "--token-file", str(other)]) == 1
        assert "the server refuses the connection" in capsys.readouterr().err
    assert main([weights, "--connect", url, "--token-file", str(token)]) == 1
    assert f"cannot be reached, after {riichi_dev.MOST_ATTEMPTS} attempts" in capsys.readouterr().err


@pytest.mark.parametrize("proxy", ["nowhere", "socks5://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_an_error_of_the_user(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(ValueError, match=r"^wss://example\.org: cannot be connected to: "):
        riichi_dev.play(None, "wss://example.org", "token")  # type: ignore[arg-type]  # not used before


DISCARDS = [{"type": "dahai", "pai": "1m"}, {"type": "dahai", "pai": "N", "tsumogiri": True}]


@pytest.mark.parametrize(
    "answer, options, expected",
    [
        ({"type": "error", "message": ""}, [*DISCARDS], 1),
        ({"type": "error", "message": ""}, [{"type": "pon"}, {"type": "pass"}], 1),
        ({"type": "dahai", "pai": "1m", "tsumogiri": False}, [*DISCARDS], 0),
        ({"type": "hora", "actor": 0}, [{"type": "chi"}, {"type": "none"}], 1),
        ({"type": "none"}, [{"type": "pon"}, {"type": "pass"}], 1),
        (
            {"type": "chi", "pai": "3m", "consumed": ["5mr", "4m"]},
            [
                {"type": "chi", "pai": "3m", "consumed": ["4m", "5m"]},
                {"type": "chi", "pai": "3m", "consumed": ["4m", "5mr"]},
            ],
            1,
        ),
        (
            {
                "type": "reach",
                "meta": {
                    "candidates": [{"type": "dahai", "pai": "N"}, {"type": "dahai", "pai": "1m"}],
                    "probabilities": [0.2, 0.3],
                },
            },
            [*reversed(DISCARDS)],
            1,
        ),
    ],
)
def test_the_answer_is_always_one_of_the_options(
    answer: dict[str, Any], options: list[dict[str, Any]], expected: int
) -> None:
    assert options[expected].items() <= chosen_option(answer, options).items()


def test_without_an_answer_the_drawn_tile_is_discarded_even_if_no_option_says_which_it_is() -> None:
    options = [{"type": "dahai", "pai": pai} for pai in ("1m", "9p", "E")]
    assert chosen_option({"type": "error", "message": ""}, options, "9p") == options[1]
