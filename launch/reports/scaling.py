"""The computed tables of docs/scaling.md: memory, arithmetic and traffic of networks, by strategy and number of GPUs.
Parameters are counted in the real network, arithmetic and rows in real batches.

    .venv/bin/python launch/reports/scaling.py SHARDS

GB are 10^9 bytes. Letters: X rows of the encoder, V keys that the situations attend to, C candidates, D width, M width
of the feed-forward layers.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import MODEL_SIZES, DataConfig, ModelConfig, ObjectiveConfig, RunConfig
from kanachan.data.batch import Batch, TokenLayout, with_varlen_layout
from kanachan.data.loader import TrainLoader
from kanachan.data.shards import open_shards
from kanachan.models.transformer import Network
from kanachan.objectives.networks import build_network
from kanachan.training.devices import Devices, World
from kanachan.training.strategies import StrategyName, make_strategy
from kanachan.training.throughput import training_flops

SIZES = {
    **{name: MODEL_SIZES[name] for name in ("small", "base", "large")},
    "1b": ModelConfig(width=1536, layers=32, heads=24, feedforward=6144, decoder_layers=2),
}
STRATEGIES: tuple[StrategyName, ...] = tuple(name for name in get_args(StrategyName) if name != "plain")
GPUS = (1, 8, 40)
DECISIONS = 3.8e9
"""of 65 million rounds: 59 in a round, as in the Houou games"""
PEAK = 790e12
"""measured bf16 operations a second of an H100 or H200 in matrix products; the vendor specifies 989e12"""
SHARE = 0.4
"""of the peak that training is assumed to reach"""
FP32, BF16 = 4, 2
ITS_OWN = {"reduce_bucket_size": 500_000_000}
"""DeepSpeed's default, which `kanachan.training.deepspeed` overrides"""


@dataclass(frozen=True)
class Size:
    """The numbers of parameters of a network."""

    parameters: int
    matrices: int
    """those of nn.Linear, which are multiplied in bf16"""


@dataclass(frozen=True)
class Memory:
    """Bytes of one process, without activations."""

    weights: float
    gradients: float
    states: float
    """Adam's two"""
    master: float
    """the further fp32 copy of its share of the weights that DeepSpeed's ZeRO 1 and 2 hold"""
    halves: float
    """bf16 copies of the weights, stored for the backward pass, or gathered"""
    buffers: float
    """of DeepSpeed, to gather gradients before it sends them"""

    @property
    def shared(self) -> float:
        """The bytes that ZeRO shards."""
        return self.weights + self.gradients + self.states

    @property
    def additional(self) -> float:
        """The bytes that ZeRO adds or does not shard."""
        return self.master + self.halves + self.buffers


def size_of(model: ModelConfig) -> Size:
    """Counts parameters in the network itself, on the meta device."""
    with torch.device("meta"):
        network = network_of(model)
    return Size(
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        matrices=sum(
            p.numel() for module in network.modules() if isinstance(module, nn.Linear) for p in module.parameters()
        ),
    )


def network_of(model: ModelConfig) -> Network:
    """Builds the imitation network of a size."""
    return build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)[0]


def memory_of(strategy: StrategyName, size: Size, processes: int, settings: dict[str, Any] | None = None) -> Memory:
    """Computes the memory on GPUs in bf16, with the settings of a run.

    Args:
        settings: of DeepSpeed's `zero_optimization`, which override those.
    """
    stage = 0 if strategy == "ddp" else int(strategy.removeprefix("zero"))
    whole, share = float(size.parameters), size.parameters / processes
    weights, gradients, states = (share if stage >= least else whole for least in (3, 2, 1))
    halves, buffers = BF16 * size.matrices, 0.0
    if stage:
        zero = zero_settings(strategy, processes, settings)
        if stage == 3:
            # as many as may be gathered at once are not released before the backward pass
            halves = BF16 * min(whole, zero.max_live_parameters)
            buffers = zero.reduce_bucket_size * (BF16 + FP32)
        else:
            # one for parameters sent in bf16, one for the others; two of each, to fill one while the other is sent
            buffers = zero.reduce_bucket_size * FP32 * 2 * (2 if zero.overlap_comm else 1)
    return Memory(
        weights=FP32 * weights,
        gradients=FP32 * gradients,
        states=2 * FP32 * states,
        master=FP32 * share if stage in (1, 2) else 0.0,
        halves=float(halves),
        buffers=float(buffers),
    )


