"""Runs one stage: sets up data, network, trainer and log, trains, and writes the weights file."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import cast

import lightning as L
import torch
from lightning.pytorch.loggers import Logger, TensorBoardLogger
from lightning.pytorch.strategies import Strategy

from annotate.runtime.files import locking, remove_parts
from annotate.runtime.garbage import no_search_of_what_is_there
from annotate.runtime.signals import end_with_parent, handling
from annotate.runtime.terminal import is_out_of_memory
from kanachan.config import WEIGHTS_NAME, RunConfig, TrainConfig
from kanachan.data.loader import Share
from kanachan.models.card import file_hash, read_card
from kanachan.models.device import set_up_kernels
from kanachan.objectives.stages import OTHER_KINDS
from kanachan.training import curriculum_stage
from kanachan.training.batch_sizes import chosen_batch
from kanachan.training.best_weights import BestCheckpoint
from kanachan.training.checkpointing import (
    LAST_NAME,
    UNCOOLED_NAME,
    CheckpointCallback,
    CheckpointFiles,
    Schedule,
    ancestry_in,
    checkpoint_to_resume,
    require_same_inputs,
)
from kanachan.training.command_line import Request
from kanachan.training.compilation import require_compiler
from kanachan.training.data_source import DataSource, SourceData
from kanachan.training.deepspeed import ZeroStrategy
from kanachan.training.devices import Devices, devices_of, multiplies_bf16
from kanachan.training.ema import EMA
from kanachan.training.initialization import other_weights
from kanachan.training.learner import StageKind
from kanachan.training.logged_module import LoggedModule
from kanachan.training.loggers import MetricsFile
from kanachan.training.metric_names import METRICS_NAME, metrics_text
from kanachan.training.processes import SameChoices, World, is_launched, placement_of, this_rank
from kanachan.training.progress import Progress
from kanachan.training.run_folder import BEST_NAME, CHECKPOINTS, CONFIG_NAME, LENGTH, save_config, settings_as_json
from kanachan.training.run_length import steps_between_validations, steps_of
from kanachan.training.seeding import DeterministicSeeding
from kanachan.training.stopping import RunStopped, StopSignals
from kanachan.training.strategies import is_lost_process, leave_processes, strategy_of
from kanachan.training.throughput import matrix_flops_per_second
from kanachan.training.wandb_run import finish_wandb, wandb_group, wandb_logger, wandb_mode
from kanachan.training.weights_writer import WeightsWriter

_LEAST_STEPS_WITH_PEAK = 40  # shorter runs do not measure the peak speed of their device


def run_stage(request: Request) -> int:
    """Trains, validates and writes the weights file; returns the exit status.

    Raises ValueError for errors that the user can correct, OSError if a file cannot be written.
    """
    out = Path(request.config.run.out)
    if request.resume and _has_ended(request.config, out):
        if this_rank() == 0:
            print(f"{out}: the run has ended already; its weights are in {out / WEIGHTS_NAME}")
        return 0
    with ExitStack() as held:
        return _Run(request, held).train(held)


def _has_ended(config: TrainConfig, out: Path) -> bool:
    """Returns whether the folder holds the weights of a run of this length. When a run is trained further, the weights
    of the shorter run stay there until it ends."""
    if not (out / WEIGHTS_NAME).is_file():
        return False
    ended, now = read_card(out / WEIGHTS_NAME)["config"], settings_as_json(config)
    return all(ended[section][name] == now[section][name] for section, name in (each.split(".") for each in LENGTH))


class _Run:
    """One run: its data, network and settings, resolved for the devices. `held`: keeps the lock on the run folder, in
    both methods, and handles signals."""

    def __init__(self, request: Request, held: ExitStack) -> None:
        self.out, self.is_zero = Path(request.config.run.out), this_rank() == 0
        self.signals = StopSignals()
        held.enter_context(handling(StopSignals.NUMBERS, self.signals))
        self.devices = _set_up(request.config.run)
        if request.resume and self.is_zero:
            # before the checkpoint is read, because another process in this folder could replace it meanwhile
            held.enter_context(_locked(self.out))
        data, self.about_batch = chosen_batch(request.config, self.devices, is_resumed=request.resume)
        run = request.config.run
        if run.precision == "auto":  # saved with the run, so that a resumed run has the same precision
            run = replace(run, precision="bf16" if self.devices.use_bf16 else "fp32")
        config = replace(request.config, run=run, data=data)
        kind: StageKind = curriculum_stage
        if config.stage in OTHER_KINDS:
            kind = cast("StageKind", import_module(OTHER_KINDS[config.stage]))
        self.data = kind.open_data(config, self.devices)
        self.steps = steps_of(config, self.data)
        self.schedule = Schedule(config.optim.cooldown_start(self.steps), self.steps)
        # the checkpoint's content stays in memory until it is loaded
        resumed = checkpoint_to_resume(self.out / CHECKPOINTS, self.schedule) if request.resume else None
        self.files = CheckpointFiles(resumed)
        self.checkpoint: Path | None = None if resumed is None else resumed[0]
        self.first_step: int = -1 if resumed is None else resumed[1]["global_step"]
        if config.run.early_stopping and not self.data.num_validation_rows:
            raise ValueError(
                f"run.early_stopping={config.run.early_stopping} needs a validation split, and {self.data.name} has "
                "none: kanachan-pack --fractions 0.8,0.1,0.1 makes one; or leave the setting out"
            )
        self.interval = steps_between_validations(config, self.steps, self.data)
        self.learner = kind.make_learner(config, self.devices, self.data, self.steps, is_resumed=request.resume)
        self.other_weights = {setting: file_hash(name) for setting, name in other_weights(config).items()}
        self.ancestry = self.learner.ancestry
        if resumed is not None:
            self.ancestry = ancestry_in(resumed[1])
            require_same_inputs(resumed[1], self.data.train_batches(Share(0, 1)), self.other_weights)
        group = wandb_group(config, config.init)
        self.config = replace(config, run=replace(config.run, group=group))

    def train(self, held: ExitStack) -> int:
        """Trains, validates and writes the weights; returns the exit status."""
        config, stage = self.config, self.learner.module
        placed = config
        if self.first_step == self.steps:
            # only the validation and the weights file are missing; one process is enough for them
            if not self.is_zero:
                return 0
            self.devices = replace(self.devices, world=World(1, 1))
            placed = replace(config, run=replace(config.run, strategy="plain", deepspeed=None))
        num_parameters = sum(p.numel() for p in stage.network.parameters())
        name, strategy, summary = strategy_of(placed, self.devices, num_parameters)
        mode = wandb_mode(config) if self.is_zero else "disabled"
        if self.is_zero:
            if self.checkpoint is None:
                held.enter_context(_locked(self.out))
            save_config(config, self.out / CONFIG_NAME)  # also for a resumed run: devices or paths may differ
        loggers = self._loggers(mode) if self.is_zero else []
        writer = WeightsWriter(config, self.data, self.ancestry, self.learner.card)
        best_path, patience = self.out / CHECKPOINTS / BEST_NAME, config.run.early_stopping
        best = BestCheckpoint(best_path, writer.write_best, patience, self.schedule)
        trainer = self._trainer(strategy, loggers, self._callbacks(name, best))
        if self.steps >= _LEAST_STEPS_WITH_PEAK:
            stage.meter.peak = matrix_flops_per_second(strategy.root_device, self.devices.dtype)
        if self.is_zero:
            self._announce(f"{summary}, wandb {mode}")
        try:
            _fit(trainer, stage, self.data, self.checkpoint)
        except RunStopped as stopped:
            finish_wandb(loggers, [])
            if self.is_zero:
                print(f"{stopped}; resume with: kanachan-train --resume {self.out}", flush=True)
            # on the nonzero status of another process, Lightning would kill the first one, which may still be sending
            return 130 if stopped.signal_name == "SIGINT" and self.is_zero else 0
        if self.is_zero:
            self._finish(trainer, best, writer)
        return 0

    def _callbacks(self, strategy: str, best: BestCheckpoint) -> list[L.Callback]:
        config, (batch, micro_batch) = self.config, self.config.data.sizes
        choices: dict[str, object] = {"data.batch": batch, "data.micro_batch": micro_batch, "run.strategy": strategy}
        choices["run.precision"] = config.run.precision
        choices["run.attention"] = "packed" if self.devices.use_varlen else "padded"
        callbacks = [SameChoices(choices), DeterministicSeeding(config.run.seed)]
        callbacks += [Progress(self.steps, self.learner.samples), best]
        average = config.optim.average
        callbacks += [EMA(average, forgets=not self.learner.is_whole)] if average else []
        checkpoints = CheckpointCallback(
            self.out / CHECKPOINTS,
            minutes=config.run.checkpoint_minutes,
            steps_between_validations=self.interval,
            schedule=self.schedule,
            ancestry=self.ancestry,
            other_weights=self.other_weights,
            signals=self.signals,
        )
        return [*callbacks, checkpoints]  # last: a checkpoint includes what the other callbacks did in its step

    def _loggers(self, mode: str) -> list[Logger]:
        """Opens the loggers of the metrics; only the first process may call it. `mode`: wandb's mode."""
        config, step = self.config, self.first_step
        # a run that is trained further does not repeat its last validation, unless one is due
        keeps_validation = (self.out / WEIGHTS_NAME).is_file() and step % self.interval != 0 and step != self.steps
        loggers: list[Logger] = [MetricsFile(self.out / METRICS_NAME, step, keeps_validation=keeps_validation)]
        if config.run.tensorboard:
            # TensorBoard ignores rows that an earlier process wrote after this step
            loggers.append(TensorBoardLogger(self.out, name="", version="tensorboard", purge_step=step + 1))
        if mode != "disabled":
            # wandb cannot remove the rows of the cool-down
            is_resumed = self.checkpoint is not None and self.checkpoint.name != UNCOOLED_NAME
            loggers.append(
                wandb_logger(config, mode, self.data.description, self.ancestry.lineage, is_resumed=is_resumed)
            )
        return loggers

    def _trainer(self, strategy: Strategy, loggers: list[Logger], callbacks: list[L.Callback]) -> L.Trainer:
        config, devices = self.config, self.devices
        batch, micro_batch = config.data.sizes
        accumulate = batch // (micro_batch * devices.world.size)
        placed, num_nodes, environment = placement_of(devices.world, devices.of_this_process.index)
        limit = config.run.validate_batches
        is_mixed = devices.use_bf16 and not isinstance(strategy, ZeroStrategy)  # DeepSpeed mixes precisions itself
        trainer = L.Trainer(
            accelerator="gpu" if devices.is_gpu else "cpu",
            devices=placed,
            num_nodes=num_nodes,
            strategy=strategy,
            precision="bf16-mixed" if is_mixed else "32-true",
            max_steps=self.steps,
            max_epochs=-1,
            accumulate_grad_batches=accumulate,
            gradient_clip_val=config.optim.clip or None,
            val_check_interval=self.interval * accumulate,
            check_val_every_n_epoch=None,
            limit_val_batches=1.0 if limit is None else limit,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            logger=loggers,
            callbacks=callbacks,
            plugins=[self.files, environment],
            default_root_dir=self.out,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        # Lightning's SIGTERM handler runs a collective operation at any moment; `StopSignals` are installed already
        trainer._signal_connector.register_signal_handlers = lambda: None  # type: ignore[method-assign]
        return trainer

    def _announce(self, devices: str) -> None:
        config, data, learner, steps = self.config, self.data, self.learner, self.steps
        origin = learner.origin if self.checkpoint is None else f"resumed from step {self.first_step}"
        parameters = dict(learner.module.network.named_parameters())
        in_encoder = sum(p.numel() for name, p in parameters.items() if name.startswith("encoder."))
        about = f", {in_encoder:,} of them in the encoder" if in_encoder else ""
        batch, samples, rows = config.data.sizes[0], learner.samples, f"{data.num_train_rows:,}"
        epochs = steps * batch / data.num_train_rows
        print(
            f"stage {config.stage}, {origin}\n"
            f"network: {sum(p.numel() for p in parameters.values()):,} parameters{about}\n"
            f"data: {data.name}: {rows} {samples} to train on, {data.num_validation_rows:,} to validate on\n"
            f"steps: {steps:,} of {batch} {samples} ({epochs:.2f} epochs)\n"
            f"{self.about_batch}\n"
            f"devices: {devices}\n"
            f"folder: {self.out}",
            flush=True,
        )
        if learner.module.meter.peak is not None:
            print(f"matrix products: {learner.module.meter.peak / 1e9:,.0f} GFLOP/s", flush=True)
        slow = config.optim.warmup_steps(steps)
        if steps <= slow:
            print(
                f"warning: this run ends at step {steps:,}, before the learning rate has risen: optim.warmup takes "
                f"{slow:,} steps; train for longer (--run.steps), or lower optim.warmup",
                flush=True,
            )
        if self.devices.use_bf16 and not multiplies_bf16(self.devices.is_gpu):
            new = "" if self.checkpoint is None else "a new run with "
            print(f"warning: no bf16 units here; {new}--run.precision fp32 is much faster on a CPU", flush=True)
        if config.run.compile:
            print("compiling the network: the first step, and the first validation, take a minute or more", flush=True)

    def _finish(self, trainer: L.Trainer, best: BestCheckpoint, writer: WeightsWriter) -> None:
        """Writes the weights file, from the last checkpoint or of the best step; prints its path and, if these are not
        the last weights, their metrics."""
        last = self.out / CHECKPOINTS / LAST_NAME
        if self.checkpoint is not None and trainer.global_step == self.first_step:
            last = self.checkpoint  # perhaps the one before the cool-down, if the run now ends there
        if self.data.num_validation_rows and best.latest[0] != trainer.global_step:
            # the run was killed just before its last validation
            trainer.validate(self.learner.module, datamodule=SourceData(self.data), verbose=False)
        best.write()
        metrics, best_step = best.latest[1], None
        if best.patience is not None and best.step is not None:
            metrics, best_step = best.metrics, best.step
        lineage = writer.write_last(last, metrics, trainer.global_step, best_step)
        finish_wandb(trainer.loggers, lineage)
        if best_step not in (None, trainer.global_step):
            print(f"validation of the best weights, of step {best_step:,}: {metrics_text(metrics)}")
        print(f"weights: {self.out / WEIGHTS_NAME}", flush=True)


@no_search_of_what_is_there()
def _fit(trainer: L.Trainer, stage: LoggedModule, data: DataSource, checkpoint: Path | None) -> None:
    """Trains the stage; raises ConnectionError if another process of the run is gone."""
    try:
        trainer.fit(stage, datamodule=SourceData(data), ckpt_path=checkpoint, weights_only=True)
    except RunStopped:  # all processes have agreed to stop
        raise
    except BaseException as error:
        leave_processes()
        if not isinstance(error, RuntimeError):
            raise
        if is_out_of_memory(error):
            advice = (
                "try a smaller --data.micro_batch (in a validation --data.validation_batch), or --run.recompute true"
            )
            raise MemoryError(f"{advice} [{str(error).splitlines()[0]}]") from error
        if not is_lost_process(error):
            raise
        raise ConnectionError(
            f"rank {this_rank()} has lost another process of the run (look for its message; it may have been killed). "
            f"Resume with: kanachan-train --resume {trainer.default_root_dir}. [{str(error).splitlines()[0]}]"
        ) from error


def _set_up(config: RunConfig) -> Devices:
    # Lightning's hints do not apply here.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
    # except the message that a process has ended and the others are therefore ended
    logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script").setLevel(logging.INFO)
    warnings.filterwarnings("ignore", module=r"lightning\.")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\.distributed")  # from DeepSpeed's calls
    if config.threads is not None:
        torch.set_num_threads(config.threads)
        os.environ["OMP_NUM_THREADS"] = str(config.threads)  # else Lightning divides the cores among its processes
    L.seed_everything(config.seed, verbose=False)
    if this_rank() and not is_launched():  # Lightning has started this process from the first one
        end_with_parent()
    devices = devices_of(config)
    set_up_kernels(is_exact=config.precision == "fp32" or not devices.is_gpu)
    require_compiler(config, is_gpu=devices.is_gpu)
    return devices


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Makes and locks the run folder; raises an error before the training if the folder cannot be written or another
    process has locked it."""
    (out / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    with locking(out / CHECKPOINTS / ".lock", f"{out}: another process is training in this folder"):
        for folder in (out, out / CHECKPOINTS):
            remove_parts(folder)
        yield
