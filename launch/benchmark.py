"""How quick the program is on this machine: launch/benchmark.sh. Each figure stands beside that of a plain way to do
the same; the two are measured in turns, and medians are compared, as a shared machine's speed changes by the minute.

Shapes: B decisions, T tokens, D width.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import annotate.engine
from annotate.annotation import parse_line
from annotate.cli import annotate_record
from annotate.records.reading import Record, find_records, read_games
from annotate.replay import DEFAULT_GRADE, DEFAULT_ROOM
from annotate.simulate import simulate
from annotate.terminal import run_cleanly
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.batch import Batch, TokenLayout, batch_of_annotations
from kanachan.checkpoint import build_network
from kanachan.config import MODEL_SIZES, DataConfig, ModelConfig, ObjectiveConfig, OptimConfig
from kanachan.loader import Batches
from kanachan.model import Encoder, Network
from kanachan.objectives import Objective
from kanachan.pack import Packing, pack
from kanachan.shards import open_shards
from kanachan.stage import parameter_groups

PARTS = ("annotate", "data", "train")
FIXED_LENGTH = 184
"""tokens to which the plain network's batches are padded: more than any situation has"""
_MATRIX = 1536
_NUM_DATA_BATCHES = 400
_NUM_TRAIN_BATCHES = 2


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    part: str
    what: str
    unit: str
    ours: float
    plain: str
    """what it is compared with"""
    plainly: float
    more: dict[str, float] = field(default_factory=dict)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/benchmark.sh", description="Measures the program's speed beside plain ways to do the same."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--records", help="folder of game records (default: KANACHAN_RECORDS, shared/records, or none)")
    parser.add_argument("--games", type=int, default=24, help="games to annotate (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each figure (default: %(default)s)")
    parser.add_argument("--size", choices=MODEL_SIZES, default="small", help="network to train (default: %(default)s)")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]}: no such part; there are {', '.join(PARTS)}")
    return run_cleanly(parser.prog, lambda: _measure(arguments))


def _measure(arguments: argparse.Namespace) -> None:
    parts = arguments.parts or PARTS
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files, kind = _records(arguments.records, arguments.games, work)
        lines = [line for path in files for game in _annotated(path) for line in game.splitlines()]
        print(
            f"{len(files)} games ({kind}), {len(lines):,} decisions; {torch.get_num_threads()} threads", file=sys.stderr
        )
        figures = []
        if "annotate" in parts:
            figures.append(measure_annotate(files, kind, arguments.repeats))
        if "data" in parts or "train" in parts:
            shards = _packed(lines, work)
        if "data" in parts:
            figures.append(measure_data(lines, shards, arguments.repeats))
        if "train" in parts:
            figures.append(measure_train(shards, MODEL_SIZES[arguments.size], arguments.repeats))
    print(f"{'':<44}{'kanachan':>12}{'plain':>12}{'ratio':>8}")
    for figure in figures:
        label = f"{figure.what}, {figure.unit}"
        print(f"{label:<44}{figure.ours:>12,.0f}{figure.plainly:>12,.0f}{figure.ours / figure.plainly:>8.2f}")
        print(f"    plain: {figure.plain}")
        for name, value in figure.more.items():
            print(f"    {name}: {value:,.4g}")
    print(
        json.dumps({"machine": _machine(), "games": len(files), "records": kind} | {f.part: asdict(f) for f in figures})
    )


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }


# Data to measure with ------------------------------------------------------------------------------------------------


