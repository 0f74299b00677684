"""Networks that another process computes: the same bits as in this process."""

import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from annotate.runtime.signals import StopRequest
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.data.played_games import PlayedGame
from kanachan.play.agent import SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.inference_server import InferenceServer, RemoteNetwork, _Networks, _Opening
from kanachan.play.match import Precision
from kanachan.play.policy_agent import PolicyAgent
from kanachan.play.roller import Roller
from kanachan.play.selfplay import SelfPlay
from tests.support.tiny_weights import written


@pytest.fixture(scope="module")
def server() -> Iterator[InferenceServer]:
    with closing(InferenceServer("cpu")) as started:
        yield started


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    return {
        "imitation": str(written(folder / "imitation")),
        "rank": str(written(folder / "rank", "rank", seed=1)),
        "imitation of three": str(written(folder / "three", vocabulary=THREE_PLAYERS)),
        "values of three": str(written(folder / "three-values", "round_delta", seed=1, vocabulary=THREE_PLAYERS)),
    }


def played(roller: Roller, *numbers: int) -> list[tuple[int, PlayedGame]]:
    return sorted(roller(iter(numbers), StopRequest()))


@pytest.mark.parametrize(
    ("vocabulary", "prior", "values", "precision"),
    [
        (FOUR_PLAYERS, "imitation", "rank", "fp32"),
        (FOUR_PLAYERS, "imitation", "rank", "bf16"),
        (THREE_PLAYERS, "imitation of three", "values of three", "fp32"),
    ],
)
def test_games_are_the_same_as_with_networks_in_the_process_for_several_workers_at_a_time(
    server: InferenceServer,
    weights: dict[str, str],
    vocabulary: Vocabulary,
    prior: str,
    values: str,
    precision: Precision,
) -> None:
    players = (f"{weights[prior]}@0.7", f"{weights[prior]}+{weights[values]}~20@1", "rule")
    settings = SelfPlay(vocabulary=vocabulary, players=players, shares=(0.2, 0.2, 0.6), explore=0.05, style=0)
    roller = Roller(selfplay=replace(settings, precision=precision))
    expected = played(roller, 0, 1)
    assert all(game.rows and game.failure is None for _, game in expected)
    with ThreadPoolExecutor(2) as workers:
        remote = replace(roller, server=server.address)
        found = list(workers.map(lambda number: played(remote, number), (0, 1)))
    assert [game for of_worker in found for game in of_worker] == expected


def test_the_networks_are_not_in_the_worker(server: InferenceServer, weights: dict[str, str]) -> None:
    spec = parse_agent(weights["imitation"])
    agent = make_agent(spec, SeededSampler(0, "A"), FOUR_PLAYERS, "cuda:7", server=server.address)
    assert isinstance(agent, PolicyAgent)
    (network,) = agent.policy._networks
    assert isinstance(network, RemoteNetwork) and not list(network.parameters())


@pytest.mark.parametrize("use_bf16", [False, True])
def test_workers_share_a_network_and_no_cache(use_bf16: bool, weights: dict[str, str]) -> None:
    networks, opening = _Networks(torch.device("cpu")), _Opening(weights["imitation"], 100, 100, use_bf16)
    one, other = networks._opened(opening), networks._opened(opening)
    assert all(a is b for a, b in zip(one.parameters(), other.parameters(), strict=True))
    for network, num_slots in ((one, 2), (other, 3)):
        network.reserve(num_slots)
    pairs = list(zip(one._layers, other._layers, strict=True))
    assert all(len(a) == 300 and len(b) == 400 and a.data_ptr() != b.data_ptr() for a, b in pairs)


def test_an_error_in_the_server_is_raised_in_the_worker(server: InferenceServer, tmp_path: Path) -> None:
    network = RemoteNetwork(server.address, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="nothing: no such file"):
        network.with_cache(1, 1, use_bf16=False)


def test_a_server_that_was_killed_is_reported(weights: dict[str, str]) -> None:
    with closing(InferenceServer("cpu")) as server:
        network = RemoteNetwork(server.address, weights["imitation"]).with_cache(100, 100, use_bf16=False)
        process = server._process
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with pytest.raises(OSError, match="the process that computes the networks has ended"):
            network.reserve(2)
        with pytest.raises(OSError, match="the process that computes the networks has ended"):
            RemoteNetwork(server.address, weights["imitation"])


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = InferenceServer("cpu")
    assert len(list(tmp_path.iterdir())) == 1
    server.close()
    assert list(tmp_path.iterdir()) == [] and not server._process.is_alive()
