"""Every way to start processes: by Slurm, by torchrun, or plainly."""

import os
from importlib.util import find_spec

import lightning as L
import pytest
import torch
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.strategies import Strategy

from kanachan.config import RunConfig
from kanachan.training.deepspeed import ZeroStrategy
from kanachan.training.devices import devices_of
from kanachan.training.processes import World, placement_of, this_rank
from kanachan.training.strategies import make_strategy

NODE = {"SLURM_JOB_ID": "77", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NNODES": "2", "SLURM_NTASKS": "16"}
SBATCH = {**NODE, "SLURM_JOB_NAME": "train", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
"""the batch script itself, which has a task but no step"""
STEP = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "16", "SLURM_STEP_NUM_NODES": "2"}
STEP |= {"SLURM_STEP_TASKS_PER_NODE": "8(x2)", "SLURM_STEP_NODELIST": "n[1-2]"}
TASK = {**NODE, **STEP, "SLURM_JOB_NAME": "train", "SLURM_PROCID": "11", "SLURM_LOCALID": "3"}
CYCLIC = {"SLURM_PROCID": "7"}  # --distribution=cyclic deals ranks out to machines in turn
BOUND = {"SLURM_GPUS_ON_NODE": "8"}
SHELL = {"SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_NUM_NODES": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}
TORCHRUN = {"TORCHELASTIC_RUN_ID": "x", "LOCAL_WORLD_SIZE": "8", "WORLD_SIZE": "16", "GROUP_RANK": "1"}
TORCHRUN |= {"RANK": "11", "LOCAL_RANK": "3", "MASTER_ADDR": "n1", "MASTER_PORT": "29500"}


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes torch report a machine with eight GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 8, raising=False)
    see(monkeypatch, 8)