def _records(given: str | None, num_games: int, work: Path) -> tuple[list[str], str]:
    """Files of one game each, and what they are."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "records"
    folder = Path(given or os.environ.get("KANACHAN_RECORDS", beside))
    if given or folder.is_dir():
        houou = folder / "tenhou" / "houou-4p-2021"
        found = find_records([str(houou if houou.is_dir() else folder)])
        files = list(islice(filter(_is_readable, found), num_games))
        if not files:
            raise ValueError(f"{folder}: no game that can be read")
        return files, "real, mjlog" if houou.is_dir() else "real"
    if simulate(["-n", str(num_games), "--seed", "1", "-o", str(work / "games")]):
        raise ValueError("the games could not be simulated")
    return find_records([str(work / "games")]), "simulated, mjai"


def _is_readable(path: str) -> bool:
    try:
        return bool(read_games(path))
    except ValueError:
        return False


def _annotated(path: str) -> list[str]:
    games, _ = annotate_record(Record(path, 0), DEFAULT_ROOM, DEFAULT_GRADE)
    return [game.lines for game in games]


def _packed(lines: list[str], work: Path) -> Path:
    text = work / "annotations.txt"
    text.write_text("".join(f"{line}\n" for line in lines))
    pack([str(text)], work / "shards", FOUR_PLAYERS, Packing(fractions=(1.0, 0.0, 0.0)))
    return work / "shards"


def in_turns(ours: Callable[[], object], plain: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Medians of the seconds that the two take, measured in turns after one run of each for warmth."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        for body, measured in zip((ours, plain), seconds, strict=True):
            start = time.perf_counter()
            body()
            if number:
                measured.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


# Annotating ----------------------------------------------------------------------------------------------------------


class _RecordingEnv:
    """The engine, with a list of all that it was asked to do, so that the same can be done without the rest of us."""

    rounds: list[tuple[dict[str, Any], dict[str, Any], list[Any]]] = []

    def __init__(self, **settings: Any) -> None:
        object.__setattr__(self, "_env", _ENGINE(**settings))
        object.__setattr__(self, "_settings", settings)

    def reset(self, **start: Any) -> Any:
        object.__setattr__(self, "_steps", [])
        self.rounds.append((self._settings, start, self._steps))
        return self._env.reset(**start)

    def step(self, actions: Any) -> Any:
        self._steps.append(actions)
        return self._env.step(actions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._env, name, value)


_ENGINE = annotate.engine.RiichiEnv


def measure_annotate(files: list[str], kind: str, repeats: int) -> Figure:
    """Annotations a second on one core: reading, replaying, checking and writing, against stepping the engine."""
    annotate.engine.RiichiEnv = _RecordingEnv
    try:
        num_lines = sum(lines.count("\n") for path in files for lines in _annotated(path))
    finally:
        annotate.engine.RiichiEnv = _ENGINE

    def step_alone() -> None:
        for settings, start, steps in _RecordingEnv.rounds:
            env = _ENGINE(**settings)
            env.reset(**start)
            for actions in steps:
                env.step(actions)

    ours, plain = in_turns(lambda: [_annotated(path) for path in files], step_alone, repeats)
    return Figure(
        part="annotate",
        what=f"annotate ({kind}), one core",
        unit="annotations/s",
        ours=num_lines / ours,
        plain="the engine alone, stepped through the same rounds with the same actions",
        plainly=num_lines / plain,
        more={"games/s": len(files) / ours},
    )


# From shards to batches ----------------------------------------------------------------------------------------------


def measure_data(lines: list[str], shards: Path, repeats: int) -> Figure:
    """Decisions a second from shards to augmented batches, against parsing the text of the same number of lines."""
    size = DataConfig.batch
    plain_batches = min(_NUM_DATA_BATCHES // 20, len(lines) // size)
    batches = _batches(shards, size, size)

    def parse() -> None:
        for first in range(0, plain_batches * size, size):
            batch_of_annotations([parse_line(line, FOUR_PLAYERS) for line in lines[first : first + size]], FOUR_PLAYERS)

    def read() -> None:
        for _ in islice(batches, _NUM_DATA_BATCHES):
            pass

    ours, plain = in_turns(read, parse, repeats)
    return Figure(
        part="data",
        what=f"shards to batches of {size}, suits exchanged",
        unit="decisions/s",
        ours=_NUM_DATA_BATCHES * size / ours,
        plain="parsing the lines of text and making the same batches, without augmentation",
        plainly=plain_batches * size / plain,
        more={"batches/s": _NUM_DATA_BATCHES / ours, "plain batches/s": plain_batches / plain},
    )


def _batches(shards: Path, batch: int, micro_batch: int) -> Iterator[Batch]:
    """The micro-batches as training gets them, epoch after epoch."""
    batches = Batches(
        open_shards(shards, "train", FOUR_PLAYERS),
        FOUR_PLAYERS,
        batch=batch,
        micro_batch=micro_batch,
        seed=0,
        exchange_suits=True,
        actor_first=False,
    )
    return chain.from_iterable(repeat(batches))


# Training ------------------------------------------------------------------------------------------------------------


class PlainEncoder(Encoder):
    """The same embeddings, with torch's own transformer layers."""

    def __init__(self, config: ModelConfig, layout: TokenLayout, max_progression: int) -> None:
        super().__init__(replace(config, layers=1), layout, max_progression)
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.feedforward, config.dropout, F.gelu, batch_first=True, norm_first=True
        )
        self.blocks = nn.ModuleList()
        self.plain = nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)

    def forward(self, token_BT: Tensor, position_BT: Tensor, numeric_BN: Tensor) -> Tensor:
        hidden_BTD = self.token_embedding(token_BT) + self.position_embedding(position_BT)
        value_BND = self._embed_numbers(numeric_BN)
        hidden_BTD = hidden_BTD + F.pad(value_BND, (0, 0, 1, hidden_BTD.shape[1] - 1 - value_BND.shape[1]))
        return self.norm(self.plain(hidden_BTD, src_key_padding_mask=token_BT == TokenLayout.PAD))


