"""Checkpoints, with which a run is resumed as if it had never stopped.

A checkpoint holds the state at the end of an optimiser step, before the validation of that step, even if it is written
during or after the validation. A resumed run whose validation is due validates first. So there is one kind of state to
restore, without any state of a validation.
"""

import math
import pickle
import shutil
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
import torch
from lightning.fabric.plugins.io.checkpoint_io import CheckpointIO

from annotate.runtime.files import replacing
from kanachan.config import WEIGHTS_NAME
from kanachan.data.loader import StepLoader
from kanachan.training.ancestry import Ancestry
from kanachan.training.logged_module import logged
from kanachan.training.run_folder import BEST_NAME
from kanachan.training.stopping import RunStopped, StopSignals, Wish, WishExchange

LAST_NAME = "last.ckpt"
PREVIOUS_NAME = "previous.ckpt"
UNCOOLED_NAME = "before-cooldown.ckpt"
_FORMAT = "format_version"
_VERSION = 4
"""4: says whether the average forgets its start"""


class CheckpointFiles(CheckpointIO):
    """Writes a checkpoint to a temporary file, then moves it to its path; keeps the older one as the previous one.
    `resumed`: the checkpoint that the run is resumed from, and its content, which is not read again. If it is the
    previous one, because the last one is damaged, the first checkpoint written replaces only the last one."""

    def __init__(self, resumed: tuple[Path, dict[str, Any]] | None) -> None:
        self._resumed = resumed
        self._keeps_previous = resumed is not None and resumed[0].name == PREVIOUS_NAME

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        final_path = Path(path)
        with replacing(final_path) as temporary:
            try:
                torch.save(checkpoint, temporary)
            except RuntimeError as error:  # raised by torch if the disk is full
                raise OSError(
                    f"{final_path} could not be written (is the disk full?); the one before it is untouched: {error}"
                ) from error
            if final_path.exists() and not self._keeps_previous:
                final_path.replace(final_path.with_name(PREVIOUS_NAME))
        self._keeps_previous = False

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        assert self._resumed is not None and self._resumed[0] == Path(path)
        checkpoint, self._resumed = self._resumed[1], None
        return checkpoint

    def remove_checkpoint(self, path: Any) -> None:
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Reads a checkpoint: tensors and plain values, never code. The tensors stay in the file, mapped into memory that
    the processes of a machine share, until they are copied.

    Raises ValueError naming the file if it is truncated, damaged or not a checkpoint.
    """
    try:
        with zipfile.ZipFile(path) as file:
            damaged = file.testzip()  # torch does not verify checksums
        if damaged is not None:
            raise ValueError(f"{path}: damaged: {damaged} differs from its checksum")
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (zipfile.BadZipFile, RuntimeError, EOFError, pickle.UnpicklingError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path}: truncated, or not a checkpoint ({reason})") from error


class Schedule(NamedTuple):
    """Start and end of the cool-down of the learning rate; stored in checkpoints."""

    cooldown_start: int
    last_step: int


def checkpoint_to_resume(folder: Path, schedule: Schedule) -> tuple[Path, dict[str, Any]]:
    """Reads the checkpoint from which a run with this schedule is resumed: the newest one, or the one before the
    cool-down if it was part of another schedule (a run is trained further). Returns the path and the content.

    Raises ValueError, which names the files, if none can be read, if the cool-down would begin before the checkpoint,
    or if the run has already taken more steps than the schedule has.
    """
    path, checkpoint = _newest_checkpoint(folder, (LAST_NAME, PREVIOUS_NAME))
    if (was := Schedule(*checkpoint["schedule"])) != schedule and checkpoint["global_step"] > was.cooldown_start:
        if was.cooldown_start == 0:
            raise ValueError(
                f"{folder.parent}: its learning rate has fallen from the first step on (optim.cooldown), so that it "
                "cannot be given another length: start a new one"
            )
        path, checkpoint = _newest_checkpoint(folder, (UNCOOLED_NAME,))
    step, was = checkpoint["global_step"], Schedule(*checkpoint["schedule"])
    if was != schedule and schedule.cooldown_start < step <= schedule.last_step:
        left = schedule.last_step - step
        shorter = f", or a shorter --optim.cooldown, for instance {left}" if left > 1 else ""  # 1 is the whole run
        raise ValueError(
            f"{path}: has taken {step:,} steps at the full learning rate, but the cool-down of a run of "
            f"{schedule.last_step:,} steps begins after {schedule.cooldown_start:,}: give more --run.steps{shorter}"
        )
    if step > schedule.last_step:
        raise ValueError(
            f"{folder.parent}: has taken {step:,} steps already, more than the {schedule.last_step:,} of run.steps"
        )
    return path, checkpoint


def require_same_inputs(checkpoint: Mapping[str, Any], loader: StepLoader, other_weights: Mapping[str, str]) -> None:
    """Raises ValueError if a run has other data, or other weights besides --init, than at its checkpoint; to be called
    before its folder is changed. `loader`: a new loader of its data."""
    saved = _own_state(checkpoint)["other_weights"]
    for setting in sorted(other_weights.keys() | saved):
        before, now = (hashes.get(setting, "none") for hashes in (saved, other_weights))
        if before != now:
            raise ValueError(
                f"{setting}: the run was started with the weights {before}, now they are {now}: it cannot be resumed "
                "with others"
            )
    for state in checkpoint["loops"]["fit_loop"]["state_dict"].get("combined_loader", []):
        loader.load_state_dict(state)


def ancestry_in(checkpoint: Mapping[str, Any]) -> Ancestry:
    """Returns the ancestry of the run that wrote a checkpoint."""
    return Ancestry.of_json(_own_state(checkpoint), "the checkpoint")


def _own_state(checkpoint: Mapping[str, Any]) -> Mapping[str, Any]:
    return checkpoint["callbacks"][CheckpointCallback.__name__]


def _newest_checkpoint(folder: Path, names: Sequence[str]) -> tuple[Path, dict[str, Any]]:
    """Reads the first of these checkpoints that is readable; reports unreadable ones before it.

    Raises ValueError, which names the files, if none is readable.
    """
    reasons = []
    for path in (folder / name for name in names):
        if path.exists():
            try:
                checkpoint = read_checkpoint(path)
            except ValueError as error:
                reasons.append(str(error))
            else:
                if (version := checkpoint.get(_FORMAT)) != _VERSION:
                    raise ValueError(
                        f"{path}: a checkpoint of format version {version}, but this program has {_VERSION}: begin "
                        "another run with --init, or use the version of the program that wrote it"
                    )
                for reason in reasons:
                    print(f"{reason}; resuming from {path}, step {checkpoint['global_step']}", file=sys.stderr)
                return path, checkpoint
    problem = "; ".join(reasons) or f"{folder}: there is no {' or '.join(names)}"
    whole = [path for path in (folder / BEST_NAME, folder.parent / WEIGHTS_NAME) if path.is_file()]
    if whole:
        problem += f"; its best weights are intact: begin another run from them with --init {whole[0]} -o ANOTHER"
    raise ValueError(problem)


class CheckpointCallback(L.Callback):
    """Writes a checkpoint into `folder` every `minutes`, before the cool-down and after the last step. If any process
    has received a stop signal, writes one and stops the run.

    The order of a step and its validation, with Lightning's hooks:

        on_train_batch_end         the row of the log; a checkpoint, if one is due; if a validation follows, the state
                                   of Lightning's loops is noted
        on_validation_batch_start  if a signal has come: a checkpoint of the step, with the noted state
        on_validation_end          if the run ends early: the same

    A checkpoint of a step whose validation is due therefore always precedes it; `on_train_start` of the resumed run
    validates.
    """

    def __init__(
        self,
        folder: Path,
        minutes: float,
        steps_between_validations: int,
        schedule: Schedule,
        ancestry: Ancestry,
        other_weights: Mapping[str, str],
        signals: StopSignals,
    ) -> None:
        self.path = folder / LAST_NAME
        self.schedule = schedule
        self.ancestry = ancestry
        self.other_weights = dict(other_weights)
        """hashes of the weights that are used besides --init, by setting (`require_same_inputs`)"""
        self.signals = signals
        self._exchange = WishExchange()
        self._seconds = 60 * minutes
        self._due = math.inf
        self._steps_between_validations = steps_between_validations
        self._saved_step = 0
        self._loops_before_validation: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        return {**self.ancestry.as_json(), "other_weights": self.other_weights}

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]) -> None:
        checkpoint[_FORMAT] = _VERSION
        checkpoint["schedule"] = list(self.schedule)
        if self._loops_before_validation is not None:
            checkpoint["loops"] = self._loops_before_validation

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        # Lightning would broadcast its own flag with every batch and wait for the device
        trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]
        self._due = time.monotonic() + self._seconds
        self._saved_step = step = trainer.global_step
        if 0 < step == self.schedule.cooldown_start < self.schedule.last_step and trainer.is_global_zero:
            assert trainer.ckpt_path is not None
            self._keep_uncooled(Path(trainer.ckpt_path))
        if 0 < step < self.schedule.last_step and step % self._steps_between_validations == 0:
            _validate(trainer)

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._loops_before_validation = None  # without a validation split, `on_validation_end` does not reset it
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        step = trainer.global_step
        wish = self._most_urgent_wish(trainer, step, trainer.accumulate_grad_batches)
        cools = step == self.schedule.cooldown_start < self.schedule.last_step
        if wish or cools or step == self.schedule.last_step:
            # Lightning calls the module after its callbacks, but the row of this step must precede the checkpoint.
            module = logged(pl_module)
            module.log_if_due()
            module.require_finite(step)
            self._save(trainer)
            if cools and trainer.is_global_zero:
                self._keep_uncooled(self.path)
        if wish == Wish.STOP:
            self._stop(step)
        if step % self._steps_between_validations == 0 and step != self._saved_step:
            self._loops_before_validation = deepcopy(trainer._checkpoint_connector._get_loops_state_dict())
        if step == self.schedule.last_step:
            trainer.val_check_batch = 1  # Lightning also validates after the last step, whatever its number

    def on_validation_batch_start(
        self, trainer: L.Trainer, pl_module: L.LightningModule, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        if trainer.state.fn == "fit" and self._most_urgent_wish(trainer, batch_idx, 1) == Wish.STOP:
            if trainer.global_step != self._saved_step:
                self._save(trainer)
            self._stop(trainer.global_step)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if trainer.state.fn == "fit" and trainer.should_stop:
            # The run ends here, and its weights are read from the checkpoint, which also has the counts of this
            # validation. The steps since the last row are written before, so that a run that continues from the
            # checkpoint does not count them again.
            logged(pl_module).log_rest()
            self._save(trainer)
        self._loops_before_validation = None

    def _keep_uncooled(self, checkpoint: Path) -> None:
        """Copies the checkpoint at the start of the cool-down, so that the run can be trained further."""
        with replacing(self.path.with_name(UNCOOLED_NAME)) as temporary:
            shutil.copyfile(checkpoint, temporary)

    def _save(self, trainer: L.Trainer) -> None:
        trainer.save_checkpoint(self.path)
        self._saved_step = trainer.global_step
        self._due = time.monotonic() + self._seconds

    def _most_urgent_wish(self, trainer: L.Trainer, number: int, batches: int) -> Wish:
        own = Wish.CHECKPOINT if time.monotonic() >= self._due else Wish.NOTHING
        own = own if self.signals.received is None else Wish.STOP
        return self._exchange.most_urgent(own, trainer, number, batches)

    def _stop(self, step: int) -> None:
        received = self.signals.received
        raise RunStopped(received.name if received else "a signal to another process", step)


def _validate(trainer: L.Trainer) -> None:
    """Runs the validation that was due when the checkpoint was written; Lightning would skip it."""
    loop = trainer.fit_loop.epoch_loop.val_loop
    loop.restarting = False
    trainer.validating = True
    loop.run()
    trainer.training = True
