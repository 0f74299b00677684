"""Benchmark of training networks of other shapes than `small`: decisions a second of CPU time of one thread."""

import time
from pathlib import Path

import torch
from estimates import Estimate, all_in_turns
from training import STEPS, fresh_steps

from kanachan.config import MODEL_SIZES, ModelConfig
from kanachan.training.batch_sizes import DEFAULT_BATCH

_SHAPES = ((96, 7), (160, 3), (192, 2), (256, 1))
"""width and layers of networks whose encoder blocks have about as many weights as those of `small`; their decoders, one
block of the same width, have not"""


def measure_shapes(shards: Path, repeats: int, *, use_bf16: bool) -> list[Estimate]:
    """Measures training steps of each shape in turns, against `small`."""
    torch.set_num_threads(1)
    small = MODEL_SIZES["small"]
    models = [small, *(ModelConfig(width=width, layers=layers, feedforward=4 * width) for width, layers in _SHAPES)]
    parameters, bodies = zip(
        *(fresh_steps(shards, model, DEFAULT_BATCH, use_bf16=use_bf16) for model in models), strict=True
    )
    of_small, *others = all_in_turns(bodies, repeats, clock=time.process_time)
    decisions = STEPS * DEFAULT_BATCH
    return [
        Estimate(
            part="shapes",
            what=f"train in {'bf16' if use_bf16 else 'fp32'}, width {model.width}, {model.layers} layers",
            unit="decisions/s",
            ours=decisions / seconds,
            plain=f"small: width {small.width}, {small.layers} layers",
            plainly=decisions / of_small,
            more={"parameters": count, "parameters of small": parameters[0]},
        )
        for model, count, seconds in zip(models[1:], parameters[1:], others, strict=True)
    ]