def measure_train(shards: Path, model: ModelConfig, repeats: int) -> Figure:
    """Decisions a second of forward, backward and optimiser, against torch's layers on batches of fixed length."""
    size, micro_size = DataConfig.batch, DataConfig.micro_batch
    batches = list(islice(_batches(shards, size, micro_size), _NUM_TRAIN_BATCHES * size // micro_size))
    padded = [_padded(batch) for batch in islice(_batches(shards, size, size), 1)]
    padded = [_rows(batch, first, first + micro_size) for batch in padded for first in range(0, size, micro_size)]
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain_network, _ = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    plain_network.encoder = PlainEncoder(model, TokenLayout(FOUR_PLAYERS), FOUR_PLAYERS.max_progression)
    per_step = size // micro_size
    ours, plain = in_turns(
        _training(network, objective, batches, per_step), _training(plain_network, objective, padded, per_step), repeats
    )
    speed = sum(map(len, batches)) / ours
    plain_speed = sum(map(len, padded)) / plain
    work, matrix_speed = flops(model, batches), matrix_flops_per_second(repeats)
    return Figure(
        part="train",
        what=f"train, {sum(p.numel() for p in network.parameters()):,} parameters",
        unit="decisions/s",
        ours=speed,
        plain=f"the same network as nn.TransformerEncoder, batches padded to {FIXED_LENGTH} tokens",
        plainly=plain_speed,
        more={
            "GFLOP a decision": work / 1e9,
            "matrix products, GFLOP/s": matrix_speed / 1e9,
            "share of the matrix products' speed": speed * work / matrix_speed,
            "plain network's share": plain_speed * work / matrix_speed,
        },
    )


def _training(network: Network, objective: Objective, batches: list[Batch], per_step: int) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(parameter_groups(network, OptimConfig()), fused=True)

    def train() -> None:
        for number, batch in enumerate(batches):
            (objective.loss(network(batch), batch)["loss"] / per_step).backward()
            if (number + 1) % per_step == 0:
                nn.utils.clip_grad_norm_(network.parameters(), OptimConfig.clip)
                optimizer.step()
                optimizer.zero_grad()

    return train


def _padded(batch: Batch) -> Batch:
    missing = FIXED_LENGTH - batch.token_BT.shape[1]
    assert missing >= 0
    return replace(
        batch, token_BT=F.pad(batch.token_BT, (0, missing)), position_BT=F.pad(batch.position_BT, (0, missing))
    )


def _rows(batch: Batch, first: int, last: int) -> Batch:
    return Batch(*(getattr(batch, name)[first:last] for name in batch.__dataclass_fields__))


def flops(model: ModelConfig, batches: list[Batch]) -> float:
    """Floating-point operations to train on one decision, by formula; padding is no work.

    A multiplication and an addition for each weight and token, twice that again for the backward pass. With width D,
    feed-forward width M, a situation of T tokens and A candidates: an encoder block costs (4 D² + 2 D M) T weights and
    2 D T² of attention; a decoder block (4 D² + 2 D² + 2 D M) A, 2 D² T for keys and values, and 2 D A² + 2 D A T of
    attention. Embeddings, heads, norms and the optimiser are left out.
    """
    tokens_B = torch.cat([(batch.token_BT != TokenLayout.PAD).sum(dim=1) for batch in batches]).double()
    candidates_B = torch.cat([(batch.candidate_BA != 0).sum(dim=1) for batch in batches]).double()
    width, feedforward = model.width, model.feedforward
    encoder_B = (4 * width**2 + 2 * width * feedforward) * tokens_B + 2 * width * tokens_B**2
    decoder_B = (6 * width**2 + 2 * width * feedforward) * candidates_B + 2 * width**2 * tokens_B
    decoder_B += 2 * width * candidates_B * (candidates_B + tokens_B)
    multiplications_B = model.layers * encoder_B + model.decoder_layers * decoder_B
    return float(3 * 2 * multiplications_B.mean())


def matrix_flops_per_second(repeats: int) -> float:
    """What this machine makes of the product of two square matrices in single precision."""
    a, b = torch.randn(_MATRIX, _MATRIX), torch.randn(_MATRIX, _MATRIX)
    first, second = in_turns(lambda: a @ b, lambda: b @ a, 3 * repeats)
    return 2 * _MATRIX**3 / min(first, second)


if __name__ == "__main__":
    raise SystemExit(main())
