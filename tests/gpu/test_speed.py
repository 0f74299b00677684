"""How fast a GPU is; figures are printed at the end of `pytest -m gpu`, and nothing is asserted of them.

Without a GPU a stand-in shows what merging rows gains: a CPU on which a pass of any size takes as long.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import Listener
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from annotate.runtime.resources import num_cores
from annotate.runtime.signals import StopRequest
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import DataConfig, OptimConfig
from kanachan.data.batch import batch_of_annotations
from kanachan.data.loader import Share, TrainLoader
from kanachan.data.pack_options import Packing
from kanachan.data.played_games import PlayedGames
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.models.kv_cache import CachedNetwork
from kanachan.play import inference_server
from kanachan.play.game import Precision
from kanachan.play.inference_server import SharedNetworks, accept_workers
from kanachan.play.playing import Execution
from kanachan.play.policy_agent import CachedPolicy
from kanachan.play.remote_network import RemoteNetwork, ServerAddress
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import run_selfplay, stream_of
from kanachan.training.compilation import compile_network
from kanachan.training.muon import MuonWithAdamW
from kanachan.training.optimizers import parameter_groups
from tests.support.on_device import Trainee, logged, packed, trained
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

pytestmark = pytest.mark.gpu
Figure = Callable[..., None]
PASS_SECONDS, ACTS = 0.02, 8


@pytest.mark.parametrize("precision, compiles", [("bf16", "false"), ("bf16", "true")])
@pytest.mark.parametrize(("size", "batch", "micro_batch"), [("small", 4096, 2048), ("base", 2048, 512)])
def test_training(
    gpu: torch.device, size: str, batch: int, micro_batch: int, precision: str, compiles: str, games: Path,
    tmp_path: Path, figure: Figure,
) -> None:  # fmt: skip
    given = ["--model.size", size, "--data.batch", str(batch), "--data.micro_batch", str(micro_batch)]
    given += ["--run.precision", precision, "--run.compile", compiles]
    given += ["--run.steps", "40", "--run.log_every", "10", "--run.validation_interval", str(40 * batch)]
    run = trained(tmp_path / "run", games, "imitation", *given)
    columns = {"decisions_s": "samples_per_second", "of_peak": "share_of_peak", "memory_gb": "memory_peak_gb"}
    figure(**{name: logged(run, f"train/{column}")[-1] for name, column in columns.items()})


@pytest.mark.parametrize("attention", ["padded", "packed"])
@pytest.mark.parametrize("size", ["small", "base", "large"])
def test_passes_of_whole_situations(gpu: torch.device, size: str, attention: str, games: Path, figure: Figure) -> None:
    num = 1024
    config = DataConfig(batch=num, micro_batch=num, neighbours=1)
    loader = TrainLoader(open_shards(games, "train"), config, 0, Share(0, 1), varlen=attention != "padded")
    trainee = Trainee(gpu, size, use_bf16=True)
    batches = [batch.to(gpu) for batch in islice(loader, 4)]
    with torch.inference_mode():
        for _ in range(2):  # the first warms up
            torch.cuda.synchronize()
            start = time.perf_counter()
            for batch in batches:
                trainee.output(batch)
            torch.cuda.synchronize()
    figure(decisions_s=num * len(batches) / (time.perf_counter() - start))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_selfplay(gpu: torch.device, device: str, precision: Precision, tmp_path: Path, figure: Figure) -> None:
    selfplay = SelfPlay(
        vocabulary=FOUR_PLAYERS, players=("reference@0.7",), shares=(1.0,), style=0, precision=precision, device=device
    )
    execution, num_games = Execution(backend="processes", device=device), 20 * num_cores()
    games = PlayedGames(tmp_path / "games", num_games, selfplay.as_json(), "", Packing(), FOUR_PLAYERS)
    with games.opened(force=True, restart=True):
        start = time.perf_counter()
        run_selfplay(stream_of(selfplay, execution), games, lambda _: None, StopRequest())
        seconds = time.perf_counter() - start
    figure(games_s=num_games / seconds, decisions_s=games.num_decisions / seconds, cores=num_cores())


class Operations(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not function.is_view
        return function(*args, **(kwargs or {}))


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 8])
def test_a_step_of_base(world: int, figure: Figure) -> None:
    """On the meta device, which computes shapes alone, and of processes of which only one is there."""
    torch.compiler.reset()
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    trainee, before = Trainee(torch.device("meta"), "base", use_bf16=False), counters["stats"]["unique_graphs"]
    compile_network(trainee.network, is_gpu=True, backend="eager")
    for number in range(12):
        annotations = random_annotations(64, seed=number, games=8 + number)
        batch = packed(batch_of_annotations(annotations, FOUR_PLAYERS)).to("meta")
        trainee.objective.loss(trainee.network(batch), batch)["loss"].backward()
    matrices = parameter_groups(trainee.network, replace(OptimConfig(), optimizer="muon"))
    optimizer = MuonWithAdamW([group for group in matrices if group["is_muons"]])
    optimizer.step()  # makes its state
    with Operations() as operations, FlopCounterMode(display=False) as flops:
        optimizer.step()
    torch.distributed.destroy_process_group()
    graphs = counters["stats"]["unique_graphs"] - before
    figure(graphs=graphs, operations_of_muon=operations.count, tflop_of_muon=flops.get_total_flops() / 1e12)


class StandIn(SharedNetworks):
    """Networks on a CPU, a pass of which takes at least `PASS_SECONDS`, however many rows it has."""

    num_passes = 0

    def _network(self, opening: inference_server.Opening) -> inference_server._Loaded:
        is_new = opening not in self._loaded
        loaded = super()._network(opening)
        if is_new:
            loaded.network.register_forward_pre_hook(self._wait)
        return loaded

    def _wait(self, module: CachedNetwork, batch: object) -> None:
        self.num_passes += 1
        time.sleep(PASS_SECONDS)


@pytest.mark.parametrize("num_workers", [1, 4])
def test_merging(num_workers: int, tmp_path: Path, figure: Figure) -> None:
    weights = str(written(tmp_path / "weights"))
    policy, networks = Policy.load(weights), StandIn(torch.device("cpu"))
    decisions = [annotation.observation for annotation in simulate_game(FOUR_PLAYERS, seed=0).annotations]
    observations = [each for each in decisions if len(each.progression) < 5][:3]

    def work(worker: int) -> None:
        remote = CachedPolicy(policy.with_network(RemoteNetwork(address, weights)))
        for act in range(ACTS):
            remote.evaluate(observations, [(act, seat) for seat in range(len(observations))])

    address = ServerAddress(str(tmp_path / "socket"), b"key", "cpu")
    with closing(Listener(address.path, family="AF_UNIX", authkey=address.key)) as listener:
        Thread(target=accept_workers, args=(listener, networks), daemon=True).start()
        Thread(target=networks.compute, daemon=True).start()
        start = time.perf_counter()
        with ThreadPoolExecutor(num_workers) as workers:
            list(workers.map(work, range(num_workers)))
        seconds = time.perf_counter() - start
        rows = num_workers * ACTS * len(observations)
        figure(rows=rows, passes=networks.num_passes, rows_s=rows / seconds)
        assert networks.num_passes <= max(1, num_workers / 2) * ACTS
