"""The outputs of a run's metrics: metrics.csv always, wandb if enabled, and the terminal."""

import csv
import json
import netrc
import os
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse

import lightning as L
from lightning.pytorch.loggers import Logger, WandbLogger
from tqdm import tqdm

from annotate.runtime.files import replacing
from kanachan.config import TrainConfig
from kanachan.models.weights import commit_of_program
from kanachan.training.checkpointing import validation_metrics
from kanachan.training.command_line import plain

METRICS_NAME = "metrics.csv"
_WANDB_ID_NAME = "wandb_id.txt"
RELIABILITY_CHART = "calibration/reliability"
_STEP = "step"
_SECONDS_BETWEEN_LINES = 30
_SECONDS_TO_REACH_WANDB = 20
_SECONDS_TO_FINISH_WANDB = 60
"""for what is not yet sent when the run ends; the files remain, and `wandb sync` sends them"""


class MetricsFile(Logger):
    """Writes rows of metrics, each after its optimiser step; a column that is added later is empty in earlier rows.

    Args:
        last_step: rows up to this step are retained (a resumed run passes that of its checkpoint), without the
            validation of the step itself, which comes after the checkpoint and is repeated.
    """

    def __init__(self, path: Path, last_step: int = -1) -> None:
        super().__init__()
        self.path = path
        self._columns = [_STEP]
        rows = []
        if path.exists():
            for row in self._read():
                is_validation = not row.get("train/loss")
                if int(row[_STEP]) + is_validation <= last_step:
                    rows.append(row)
        self._write(rows)

    @property
    def name(self) -> str:
        return "metrics"

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the settings are in config.yaml."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {_STEP: str(step), **{name: repr(float(value)) for name, value in metrics.items()}}
        new = [name for name in row if name not in self._columns]
        if new:
            rows = self._read()
            self._columns += new
            self._write(rows)
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._columns).writerow(row)

    def _read(self) -> list[dict[str, str]]:
        text = self.path.read_text(encoding="utf-8")
        complete = text[: text.rfind("\n") + 1]  # a killed run may have left half a line
        reader = csv.DictReader(complete.splitlines())
        self._columns = list(reader.fieldnames or self._columns)
        return list(reader)

    def _write(self, rows: list[dict[str, str]]) -> None:
        with replacing(self.path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(rows)


def wandb_mode(config: TrainConfig) -> str:
    """Returns the mode of wandb; `auto` is online if a key is set up, else offline."""
    if config.run.wandb != "auto":
        return config.run.wandb
    return "online" if _has_wandb_key() else "offline"


def wandb_logger(
    config: TrainConfig,
    out: Path,
    mode: str,
    data: Mapping[str, Any],
    lineage: Sequence[Mapping[str, Any]],
    *,
    is_resumed: bool,
) -> WandbLogger:
    """Starts the wandb run of this folder; a resumed run continues the same one. If wandb does not respond, the run is
    logged offline, with a message.

    Args:
        data: the description of the data.
        lineage: the stages before this one; the last becomes the artifact that this run uses.
    """
    import wandb

    if not is_resumed:  # an existing id belongs to an earlier attempt that failed
        (out / _WANDB_ID_NAME).unlink(missing_ok=True)
    try:
        return _started(config, out, data, lineage, is_offline=mode == "offline")
    except wandb.errors.Error as error:
        if mode == "offline":
            raise ValueError(f"wandb: {error}; --run.wandb disabled turns it off") from error
        print(
            f"wandb does not respond ({' '.join(str(error).split())}). The run continues offline; to send it later: "
            f"wandb sync {out / 'wandb'}/offline-run-*",
            file=sys.stderr,
        )
        wandb.teardown()
        return _started(config, out, data, lineage, is_offline=True)


def _started(
    config: TrainConfig, out: Path, data: Mapping[str, Any], lineage: Sequence[Mapping[str, Any]], *, is_offline: bool
) -> WandbLogger:
    import wandb

    id_file = out / _WANDB_ID_NAME
    if not id_file.exists():
        id_file.write_text(_id_in_sweep() or secrets.token_hex(4), encoding="utf-8")
    (out / "wandb").mkdir(exist_ok=True)  # wandb falls back to the temporary folder without it
    logger = WandbLogger(
        name=config.run.name or f"{config.stage} {out.name}",
        project=config.run.project,
        save_dir=out,
        id=id_file.read_text(encoding="utf-8").strip(),
        offline=is_offline,
        resume=None if is_offline else "allow",
        log_model=False,
        config={**plain(config), "commit": commit_of_program(), "data_card": data, "lineage": list(lineage)},
        settings=wandb.Settings(
            console="off",
            quiet=True,
            init_timeout=_SECONDS_TO_REACH_WANDB,
            finish_timeout=_SECONDS_TO_FINISH_WANDB,
        ),
    )
    run = logger.experiment  # starts the run
    if lineage:
        _use_artifact(run, _artifact(lineage), is_offline=is_offline)
    return logger


def _id_in_sweep() -> str | None:
    """Returns the id that the agent of a sweep has assigned to this run, if any; wandb then accepts no other."""
    return os.environ.get("WANDB_RUN_ID") if "WANDB_SWEEP_ID" in os.environ else None


def finish_wandb(logger: WandbLogger, lineage: Sequence[Mapping[str, Any]]) -> None:
    """Ends the run; the last stage of `lineage`, if any, becomes its output artifact."""
    run = logger.experiment
    if lineage:
        run.log_artifact(_artifact(lineage))
    run.finish()


def _artifact(lineage: Sequence[Mapping[str, Any]]) -> Any:
    """Makes the artifact of the last stage of a lineage. Runs of the same stage share it, which links them."""
    import wandb

    *earlier, own = lineage
    metadata = {**own, "made_from": [_artifact_name(entry) for entry in earlier]}
    artifact = wandb.Artifact(_artifact_name(own), "weights", metadata=metadata)
    with artifact.new_file("card.json", encoding="utf-8") as file:
        json.dump(own, file, sort_keys=True)
    return artifact


def _artifact_name(entry: Mapping[str, Any]) -> str:
    return f"{entry['stage']}-{entry['sha256'][:12]}"


def _use_artifact(run: Any, artifact: Any, *, is_offline: bool) -> None:
    if is_offline:
        # `use_artifact` refuses to work offline; this does what it does with an artifact that the server may not have,
        # without waiting. The file of the run holds it, and `wandb sync` makes the link.
        run._log_artifact(artifact, is_user_created=True, use_after_commit=True)
    else:
        run.use_artifact(artifact)


class ReliabilityPoint(NamedTuple):
    """A group of decisions with similar predictions."""

    predicted: float
    actual: float
    """means over the group"""
    decisions: int


def log_reliability(trainer: L.Trainer, points: Sequence[ReliabilityPoint], unit: str, samples: int) -> None:
    """Logs to wandb, if it is used, a chart of outcomes over predictions, with the diagonal for comparison.

    It is wandb's line chart over a table: nothing has to be drawn here, the numbers stay numbers, offline as a JSON
    file in the run's folder, and the browser shows several runs in one chart. (A custom chart needs a connection, to
    be registered; a picture would need a plotting library and could not be compared.)
    """
    for logger in trainer.loggers:
        if isinstance(logger, WandbLogger):
            import wandb

            rows = [[p.predicted, p.actual, "network", p.decisions] for p in points]
            rows += [[p.predicted, p.predicted, "perfect", p.decisions] for p in points]
            table = wandb.Table(columns=["predicted", "actual", "line", "decisions"], data=rows)
            chart = wandb.plot.line(table, "predicted", "actual", stroke="line", title=f"Reliability ({unit})")
            logger.experiment.log({RELIABILITY_CHART: chart, "train/samples": float(samples)})


class Progress(L.Callback):
    """Shows a progress bar on a terminal; elsewhere prints a line at intervals."""

    def __init__(self, total_steps: int) -> None:
        self.total_steps = total_steps
        self._bar: tqdm | None = None
        # On a terminal without a size (some containers) a bar would not be visible.
        self._is_terminal = sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).lines > 1
        self._first_step = 0
        self._started = self._shown = 0.0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._first_step = trainer.global_step
        self._started = self._shown = time.monotonic()
        if self._is_terminal and trainer.is_global_zero:
            self._bar = tqdm(
                total=self.total_steps, initial=self._first_step, unit="step", dynamic_ncols=True, file=sys.stderr
            )

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches or not trainer.is_global_zero:
            return
        if self._bar is not None:
            self._bar.update(trainer.global_step - self._bar.n)
            self._bar.set_postfix(_shown_metrics(trainer), refresh=False)
        elif time.monotonic() - self._shown > _SECONDS_BETWEEN_LINES:
            self._shown = time.monotonic()
            self._print_line(trainer)

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        metrics = ", ".join(f"{name} {value:.4f}" for name, value in validation_metrics(trainer).items())
        if trainer.is_global_zero:
            self._print(f"step {trainer.global_step}: validation {metrics}")

    def teardown(self, trainer: L.Trainer, pl_module: L.LightningModule, stage: str) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _print_line(self, trainer: L.Trainer) -> None:
        steps = trainer.global_step - self._first_step
        seconds_per_step = (time.monotonic() - self._started) / steps
        left = tqdm.format_interval(seconds_per_step * (self.total_steps - trainer.global_step))
        metrics = "".join(f", {name} {value}" for name, value in _shown_metrics(trainer).items())
        self._print(f"step {trainer.global_step} of {self.total_steps}{metrics}, {left} left")

    def _print(self, line: str) -> None:
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)


def _shown_metrics(trainer: L.Trainer) -> dict[str, str]:
    return {
        name: f"{float(trainer.callback_metrics[key]):.{digits}f}"
        for name, key, digits in (
            ("loss", "loss", 4),
            ("validation", "validation/loss", 4),
            ("decisions/s", "samples_per_second", 0),
            ("of the peak", "share_of_peak", 2),
        )
        if key in trainer.callback_metrics
    }


def _has_wandb_key() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    try:
        return netrc.netrc().authenticators(host) is not None
    except (FileNotFoundError, netrc.NetrcParseError):
        return False
