"""Parts training and profile: steps of whole runs, and where the time of a step goes."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from bench import FIRST_STAGE, Bench, Row, Trainee, logged, steady
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

_RUNS = {
    False: {"small": (4096, 2048), "base": (2048, 512), "large": (1024, 256)},
    True: {"tiny": (32, 16)},
}
"""decisions of a step and of a micro-batch, by the size of the network"""
_STEPS = {False: 40, True: 4}
_PROFILED = 4
_OPERATIONS = {
    "attention": "attention|attn|softmax",
    "optimiser": "_fused_adam|_foreach|Optimizer",
    "matrix products": r"::_?(add|b|badd)?mm\b|addmm|linear",
    "gathering and scattering": "index|embedding|gather|scatter|::cat|split",
    "norms": "layer_norm",
    "activations": "gelu",
    "conversions and copies": "copy|fill_|zero_",
}
"""what the names of torch's operations contain; the others are elementwise, sums, or do no work"""


def measure_training(bench: Bench) -> Iterator[Row]:
    """Runs kanachan-train in bf16 from shards, with everything that a run does."""
    for size, (batch, micro_batch) in _RUNS[bench.is_tiny].items():
        what = f"{size}, {batch} decisions a step, {micro_batch} at once"
        yield bench.measured(what, lambda s=size, b=batch, m=micro_batch: _run(bench, s, b, m))


def _run(bench: Bench, size: str, batch: int, micro_batch: int) -> Row:
    steps = _STEPS[bench.is_tiny]
    arguments = ["--stage", FIRST_STAGE, "--model.size", size, "--data.path", str(bench.shards)]
    arguments += ["--data.batch", str(batch), "--data.micro_batch", str(micro_batch), "--run.precision", "bf16"]
    arguments += ["--run.steps", str(steps), "--run.log_every", str(steps // 4), "--run.validate_every", str(steps)]
    arguments += ["--run.validate_batches", "1", "--run.accelerator", bench.accelerator, "--run.devices", "1"]
    run = bench.run(f"training/{size}", *arguments)
    peak = steady(run, "train/share_of_peak")
    flops = steady(run, "train/flops_per_second")
    return {
        "decisions/s": steady(run, "train/samples_per_second"),
        "tokens/s": steady(run, "train/tokens_per_second"),
        "TFLOP/s": None if flops is None else flops / 1e12,
        "share of the peak": peak,
        "peak, TFLOP/s": None if not peak or flops is None else flops / peak / 1e12,
        "memory, GB": steady(run, "train/memory_peak_gb"),
        "waiting for data": steady(run, "train/data_wait"),
        "last loss": logged(run, "train/loss")[-1],
    }


def measure_profile(bench: Bench) -> Iterator[Row]:
    """Divides the time of steps, without loading data, among torch's operations."""
    for size, (_, micro_batch) in _RUNS[bench.is_tiny].items():
        yield bench.measured(f"{size}, {micro_batch} decisions", lambda s=size, m=micro_batch: _profile(bench, s, m))


def _profile(bench: Bench, size: str, micro_batch: int) -> Row:
    trainee = Trainee(bench.device, size, use_bf16=True)
    batches = [b.to(bench.device) for b in islice(bench.batches(micro_batch, is_packed=bench.is_gpu), _PROFILED)]
    for batch in batches:
        trainee.step(batch)
    bench.wait()
    start = time.perf_counter()
    for batch in batches:
        trainee.step(batch)
    bench.wait()
    seconds = time.perf_counter() - start
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if bench.is_gpu else [])]
    with profile(activities=activities) as profiled:
        for batch in batches:
            trainee.step(batch)
        bench.wait()
    spent: dict[str, float] = defaultdict(float)
    for event in profiled.key_averages():
        if event.device_type == DeviceType.CPU:  # an operation, to which the time of its kernels belongs
            spent[_kind(event.key)] += event.self_device_time_total if bench.is_gpu else event.self_cpu_time_total
    total = sum(spent.values())
    shares = {kind: spent[kind] / total for kind in sorted(spent, key=lambda kind: -spent[kind])}
    # a CPU computes nothing else, and the profiler slows it down
    busy = {"busy": min(1.0, total / 1e6 / seconds)} if bench.is_gpu else {}
    return {"ms a step": 1000 * seconds / _PROFILED, **busy, **shares}


def _kind(operation: str) -> str:
    return next((kind for kind, pattern in _OPERATIONS.items() if re.search(pattern, operation)), "other")