def zero_settings(strategy: StrategyName, processes: int, settings: dict[str, Any] | None = None) -> Any:
    """Returns the settings of DeepSpeed, including its defaults."""
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    devices = Devices(is_gpu=True, use_bf16=True, use_varlen=True, world=World(processes, 1))
    config: Any = make_strategy(strategy, RunConfig(), devices, DataConfig.micro_batch)
    return DeepSpeedZeroConfig(**{**config.config["zero_optimization"], **(settings or {})})


@dataclass(frozen=True)
class Rows:
    """The numbers of rows X, V and C of a micro-batch, padding included."""

    encoded: int
    seen: int
    candidates: int


def rows_of(batch: Batch) -> Rows:
    """Counts the rows as the network lays them out: padded, or concatenated (varlen) if the batch has segments."""
    if batch.varlen is not None:
        plan = batch.varlen
        return Rows(len(plan.row_X), len(plan.seen_V), len(plan.candidate_C))
    own = 1 + batch.standing_BP2.shape[1] + batch.tile_BT.shape[1]
    return Rows(
        encoded=len(batch) * own + batch.event_GE.numel(),
        seen=len(batch) * (own + batch.event_GE.shape[1]),
        candidates=batch.candidate_BA.numel(),
    )


def activations_of(model: ModelConfig, rows: Rows, *, use_bf16: bool, recomputes: bool = False) -> float:
    """Computes the bytes that a micro-batch stores for the backward pass, without dropout.

    An encoder block stores, for each row, the inputs of its two norms (2 D), their outputs (2 D), queries, keys and
    values (3 D), the output of attention (D), concatenated (D), and the feed-forward layer before and after its GELU
    (2 M); and for each key that a situation attends to, key and value (2 D). In bf16 all of it is in bf16 except the
    inputs of the norms. A decoder block stores the same for each candidate, and 3 D more for its second attention.

    Args:
        recomputes: whether each encoder block stores only its input, and is computed again in the backward pass.
    """
    width, feedforward = model.width, model.feedforward
    byte = BF16 if use_bf16 else FP32
    block = rows.encoded * (2 * FP32 * width + byte * (7 * width + 2 * feedforward)) + rows.seen * byte * 2 * width
    decoder = rows.candidates * (3 * FP32 * width + byte * (9 * width + 2 * feedforward)) + rows.seen * byte * 2 * width
    encoder = model.layers * block
    if recomputes:
        encoder = model.layers * FP32 * width * rows.encoded + block
    # the last norm of the encoder and its output, cast once for each decoder block; the last norm of the decoder
    ends = rows.encoded * width * (FP32 + (byte * model.decoder_layers if use_bf16 else byte))
    ends += rows.candidates * width * (FP32 + byte)
    return encoder + model.decoder_layers * decoder + ends


def gpu_hours(flops_per_decision: float, decisions: float = DECISIONS) -> float:
    """Computes the GPU-hours of training on a number of decisions."""
    return flops_per_decision * decisions / (SHARE * PEAK) / 3600


def sent_in_a_step(strategy: StrategyName, size: Size, processes: int, micro_batches: int = 1) -> float:
    """Computes the bytes that each GPU sends, by rings, in an optimiser step in bf16.

    DDP reduces gradients in fp32, once. DeepSpeed sends those of matrices in bf16: ZeRO 1 once, ZeRO 2 after every
    micro-batch, and both send the new weights to all in fp32. ZeRO 3 sends, for every micro-batch, weights in bf16 to
    all before the forward pass, again before the backward pass if they do not all fit, and each gradient to its owner.
    """
    to_all = (processes - 1) / processes
    halves = BF16 * size.matrices + FP32 * (size.parameters - size.matrices)
    weights = FP32 * size.parameters
    if strategy == "ddp":
        return to_all * 2 * weights
    if strategy == "zero3":
        zero = zero_settings(strategy, processes)
        stay = 2 * size.parameters <= zero.max_reuse_distance and size.parameters <= zero.max_live_parameters
        gathers = 1 if stay else 2
        return to_all * micro_batches * (gathers + 1) * halves
    return to_all * ((micro_batches if strategy == "zero2" else 1) * 2 * halves + weights)


def tables(shards: Path, micro_batch: int, num_batches: int) -> Iterator[str]:
    """Yields the tables as Markdown."""
    batches = list(islice(batches_of(shards, micro_batch), num_batches))
    packed = [rows_of(with_varlen_layout(batch, TokenLayout(FOUR_PLAYERS))) for batch in batches]
    sizes = {name: size_of(model) for name, model in SIZES.items()}
    flops = {name: training_flops(model, batches) for name, model in SIZES.items()}
    yield _sizes_table(sizes, flops)
    yield _memory_table(sizes)
    yield _activations_table(micro_batch, largest=max(packed, key=lambda rows: rows.encoded))
    yield _time_table(flops)
    yield _traffic_table(sizes, flops, micro_batch)


