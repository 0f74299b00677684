"""Chooses the batch and the micro-batch of a run from the settings, the stage and the devices."""

from dataclasses import replace

import torch

from kanachan.config import DataConfig, ModelConfig, TrainConfig
from kanachan.objectives.stages import POLICY, REWARD
from kanachan.training.devices import Devices

DEFAULT_BATCH = 256
_BATCH_OF_STAGE = {
    REWARD: 32,  # games
    POLICY: 4096,  # the outcomes of few decisions are noise
}
MOST_AT_ONCE_ON_CPU = 64  # small micro-batches, sorted by length, need less padding
_MOST_AT_ONCE_ON_GPU = 2048  # with fewer, `small` waits for the CPU (docs/benchmarks.md)
# decisions x width x layers in bf16: the stages that need the most memory (docs/training.md) then fill at most three
# fifths; the rest is for weights and the optimiser
_ROWS_PER_GB = 200_000


def chosen_batch(config: TrainConfig, devices: Devices, *, is_resumed: bool) -> tuple[DataConfig, str]:
    """Chooses the batch and the micro-batch if they are not given: the batch of the stage, rounded up to one that the
    devices can share, and the largest micro-batch up to a limit of the device. Returns the settings and an explanation.
    A resumed run keeps both; if its devices cannot share the batch in such micro-batches, it takes smaller ones. Raises
    ValueError, which names the nearest possible batches, if the devices cannot share the batch equally."""
    data, world = config.data, devices.world.size
    batch, micro_batch = data.batch, data.micro_batch
    most, reason = _most_at_once(devices, config.model)
    default = _BATCH_OF_STAGE.get(config.stage, DEFAULT_BATCH)
    if batch is None:
        at_once = world * (micro_batch or most)
        micro_batches = -(-default // at_once)  # per process
        micro_batch = micro_batch or -(-default // (world * micro_batches))
        batch = world * micro_batches * micro_batch
    elif batch % world:
        raise ValueError(_unshareable(batch, world, micro_batch, is_resumed=is_resumed))
    if micro_batch is None:
        micro_batch = _largest_divisor(batch // world, most)
    elif batch % (micro_batch * world):
        if not is_resumed:
            raise ValueError(_unshareable(batch, world, micro_batch, is_resumed=False))
        reason = f"was {micro_batch}, in which the devices cannot share the batch"
        micro_batch = _largest_divisor(batch // world, micro_batch)
    else:
        reason = reason if data.micro_batch is None else "as set"
    origin = "as set"
    if data.batch is None:
        origin = f"the default of stage {config.stage}"
        if batch != default:
            origin += f" is {default}, rounded up to equal micro-batches on {world} device{'s' * (world > 1)}"
    chosen = f"batch: {batch:,} ({origin}), {micro_batch:,} at once on each device ({reason})"
    if devices.is_gpu and config.stage != REWARD and 2 * micro_batch <= most and data.micro_batch is None:
        chosen += f"; --data.batch {most * world} would keep {'the GPU' if world == 1 else 'all GPUs'} busy"
    return replace(data, batch=batch, micro_batch=micro_batch), chosen


def _most_at_once(devices: Devices, model: ModelConfig) -> tuple[int, str]:
    """Returns the upper limit of a micro-batch that is not given, and the reason for the limit."""
    if not devices.is_gpu:
        return MOST_AT_ONCE_ON_CPU, f"at most {MOST_AT_ONCE_ON_CPU} on a CPU"
    memory = torch.cuda.get_device_properties(devices.of_this_process).total_memory / 1e9
    per_gb = _ROWS_PER_GB / (model.width * model.layers) / (1 if devices.use_bf16 else 2)
    fits = 1 << (max(1, int(memory * per_gb)).bit_length() - 1)
    most = min(_MOST_AT_ONCE_ON_GPU, fits)
    return most, f"at most {most:,} of this network on a GPU of {memory:.0f} GB"


def _largest_divisor(number: int, most: int) -> int:
    return next(divisor for divisor in range(min(number, most), 0, -1) if number % divisor == 0)


def _unshareable(batch: int, world: int, micro_batch: int | None, *, is_resumed: bool) -> str:
    """Returns the message that the devices cannot share a batch, with the nearest possible values."""
    message = f"data.batch={batch} cannot be shared equally by {world} devices"
    if is_resumed:  # the run keeps its batch
        fewer = _largest_divisor(batch, world)
        more = next((n for n in range(world + 1, batch + 1) if batch % n == 0), None)
        return f"{message}: continue the run with {fewer}{'' if more is None else f' or {more}'} (--run.devices)"
    if micro_batch is not None:
        message += f" in micro-batches of data.micro_batch={micro_batch}"
    unit = world * (micro_batch or 1)
    lower = batch // unit * unit
    message += f": the nearest that can be shared: {f'{lower} and ' if lower else ''}{lower + unit}"
    return message if batch % world else f"{message}; or leave the micro-batch to the program, --data.micro_batch null"
