"""The processes of a run: their number, the rank of this process, and what has started them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import lightning as L
import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.fabric.utilities.rank_zero import _get_rank

from kanachan.config import RunConfig

_NO_STEP = 1 << 31
"""smallest SLURM_STEP_ID of processes that srun has not started"""


@dataclass(frozen=True)
class World:
    """The number of processes."""

    devices: int
    """processes on each machine"""
    nodes: int

    @property
    def size(self) -> int:
        return self.devices * self.nodes


def is_launched() -> bool:
    """Returns whether torchrun or Slurm has started the processes of the run."""
    return _started_processes() is not None


def this_rank() -> int:
    """Returns the rank of this process, before the processes are connected; 0 if there is only one."""
    return _get_rank() or 0


def world_of(run: RunConfig, num_gpus: int | None) -> World:
    """Counts the processes that torchrun or Slurm has started, else the processes that this one will start. `num_gpus`:
    GPUs that this process sees, None if the run uses CPUs. Raises ValueError if the settings contradict the launcher,
    or there are fewer GPUs than processes."""
    started = _started_processes()
    if started is None:
        devices = run.devices or (1 if num_gpus is None else num_gpus)
        if num_gpus is not None and devices > num_gpus:
            raise ValueError(f"--run.devices {devices}: torch sees {num_gpus} GPUs here")
        return World(devices, 1)
    launcher, world = started
    if run.devices not in (None, world.devices):
        raise ValueError(
            f"--run.devices {run.devices}: {launcher} has started {world.devices}; leave it out, or give --run.devices "
            "null if a file or the resumed run sets it"
        )
    has_bound_gpu = launcher == "Slurm" and num_gpus == 1 and _has_gpu_for_each(world)
    if num_gpus is not None and num_gpus < world.devices and not has_bound_gpu:
        option = f"--nproc-per-node {num_gpus}" if launcher == "torchrun" else f"--ntasks-per-node={num_gpus}"
        raise ValueError(
            f"{launcher} has started {world.devices} processes on this machine, and torch sees {num_gpus} GPUs here: "
            f"start them with {option}, or give the job more GPUs (of Slurm, --gpus-per-node={world.devices})"
        )
    return world


def gpu_of_this_process(num_gpus: int) -> int:
    """Returns the index of this process's GPU among the visible ones: the index of the process on its machine, because
    Slurm may distribute ranks to machines in turns."""
    return int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", "0"))) if num_gpus > 1 else 0


class SameChoices(L.Callback):
    """Ends a run at its start if its processes have made different choices, for instance on two kinds of GPU: they
    would wait for each other forever. `choices`: choices of this process, by setting."""

    def __init__(self, choices: Mapping[str, object]) -> None:
        self._choices = dict(choices)

    def setup(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        if trainer.world_size == 1:
            return
        of_ranks: list[Any] = [None] * trainer.world_size
        torch.distributed.all_gather_object(of_ranks, self._choices)
        for setting, chosen in self._choices.items():
            all_chosen = sorted({str(choices[setting]) for choices in of_ranks})
            if len(all_chosen) > 1:
                raise ValueError(
                    f"the devices of this run differ, and its processes have chosen {' and '.join(all_chosen)}: "
                    f"give --{setting}, for instance {chosen}"
                )


def placement_of(world: World, gpu: int | None) -> tuple[int | list[int], int, ClusterEnvironment]:
    """Returns devices, machines and environment with which Lightning places the processes of a run, instead of
    inferring them from the variables of a cluster. `gpu`: GPU of this process; None: the process uses a CPU."""
    started = _started_processes()
    if world.size == 1 or started is None:
        return world.devices, world.nodes, LightningEnvironment()
    if started[0] == "Slurm":
        return 1 if gpu is None else [gpu], world.size, SlurmTasks()
    return world.devices, world.nodes, TorchElasticEnvironment()


def _has_gpu_for_each(world: World) -> bool:
    """Returns whether Slurm may have given each task on this machine its own GPU, as with --gpus-per-task."""
    on_machine = os.environ.get("SLURM_GPUS_ON_NODE", "")
    return not on_machine.isdigit() or int(on_machine) >= world.devices


def _started_processes() -> tuple[str, World] | None:
    environment = os.environ
    if "TORCHELASTIC_RUN_ID" in environment:
        local, size = int(environment["LOCAL_WORLD_SIZE"]), int(environment["WORLD_SIZE"])
        if size % local:
            raise ValueError(
                f"torchrun has started {local} of {size} processes on this machine, and all must have equally many: "
                "give each the same --nproc-per-node"
            )
        return "torchrun", World(local, size // local)
    # only tasks of srun count: a batch script also has a SLURM_PROCID, but no step, or one without a number
    if "SLURM_PROCID" not in environment or int(environment.get("SLURM_STEP_ID", _NO_STEP)) >= _NO_STEP:
        return None
    tasks = int(environment.get("SLURM_STEP_NUM_TASKS", environment.get("SLURM_NTASKS", "1")))
    nodes = int(environment.get("SLURM_STEP_NUM_NODES", environment.get("SLURM_NNODES", "1")))
    if tasks == 1:  # such as the shell of srun --pty bash
        return None
    by_node = environment.get("SLURM_STEP_TASKS_PER_NODE", "")  # such as 8(x2)
    if tasks % nodes or "," in by_node:
        raise ValueError(
            f"srun has started {tasks} tasks on {nodes} machines{f' ({by_node})' * bool(by_node)}, and each must have "
            "equally many: give srun --ntasks-per-node"
        )
    return "Slurm", World(tasks // nodes, nodes)


class SlurmTasks(SLURMEnvironment):
    """The tasks of a Slurm step for Lightning, each presented as a separate machine with one device.

    Lightning's own class does not accept tasks that were started without --ntasks-per-node, tasks that see only their
    own GPU, or jobs with the name "interactive", the one that salloc gives.
    """

    def __init__(self) -> None:
        super().__init__(auto_requeue=False)
        machines = os.environ.get("SLURM_STEP_NODELIST") or os.environ.get("SLURM_JOB_NODELIST", "127.0.0.1")
        os.environ.setdefault("MASTER_ADDR", self.resolve_root_node_address(machines))

    def world_size(self) -> int:
        return int(os.environ.get("SLURM_STEP_NUM_TASKS") or os.environ["SLURM_NTASKS"])

    def local_rank(self) -> int:
        return 0

    def node_rank(self) -> int:
        return self.global_rank()

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        pass

    @staticmethod
    def _validate_srun_used() -> None:
        pass

    @staticmethod
    def _validate_srun_variables() -> None:
        pass