def _sizes_table(sizes: dict[str, Size], flops: dict[str, float]) -> str:
    return _table(
        "Sizes",
        ("size", "width", "blocks", "heads", "feed-forward", "decoder blocks", "parameters", "GFLOP a decision"),
        [
            (
                name,
                m.width,
                m.layers,
                m.heads,
                m.feedforward,
                m.decoder_layers,
                f"{sizes[name].parameters:,}",
                f"{flops[name] / 1e9:.3g}",
            )
            for name, m in SIZES.items()
        ],
    )


def _memory_table(sizes: dict[str, Size]) -> str:
    return _table(
        f"Memory of a GPU, GB: weights, gradients, states; in addition, of {GPUS[1]} GPUs; that with {ITS_OWN}",
        ("size", "strategy", *(f"{n} GPU{'s' if n > 1 else ''}" for n in GPUS), "in addition", "with defaults"),
        [
            (name, strategy, *_of_memory(strategy, size))
            for name, size in sizes.items()
            for strategy in STRATEGIES
            if name != "small"
        ],
    )


def _activations_table(micro_batch: int, largest: Rows) -> str:
    return _table(
        f"Activations of a micro-batch of {micro_batch} decisions in bf16, GB",
        ("size", "stored", "recomputed"),
        [
            (name, *(f"{activations_of(m, largest, use_bf16=True, recomputes=r) / 1e9:.1f}" for r in (False, True)))
            for name, m in SIZES.items()
        ],
    )


def _time_table(flops: dict[str, float]) -> str:
    return _table(
        f"{DECISIONS / 1e9:g} billion decisions at {SHARE:.0%} of {PEAK / 1e12:.0f} TFLOP/s",
        ("size", "decisions/s and GPU", "GPU-hours", *(f"hours on {n} GPUs" for n in GPUS[1:])),
        [
            (name, f"{SHARE * PEAK / f:,.0f}", f"{gpu_hours(f):,.1f}", *(f"{gpu_hours(f) / n:,.1f}" for n in GPUS[1:]))
            for name, f in flops.items()
        ],
    )


def _traffic_table(sizes: dict[str, Size], flops: dict[str, float], micro_batch: int) -> str:
    return _table(
        f"GB that each of {GPUS[-1]} GPUs sends in a step, and GB/s at which that takes as long as computing the step",
        ("size", "decisions a GPU and step", "ms to compute", *STRATEGIES),
        [
            (
                name,
                n * micro_batch,
                f"{n * micro_batch * f / (SHARE * PEAK) * 1000:.0f}",
                *_of_traffic(sizes[name], n, n * micro_batch * f),
            )
            for name, f in flops.items()
            for n in (1, 4)
        ],
    )


def _of_memory(strategy: StrategyName, size: Size) -> list[str]:
    memories = [memory_of(strategy, size, processes) for processes in GPUS]
    cells = [
        f"{memory.shared / 1e9:.1f}" if n > 1 or strategy == "ddp" else ""
        for memory, n in zip(memories, GPUS, strict=True)
    ]
    two = [memories[1], memory_of(strategy, size, GPUS[1], ITS_OWN)]
    return cells + [f"{memory.additional / 1e9:.1f}" for memory in two]


def _of_traffic(size: Size, micro_batches: int, flops: float) -> list[str]:
    seconds = flops / (SHARE * PEAK)
    sent = [sent_in_a_step(strategy, size, GPUS[-1], micro_batches) / 1e9 for strategy in STRATEGIES]
    return [f"{each:.2g} GB, {each / seconds:,.0f} GB/s" for each in sent]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return f"{title}:\n\n" + "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def batches_of(shards: Path, size: int) -> TrainLoader:
    """Returns the batches of training, of so many decisions at once."""
    return TrainLoader(
        open_shards(shards, "train"),
        batch=size,
        micro_batch=size,
        seed=0,
        exchange_suits=True,
        actor_first=True,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/scaling.py", description="Prints the computed tables of docs/scaling.md."
    )
    parser.add_argument("shards", type=Path, metavar="SHARDS", help="folder of shards, for real lengths")
    parser.add_argument(
        "--micro-batch", type=int, default=512, help="decisions at once on a GPU (default: %(default)s)"
    )
    parser.add_argument("--batches", type=int, default=20, help="batches to count in (default: %(default)s)")
    arguments = parser.parse_args(argv)
    require_positive(parser, arguments, "micro_batch", "batches")

    def run() -> None:
        for table in tables(arguments.shards, arguments.micro_batch, arguments.batches):
            print(table)

    return run_cleanly(parser.prog, run)


if __name__ == "__main__":
    raise SystemExit(main())