def see(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


def set_only(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("SLURM_") or name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MASTER_ADDR", "")  # so that it is restored
    monkeypatch.delenv("MASTER_ADDR")
    monkeypatch.setattr(rank_zero_only, "rank", 0)  # likewise
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def trainer_of(world: World, gpu: int, strategy: Strategy) -> L.Trainer:
    devices, num_nodes, environment = placement_of(world, gpu)
    return L.Trainer(
        accelerator="gpu",
        devices=devices,
        num_nodes=num_nodes,
        plugins=[environment],
        strategy=strategy,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("environment", "seen", "world", "rank", "gpu"),
    [
        ({}, 8, World(8, 1), 0, 0),  # plainly
        ({}, 1, World(1, 1), 0, 0),
        ({"LOCAL_RANK": "3", "MASTER_ADDR": "127.0.0.1"}, 8, World(8, 1), 3, 3),  # started by the first process
        ({**NODE, "SLURM_JOB_NAME": "interactive"}, 8, World(8, 1), 0, 0),  # plainly, in the shell of salloc
        (SBATCH, 8, World(8, 1), 0, 0),
        ({**SBATCH, "LOCAL_RANK": "3", "MASTER_ADDR": "127.0.0.1"}, 8, World(8, 1), 3, 3),  # started by the first one
        ({**SBATCH, "SLURM_STEP_ID": str((1 << 32) - 6)}, 8, World(8, 1), 0, 0),  # the step of salloc's shell
        ({**TASK, **SHELL, "SLURM_JOB_NAME": "bash"}, 8, World(8, 1), 0, 0),  # srun --pty bash
        ({**TASK, **SHELL}, 8, World(8, 1), 0, 0),  # srun --ntasks=1
        ({**TASK, "SLURM_NTASKS_PER_NODE": "8"}, 8, World(8, 2), 11, 3),
        (TASK, 8, World(8, 2), 11, 3),  # srun --ntasks=16
        ({n: v for n, v in TASK.items() if n != "SLURM_NTASKS"}, 8, World(8, 2), 11, 3),
        ({**TASK, **CYCLIC}, 8, World(8, 2), 7, 3),
        ({**TASK, "SLURM_JOB_NAME": "interactive"}, 8, World(8, 2), 11, 3),  # srun inside of salloc
        ({**TASK, **BOUND}, 1, World(8, 2), 11, 0),  # srun --gpus-per-task=1
        (TORCHRUN, 8, World(8, 2), 11, 3),
        ({**TASK, **SHELL, **TORCHRUN}, 8, World(8, 2), 11, 3),  # srun --ntasks-per-node=1 torchrun
    ],
)
def test_every_process_has_its_rank_and_its_gpu(
    environment: dict[str, str], seen: int, world: World, rank: int, gpu: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_only(environment, monkeypatch)
    see(monkeypatch, seen)
    devices = devices_of(RunConfig())
    assert (devices.world, this_rank(), devices.of_this_process) == (world, rank, torch.device("cuda", gpu))
    strategy = make_strategy("plain" if world.size == 1 else "ddp", RunConfig(), devices, 16)
    trainer = trainer_of(world, gpu, strategy)
    assert (trainer.global_rank, trainer.world_size) == (rank, world.size)
    assert trainer.strategy.root_device == torch.device("cuda", gpu)


@pytest.mark.usefixtures("gpus")
@pytest.mark.skipif(find_spec("deepspeed") is None, reason="DeepSpeed is not installed")
@pytest.mark.parametrize(
    ("environment", "seen", "gpu"),
    [(TASK, 8, 3), ({**TASK, **CYCLIC}, 8, 3), ({**TASK, **BOUND}, 1, 0), (TORCHRUN, 8, 3)],
)
def test_deepspeed_takes_the_gpu_of_its_process(
    environment: dict[str, str], seen: int, gpu: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import deepspeed

    set_only(environment, monkeypatch)
    see(monkeypatch, seen)
    devices = devices_of(RunConfig())
    trainer = trainer_of(devices.world, gpu, make_strategy("zero2", RunConfig(), devices, 16))
    taken = []
    monkeypatch.setattr(deepspeed, "init_distributed", lambda *_, **__: taken.append(os.environ["LOCAL_RANK"]))
    for name in {"LOCAL_RANK", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} - environment.keys():
        monkeypatch.setenv(name, "")  # so that it is restored after the strategy sets it
        monkeypatch.delenv(name)
    assert isinstance(trainer.strategy, ZeroStrategy)
    trainer.strategy.setup_distributed()
    assert taken == [str(gpu)]


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("environment", "seen", "message"),
    [
        (TASK, 4, "Slurm has started 8 processes on this machine, and torch sees 4 GPUs here: .*--ntasks-per-node=4"),
        ({**TASK, "SLURM_GPUS_ON_NODE": "1"}, 1, "torch sees 1 GPUs here: .*--gpus-per-node=8"),
        ({**TASK, "SLURM_STEP_TASKS_PER_NODE": "9,7"}, 8, "16 tasks on 2 machines .9,7.*: give srun --ntasks-per-node"),
        ({**TORCHRUN, "WORLD_SIZE": "12"}, 8, "started 8 of 12 processes on this machine.*the same --nproc-per-node"),
        (TORCHRUN, 4, "torchrun has started 8 processes .*: start them with --nproc-per-node 4"),
    ],
)
def test_processes_that_do_not_fit_the_gpus_are_refused_in_one_line(
    environment: dict[str, str], seen: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_only(environment, monkeypatch)
    see(monkeypatch, seen)
    with pytest.raises(ValueError, match=message):
        devices_of(RunConfig())


@pytest.mark.parametrize(
    ("settings", "environment", "message"),
    [
        ({"accelerator": "gpu"}, {}, "^--run.accelerator gpu: a GPU is expected, and torch sees none here .Torch"),
        ({}, {"SLURM_GPUS_ON_NODE": "8"}, "^SLURM_GPUS_ON_NODE: a GPU is expected, .* --run.accelerator cpu trains on"),
        ({"accelerator": "cpu", "devices": 2}, TORCHRUN, "--run.devices 2: torchrun has started 8; leave it out"),
    ],
)
def test_settings_that_contradict_the_machine_or_the_launcher_are_refused(
    settings: dict[str, object], environment: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if torch.backends.cuda.is_built() and settings.get("accelerator") != "cpu":
        pytest.skip("with this build of torch the reason is another")
    set_only(environment, monkeypatch)
    with pytest.raises(ValueError, match=message):
        devices_of(RunConfig(**settings))  # type: ignore[arg-type]


def test_gpus_that_are_hidden_on_purpose_are_not_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "8")
    assert not devices_of(RunConfig()).is_gpu
