"""Batches that any number of devices can share."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import yaml

from kanachan.config import MODEL_SIZES, DataConfig, TrainConfig
from kanachan.objectives.stages import trained_stages
from kanachan.training.batch_sizes import chosen_batch
from kanachan.training.devices import Devices
from kanachan.training.processes import World
from tests.support.paths import CONFIGS


def on_cpus(count: int) -> Devices:
    return Devices(is_gpu=False, use_bf16=False, use_varlen=False, world=World(count, 1))


def sizes(
    devices: Devices,
    batch: int | None = None,
    micro_batch: int | None = None,
    stage: str = "rank",
    resumed: bool = False,
    size: str = "small",
) -> tuple[int, int]:
    data = DataConfig(path=".", batch=batch, micro_batch=micro_batch)
    config = TrainConfig(stage=stage, model=MODEL_SIZES[size], data=data)
    return chosen_batch(config, devices, is_resumed=resumed)[0].sizes


@pytest.mark.parametrize("stage", trained_stages())
def test_any_number_of_devices_shares_the_batch_of_any_stage(stage: str) -> None:
    default, _ = sizes(on_cpus(1), stage=stage)
    for count in (1, 2, 3, 6, 7, 8, 16, 48, 64):
        batch, micro_batch = sizes(on_cpus(count), stage=stage)
        assert batch % (count * micro_batch) == 0 and micro_batch <= 64
        assert default <= batch < default + count * -(-default // (count * micro_batch))


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_the_debug_settings_suit_the_usual_numbers_of_devices(count: int) -> None:
    given = yaml.safe_load((CONFIGS / "debug.yaml").read_text())["data"]
    assert sizes(on_cpus(count), given["batch"], given["micro_batch"]) == (given["batch"], given["micro_batch"])


def test_one_process_takes_the_defaults() -> None:
    assert sizes(on_cpus(1)) == (256, 64)
    assert sizes(on_cpus(1), stage="reward") == (32, 32)
    assert sizes(on_cpus(1), batch=48) == (48, 48)
    assert sizes(on_cpus(1), batch=4096) == (4096, 64)
    assert sizes(on_cpus(8), micro_batch=64) == (512, 64)


def test_a_gpu_takes_the_micro_batch_that_its_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    gpus = Devices(is_gpu=True, use_bf16=True, use_varlen=True, world=World(8, 1))
    for gigabytes, of_large, of_base, exactly in ((8, 64, 128, 64), (24, 128, 512, 256), (80, 512, 1024, 512)):
        memory = SimpleNamespace(total_memory=gigabytes * 10**9)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device, memory=memory: memory)
        assert sizes(gpus, batch=16384, size="large") == (16384, of_large)
        assert sizes(gpus, batch=16384, size="base") == (16384, of_base)
        assert sizes(replace(gpus, use_bf16=False), batch=16384, size="base") == (16384, exactly)
        assert sizes(gpus, batch=16384, size="small") == (16384, 2048)
    assert sizes(gpus) == (256, 32)
    config = TrainConfig(stage="rank", data=DataConfig(path="."))
    assert chosen_batch(config, gpus, is_resumed=False)[1].endswith("--data.batch 16384 would keep all GPUs busy")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((256, None), "data.batch=256 cannot be shared equally by 6 devices: the nearest that .*: 252 and 258$"),
        ((256, 64), "6 devices in micro-batches of data.micro_batch=64: the nearest that can be shared: 384$"),
        ((258, 2), "in micro-batches of data.micro_batch=2: .*: 252 and 264; or leave the micro-batch to the program"),
    ],
)
def test_a_given_batch_that_cannot_be_shared_is_refused_with_the_nearest(
    given: tuple[int, int | None], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sizes(on_cpus(6), *given)


def test_a_resumed_run_keeps_its_batch_and_makes_micro_batches_smaller_if_it_must() -> None:
    assert sizes(on_cpus(2), 32, 16, resumed=True) == (32, 16)
    assert sizes(on_cpus(4), 32, 16, resumed=True) == (32, 8)
    assert sizes(on_cpus(6), 264, 66, resumed=True) == (264, 44)
    with pytest.raises(ValueError, match="by 16 devices: continue the run with 12 or 22 "):
        sizes(on_cpus(16), 264, 33, resumed=True)
