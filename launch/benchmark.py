"""Benchmarks of the program on this machine: launch/benchmark.sh. Reading is compared with a plain implementation; both
are measured in turns, since a shared machine's speed changes by the minute."""

import argparse
import io
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, count, islice, repeat
from pathlib import Path

import torch
from torch import Tensor, nn

from annotate.annotation import format_line, parse_line
from annotate.records.reading import find_records, read_games
from annotate.replay.replay import annotate_game
from annotate.runtime.resources import num_cores
from annotate.runtime.signals import StopRequest
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.annotate import main as annotate_command
from kanachan.cli.simulate import main as simulate
from kanachan.config import MODEL_SIZES, DataConfig, ModelConfig, ObjectiveConfig, OptimConfig, RunConfig
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.data.loader import Share, TrainLoader
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from kanachan.data.played_games import PlayedGames
from kanachan.data.shards import open_shards
from kanachan.objectives.networks import build_network
from kanachan.play.match import GameResult, Match
from kanachan.play.playing import BackendName, Execution, GameStream, play_games
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import run_selfplay, stream_of
from kanachan.training.batch_sizes import DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU
from kanachan.training.devices import devices_of
from kanachan.training.optimizers import make_optimizer

PARTS = ("annotate", "data", "train", "arena", "selfplay")
_OF_RECORDS = {"annotate", "data", "train"}
_V = FOUR_PLAYERS


@dataclass(frozen=True)
class Estimate:
    """A measurement: one line of the table."""

    part: str
    what: str
    ours: float
    """decisions per second"""
    plain: str | None = None
    """description of a plain implementation that is measured in turns with ours"""
    plainly: float | None = None
    games: float | None = None
    """games per second"""


