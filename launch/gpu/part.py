"""One part of launch/gpu.sh, in a process of its own, so that what it leaves or breaks does not concern the others."""

import os
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

from bench import Bench
from report import machine

from annotate.runtime.workers import end_with_parent

PARTS = {
    "parity": ("parity:measure", "Losses and outputs against the CPU in fp32"),
    "packing": ("packing:measure", "Packed against padded attention"),
    "compiling": ("compiling:measure", "torch.compile"),
    "training": ("stepping:measure_training", "Training"),
    "profile": ("stepping:measure_profile", "Where a training step goes"),
    "sharding": ("sharding:measure", "ZeRO against DDP"),
    "checkpoints": ("moving:measure", "Runs resumed on another device"),
    "inference": ("serving:measure_inference", "Forward passes"),
    "arena": ("serving:measure_arena", "Games of one process"),
    "selfplay": ("serving:measure_selfplay", "Self-play of all cores"),
}
"""by name: the function, as module:name, and the title of its table"""


def run_part(name: str, bench: Bench, log: Path, results: Connection) -> None:
    """Sends a description of the machine, the rows of the part, and None. All that is printed goes to the log."""
    end_with_parent()
    with open(log, "wb", buffering=0) as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    module, function = PARTS[name][0].split(":")
    results.send(machine())
    for row in getattr(import_module(module), function)(bench):
        results.send(row)
    results.send(None)
