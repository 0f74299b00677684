"""Networks that another process computes give the same bits as in this process."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import Pipe, active_children
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from annotate.runtime.signals import StopRequest
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.data.played_games import PlayedGame
from kanachan.data.shards import OPTIONAL
from kanachan.data.sorted_runs import keyed_schema
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play.agent import GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.batch_shapes import CachedRow, Shape, batches_of_shape
from kanachan.play.game import Precision
from kanachan.play.inference_server import SharedNetworks, devices_of_servers, inference_servers
from kanachan.play.playing import Execution, GameStream
from kanachan.play.policy_agent import PolicyAgent
from kanachan.play.remote_network import Opening, RemoteNetwork, ServerAddress, _arrays
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import stream_of
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

SHAPE = Shape(112, 112, 19, 64, rows=8)
NUM_ROWS = SHAPE.rows * (1 + 4 + SHAPE.tiles + SHAPE.new)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerAddress]:
    with inference_servers(["cpu"]) as (address,):
        yield address


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    return {
        "imitation": str(written(folder / "imitation")),
        "rank": str(written(folder / "rank", "rank", seed=1)),
        "imitation of three": str(written(folder / "three", vocabulary=THREE_PLAYERS)),
        "values of three": str(written(folder / "three-values", "round_delta", seed=1, vocabulary=THREE_PLAYERS)),
    }


def played(stream: GameStream[PlayedGame], *numbers: int) -> dict[int, list[str]]:
    """Returns the rows of games by their number, sorted, as simultaneous decisions come in any order."""
    schema = keyed_schema(stream.series.vocabulary, OPTIONAL)
    games = {}
    for key, game in stream(iter([GameKey(number, 0) for number in numbers]), StopRequest()):
        length = int.from_bytes(game.rows[:8], "little")  # of the decisions, which precede the rounds
        rows = pa.ipc.read_record_batch(pa.py_buffer(game.rows[8 : 8 + length]), schema).to_pylist()
        games[key.wall] = sorted(map(str, rows))
    return games


@pytest.mark.parametrize(
    ("vocabulary", "prior", "values", "precision"),
    [
        (FOUR_PLAYERS, "imitation", "rank", "fp32"),
        pytest.param(FOUR_PLAYERS, "imitation", "rank", "bf16", marks=pytest.mark.slow),
        (THREE_PLAYERS, "imitation of three", "values of three", "fp32"),
    ],
)
def test_workers_that_share_a_server_play_the_same_games_as_with_their_own_networks(
    server: ServerAddress,
    weights: dict[str, str],
    vocabulary: Vocabulary,
    prior: str,
    values: str,
    precision: Precision,
) -> None:
    players = (f"{weights[prior]}@0.7", f"{weights[values]}@1", "rule")
    settings = SelfPlay(vocabulary=vocabulary, players=players, shares=(0.2, 0.2, 0.6), explore=0.05, style=0)
    stream = stream_of(replace(settings, precision=precision), Execution())
    expected = played(stream, 0, 1)
    assert all(expected.values())
    with ThreadPoolExecutor(2) as workers:
        remote = replace(stream, server=server)
        one, other = workers.map(lambda number: played(remote, number), (0, 1))
    assert one | other == expected


def test_a_worker_holds_no_network_parameters(server: ServerAddress, weights: dict[str, str]) -> None:
    spec = parse_agent(weights["imitation"])
    agent = make_agent(spec, SeededSampler(0, "A"), FOUR_PLAYERS, "cuda:7", server=server)
    assert isinstance(agent, PolicyAgent)
    network = agent.policy._network
    assert isinstance(network, RemoteNetwork) and not list(network.parameters())


def connected(networks: SharedNetworks, messages: Sequence[Any]) -> Connection:
    """Returns a worker's end of a connection through which the messages are sent."""
    ours, theirs = Pipe()
    for message in messages:
        ours.send(message)
    Thread(target=networks.receive, args=(theirs,), daemon=True).start()
    return ours