def in_turns(bodies: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Computes the median time of each function in seconds, measured in turns after one warm-up run of each."""
    seconds: list[list[float]] = [[] for _ in bodies]
    for number in range(repeats + 1):
        for body, measured in zip(bodies, seconds, strict=True):
            start = time.perf_counter()
            body()
            if number:
                measured.append(time.perf_counter() - start)
    return [statistics.median(each) for each in seconds]


def measure_annotating(files: list[str], kind: str, num_decisions: int, repeats: int) -> list[Estimate]:
    """Measures the whole command, from files to shards, on one core and on all cores."""
    numbers = sorted({1, num_cores()})

    def annotate(processes: int) -> None:
        report = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(report), redirect_stdout(report):
            status = annotate_command([*files, "--pack", f"{folder}/shards", "--processes", str(processes)])
        assert status == 0, report.getvalue()

    seconds = in_turns([partial(annotate, processes) for processes in numbers], repeats)
    return [
        Estimate("annotate", f"annotate ({kind}) to shards, {_processes(n)}", num_decisions / s, games=len(files) / s)
        for n, s in zip(numbers, seconds, strict=True)
    ]


# Shards to batches, compared with parsing the text.

_NUM_BATCHES = 400


def measure_data(lines: list[str], shards: Path, repeats: int) -> Estimate:
    """Measures reading shards into batches, compared with parsing the lines of text."""
    size = DEFAULT_BATCH
    plain_batches = min(_NUM_BATCHES // 20, len(lines) // size)
    batches = batches_of(shards, size, size)

    def parse() -> None:
        for first in range(0, plain_batches * size, size):
            batch_of_annotations([parse_line(line, _V) for line in lines[first : first + size]], _V)

    def read() -> None:
        for _ in islice(batches, _NUM_BATCHES):
            pass

    ours, plain = in_turns([read, parse], repeats)
    what, parsed = f"shards to batches of {size}", plain_batches * size / plain
    return Estimate("data", what, _NUM_BATCHES * size / ours, "parsing the lines of text", parsed)


def batches_of(shards: Path, batch: int, micro_batch: int) -> Iterator[Batch]:
    """Yields the micro-batches of training, epoch after epoch."""
    config = DataConfig(batch=batch, micro_batch=micro_batch)
    return chain.from_iterable(repeat(TrainLoader(open_shards(shards, "train"), config, 0, Share(0, 1))))


# A training step, including its data.

STEPS = 3
"""number of steps of the function that `steps_of` returns"""
_DROPOUT = 0.1


def measure_train(shards: Path, model: ModelConfig, repeats: int) -> list[Estimate]:
    """Measures training from shards on disk to updated weights: in fp32 and, if the CPU has bf16 units, in bf16,
    compared with fp32."""
    decisions = STEPS * DEFAULT_BATCH
    num_parameters, in_fp32 = _fresh_steps(shards, model, use_bf16=False)
    bodies = [in_fp32, *([_fresh_steps(shards, model, use_bf16=True)[1]] if _has_bf16() else [])]
    fp32, *bf16 = in_turns(bodies, repeats)
    what = f"train, {num_parameters:,} parameters, batch {DEFAULT_BATCH}"
    first = Estimate("train", what, decisions / fp32)
    return [first, *(Estimate("train", f"{what}, bf16", decisions / s, "in fp32", decisions / fp32) for s in bf16)]


def _fresh_steps(shards: Path, model: ModelConfig, *, use_bf16: bool) -> tuple[int, Callable[[], None]]:
    """Returns the number of parameters of a new network, and a function that trains it for `STEPS` steps."""
    network, objective = build_network("imitation", model, ObjectiveConfig(), _V)
    batch, micro_batch = DEFAULT_BATCH, MOST_AT_ONCE_ON_CPU

    def losses() -> Iterator[Tensor]:
        for micro in batches_of(shards, batch, micro_batch):
            with torch.autocast("cpu", torch.bfloat16, enabled=use_bf16):
                loss = objective.loss(network(micro), micro)["loss"] * micro_batch / batch
            yield loss

    return sum(p.numel() for p in network.parameters()), steps_of(network, losses(), batch // micro_batch)


def steps_of(network: nn.Module, losses: Iterator[Tensor], per_step: int) -> Callable[[], None]:
    """Returns a function that takes `STEPS` steps, each over `per_step` micro-batches."""
    network.train()
    optimizer = make_optimizer(network, OptimConfig())

    def train() -> None:
        for _ in range(STEPS):
            for _ in range(per_step):
                next(losses).backward()
            nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
            optimizer.step()
            optimizer.zero_grad()

    return train


def _has_bf16() -> bool:
    """Returns whether this CPU has bf16 units."""
    return devices_of(RunConfig(accelerator="cpu")).use_bf16


# Games of the package's imitation network, in the arena and written to shards.

_PLAYER, _INT8 = "reference@0.7", "reference:int8@0.7"


def measure_playing(parts: set[str], num_games: int, repeats: int, work: Path) -> list[Estimate]:
    """Measures whole runs of the arena, by precision in one process, and of self-play, by back end. This includes the
    start of the processes and the last games, whose batches are not full."""
    cores, numbers = num_cores(), count()
    fp32 = Match(players=(_PLAYER, _PLAYER), style=0)
    matches = {"fp32": fp32, "rules": replace(fp32, players=("rule", "rule"))}
    matches |= {"bf16": replace(fp32, precision="bf16")} if _has_bf16() else {}
    matches |= {"int8": replace(fp32, players=(_INT8, _INT8))} if _has("onnx") and _has("onnxruntime") else {}
    backends: list[tuple[BackendName, int]] = [("inline", 1)]
    backends += [("processes", cores)] if cores > 1 else []
    backends += [("ray", cores)] if _has("ray") else []
    done: dict[str, tuple[int, int]] = {}
    """numbers of decisions and games"""

    def play(what: str, match: Match) -> None:
        stream = GameStream(series=match, finish=GameResult.of)
        results = [result for _, result in play_games(stream, match.games(num_games), StopRequest())]
        done[what] = sum(sum(result.decisions) for result in results), len(results)

    def write(what: str, backend: BackendName, workers: int) -> None:
        settings = SelfPlay(vocabulary=_V, players=(_PLAYER,), shares=(1.0,), style=0)
        folder = work / f"selfplay-{next(numbers)}"
        played = PlayedGames(folder, num_games, settings.as_json(), "benchmark", Packing(), _V)
        with played.opened():
            execution = Execution(backend=backend, workers=workers)
            run_selfplay(stream_of(settings, execution), played, lambda _: None, StopRequest())
            done[what] = played.num_decisions, num_games
            played.publish()

    bodies: dict[str, Callable[[], None]] = {}
    if "arena" in parts:
        bodies |= {what: partial(play, what, match) for name, match in matches.items() if (what := f"arena, {name}")}
    if "selfplay" in parts:
        bodies |= {
            what: partial(write, what, backend, workers)
            for backend, workers in backends
            if (what := f"selfplay to shards, {backend}, {_processes(workers)}")
        }
    seconds = in_turns(list(bodies.values()), repeats)
    return [
        Estimate(what.partition(" ")[0].rstrip(","), what, done[what][0] / s, games=done[what][1] / s)
        for what, s in zip(bodies, seconds, strict=True)
    ]


def _has(module: str) -> bool:
    return find_spec(module) is not None


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="launch/benchmark.sh", description="Measures the program's speed.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--records", help="folder of game records (default: simulated games)")
    parser.add_argument("--games", type=int, default=100, help="games to annotate, and to play (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each measurement (default: %(default)s)")
    parser.add_argument("--size", choices=MODEL_SIZES, default="small", help="network to train (default: %(default)s)")
    arguments = parser.parse_args(argv)
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]}: no such part; there are {', '.join(PARTS)}")
    require_positive(parser, arguments, "games", "repeats")
    return run_cleanly(parser.prog, lambda: _measure(arguments))


def _measure(arguments: argparse.Namespace) -> None:
    parts, repeats = set(arguments.parts or PARTS), arguments.repeats
    estimates: list[Estimate] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files, kind = _records(arguments.records, arguments.games, work) if parts & _OF_RECORDS else ([], "none")
        lines = [line for path in files for line in _lines(path)]
        if "annotate" in parts:
            estimates += measure_annotating(files, kind, len(lines), repeats)
        if parts & {"data", "train"}:
            shards = _packed(lines, work)
        if "data" in parts:
            estimates.append(measure_data(lines, shards, repeats))
        if "train" in parts:
            model = replace(MODEL_SIZES[arguments.size], dropout=_DROPOUT)
            estimates += measure_train(shards, model, repeats)
        if parts & {"arena", "selfplay"}:  # last, since players set torch to one thread
            estimates += measure_playing(parts, arguments.games, repeats, work)
    print(f"{'':<58}{'decisions/s':>12}{'games/s':>9}")
    for each in estimates:
        print(f"{each.what:<58}{each.ours:>12,.0f}{f'{each.games:,.2f}' if each.games else '':>9}")
        if each.plainly:
            print(f"    {each.ours / each.plainly:.2f} times as fast as {each.plain}: {each.plainly:,.0f}")
    machine = {"processor": platform.processor() or platform.machine(), "cores": num_cores()}
    machine["torch"] = torch.__version__
    figures = [{**asdict(each), "unit": "decisions/s"} for each in estimates]
    print(json.dumps({"machine": machine, "games": len(files), "records": kind, "figures": figures}))


def _records(given: str | None, num_games: int, work: Path) -> tuple[list[str], str]:
    """Returns files with one game each, and a description of them."""
    if given:
        files = list(islice(filter(_is_readable, find_records([given])), num_games))
        if not files:
            raise ValueError(f"{given}: no game that can be read")
        return files, "real"
    if simulate(["-n", str(num_games), "--seed", "1", "-o", str(work / "games")]):
        raise ValueError("the games could not be simulated")
    return find_records([str(work / "games")]), "simulated, mjai"


def _is_readable(path: str) -> bool:
    try:
        return bool(read_games(path))
    except ValueError:
        return False


def _lines(path: str) -> list[str]:
    return [format_line(annotation) for game in read_games(path) for annotation in annotate_game(game).annotations]


def _packed(lines: list[str], work: Path) -> Path:
    text = work / "annotations.txt"
    text.write_text("".join(f"{line}\n" for line in lines))
    pack([str(text)], work / "shards", Packing(fractions=(1.0, 0.0, 0.0)))
    return work / "shards"


if __name__ == "__main__":
    raise SystemExit(main())