@pytest.mark.parametrize("use_bf16", [False, True])
def test_one_pass_over_the_rows_of_several_workers_gives_the_same_bits_as_separate_passes(
    use_bf16: bool, weights: dict[str, str]
) -> None:
    policy, opening = Policy.load(weights["imitation"]), Opening(weights["imitation"], 112, NUM_ROWS, use_bf16)
    observations = [annotation.observation for annotation in random_annotations(9, seed=4, games=2)]
    sent: list[list[Any]] = []
    for first in range(0, 9, 3):  # three workers, each of which numbers its slots 1, 2 and 3
        rows = [CachedRow(observation, 1 + slot, 0) for slot, observation in enumerate(observations[first : first + 3])]
        (batch,) = batches_of_shape(rows, SHAPE, policy)
        sent.append([opening, 4, [(SHAPE, _arrays(batch))]])

    def outputs(workers: list[list[Any]]) -> tuple[list[Any], int]:
        """Returns the outputs that the workers receive, and the number of passes."""
        networks, passes = SharedNetworks(torch.device("cpu")), 0

        def count(module: Any, *_: Any) -> None:
            nonlocal passes
            passes += isinstance(module, CachedNetwork)

        connections = [connected(networks, messages) for messages in workers]
        while networks._inbox.qsize() < sum(map(len, workers)):
            time.sleep(0.001)
        with register_module_forward_hook(count):
            Thread(target=networks.compute, daemon=True).start()
            return [[connection.recv() for _ in range(3)][2][0] for connection in connections], passes

    merged, passes = outputs(sent[:2])
    assert passes == 1
    whole, passes = outputs(sent)
    assert passes == 2  # nine rows do not fit into eight
    alone = [outputs([messages])[0][0] for messages in sent]
    for found, expected in zip([*merged, *whole], [*alone[:2], *alone], strict=True):
        assert all(map(np.array_equal, found, expected))


def test_slots_of_a_worker_that_has_ended_are_given_to_others(weights: dict[str, str]) -> None:
    networks, opening = SharedNetworks(torch.device("cpu")), Opening(weights["imitation"], 112, NUM_ROWS, False)
    one, other = (connected(networks, [opening, num_slots]) for num_slots in (3, 4))
    Thread(target=networks.compute, daemon=True).start()
    assert [worker.recv() for worker in (one, one, other, other)] == [None] * 4
    (loaded,) = networks._loaded.values()
    assert loaded.num_slots == 1 + 2 + 3 and not loaded.free
    one.close()
    while not loaded.free:
        time.sleep(0.01)
    third = connected(networks, [opening, 4])
    assert [third.recv(), third.recv()] == [None, None]
    assert loaded.num_slots == 1 + 3 + 3 and not loaded.free


def test_there_is_a_server_for_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    assert devices_of_servers("auto", 16) == devices_of_servers("cuda", 8) == [f"cuda:{gpu}" for gpu in range(8)]
    assert devices_of_servers("cuda", 2) == ["cuda:0", "cuda:1"]
    assert devices_of_servers("cuda:1", 16) == ["cuda:1"]


def test_an_error_in_the_server_is_raised_in_the_worker(server: ServerAddress, tmp_path: Path) -> None:
    network = RemoteNetwork(server, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="nothing: no such file"):
        network.with_cache(1, 1, use_bf16=False)


def test_a_server_that_was_killed_is_reported_and_leaves_nothing_behind(
    weights: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = active_children()
    with inference_servers(["cpu"]) as (address,):
        assert len(list(tmp_path.iterdir())) == 1
        network = RemoteNetwork(address, weights["imitation"]).with_cache(100, 100, use_bf16=False)
        (process,) = (each for each in active_children() if each not in before)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with pytest.raises(OSError, match="the process that computes the networks has ended"):
            network.reserve(2)
        with pytest.raises(OSError, match="the process that computes the networks has ended"):
            RemoteNetwork(address, weights["imitation"])
    assert list(tmp_path.iterdir()) == [] and not process.is_alive()
