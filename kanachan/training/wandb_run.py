"""Starts the wandb run of a stage, continues it offline if the server does not respond, and ends it in bounded time."""

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import lightning as L
from lightning.pytorch.loggers import Logger, WandbLogger

from kanachan.config import TrainConfig
from kanachan.models.card import read_card, weights_file
from kanachan.models.reference import name_of
from kanachan.models.weights import commit_of_program
from kanachan.training.run_folder import settings_as_json

RELIABILITY_CHART = "calibration/reliability"
_ID_NAME = "wandb_id.txt"
_PROJECT = "kanachan"
_SECONDS = {"init_timeout": 20.0, "finish_timeout": 60.0}
"""time limits to reach wandb, and to send the remaining data at the end. WANDB_INIT_TIMEOUT and WANDB_FINISH_TIMEOUT
override them; unsent files remain, and `wandb sync` sends them."""


def wandb_mode(config: TrainConfig) -> str:
    """Returns the mode of wandb; `auto` is the value of the variable WANDB_MODE, else online if a key is set up, else
    offline."""
    if config.run.wandb != "auto":
        return config.run.wandb
    if (given := os.environ.get("WANDB_MODE")) in ("online", "offline", "disabled"):
        return given
    import wandb

    if wandb.run is not None:
        return "online"
    try:
        wandb.setup(wandb.Settings(silent=True))
        return "online" if wandb.login(prompt=False, verify=False) else "offline"
    except wandb.errors.AuthenticationError:  # a malformed key, which the start of the run reports
        return "online"
    except wandb.errors.Error as error:
        raise ValueError(f"wandb: {error}; --run.wandb disabled turns it off") from error


def wandb_group(config: TrainConfig, previous: str | None) -> str:
    """Returns the wandb group of a run: the setting, else the group of the run that made the weights `previous`, unless
    these are of the package, else the run's own folder. So all runs of a curriculum share one group, which is named
    after the folder of the first stage."""
    if config.run.group is not None:
        return config.run.group
    if previous is None or name_of(weights_file(previous)) is not None:
        return _name_of_folder(Path(config.run.out))
    settings = read_card(previous).get("config") or {}
    return settings.get("run", {}).get("group") or _name_of_folder(Path(config.run.out))


def wandb_logger(
    config: TrainConfig,
    mode: str,
    data: Mapping[str, Any],
    lineage: Sequence[Mapping[str, Any]],
    *,
    is_resumed: bool,
) -> WandbLogger:
    """Starts the wandb run of this folder. If wandb does not respond, the run is logged offline, with a message.
    Online, a resumed run continues the same wandb run. Offline, each start is a separate run in the group, because
    `wandb sync` replaces the server's data of a run. The last stage of the lineage becomes the artifact that this run
    uses."""
    import wandb

    out = Path(config.run.out)
    if not is_resumed:  # an existing id is of rows that this run does not continue
        (out / _ID_NAME).unlink(missing_ok=True)
    started = partial(_started, config, data, lineage, is_resumed=is_resumed)
    try:
        return started(is_offline=mode == "offline")
    except wandb.errors.Error as error:
        if mode == "offline":
            raise ValueError(f"wandb: {error}; --run.wandb disabled turns it off") from error
        print(
            f"wandb does not respond ({' '.join(str(error).split())}). The run continues offline; to send it later: "
            f"wandb sync {out / 'wandb'}/offline-run-*",
            file=sys.stderr,
        )
        wandb.teardown()
        return started(is_offline=True)


def _started(
    config: TrainConfig,
    data: Mapping[str, Any],
    lineage: Sequence[Mapping[str, Any]],
    *,
    is_offline: bool,
    is_resumed: bool,
) -> WandbLogger:
    import wandb

    out = Path(config.run.out)
    name = os.environ.get("WANDB_NAME") or _name(config.stage, out)
    # the agent of a sweep assigns an id, and wandb then accepts no other
    of_sweep = os.environ.get("WANDB_RUN_ID") if "WANDB_SWEEP_ID" in os.environ else None
    run_id = of_sweep or secrets.token_hex(4)
    id_file = out / _ID_NAME
    if is_offline:
        name += ", resumed" if is_resumed else ""
    elif id_file.exists():
        run_id = id_file.read_text(encoding="utf-8").strip()
    else:
        id_file.write_text(run_id, encoding="utf-8")
    (out / "wandb").mkdir(exist_ok=True)  # wandb falls back to the temporary folder without it
    wandb.setup(wandb.Settings(silent=True))  # for messages that are printed before the run has settings
    run = wandb.init(  # not by Lightning, which passes settings that wandb warns about
        name=name,
        group=config.run.group,
        job_type=config.stage,
        project=os.environ.get("WANDB_PROJECT") or _PROJECT,
        dir=out,
        id=run_id,
        mode="offline" if is_offline else "online",
        resume=None if is_offline else "allow",
        config={**settings_as_json(config), "commit": commit_of_program(), "data_card": data, "lineage": list(lineage)},
        settings=wandb.Settings(
            console="off",
            silent=True,
            finish_timeout_raises=True,
            init_timeout=_seconds("init_timeout"),
            finish_timeout=_seconds("finish_timeout"),
        ),
    )
    if not is_offline:
        print(f"wandb: {run.url}", flush=True)
        if lineage:  # wandb refuses it offline; the lineage is also in the settings of the run
            _try("the artifact that this run uses", lambda: run.use_artifact(_artifact(lineage)))
    return WandbLogger(experiment=run, save_dir=out)


def _seconds(name: str) -> float:
    return float(os.environ.get(f"WANDB_{name.upper()}") or _SECONDS[name])


def _name(stage: str, out: Path) -> str:
    """Returns the readable name of a run: its folder, and the stage if the folder does not name it."""
    folder = _name_of_folder(out)
    return folder if stage in out.name else f"{folder} ({stage})"


def _name_of_folder(out: Path) -> str:
    return "/".join(out.resolve().parts[-2:]).lstrip("/")


def finish_wandb(loggers: Sequence[Logger], lineage: Sequence[Mapping[str, Any]]) -> None:
    """Ends the wandb run, if one of the loggers has it; the last stage of `lineage`, if any, becomes its output
    artifact.

    If the remaining data cannot be sent in time, prints how to send it later.
    """
    for run in (logger.experiment for logger in loggers if isinstance(logger, WandbLogger)):
        if lineage:
            _try("the artifact of the weights", lambda: run.log_artifact(_artifact(lineage)))  # noqa: B023
        try:
            run.finish()
        except TimeoutError:
            print(
                "wandb does not respond, and not all of the run has been sent. To send it later: "
                f"wandb sync {run.settings.sync_dir}",
                file=sys.stderr,
            )


def _try(what: str, send: Callable[[], object]) -> None:
    """Sends optional data of a run; prints the error if wandb cannot send it."""
    try:
        send()
    except Exception as error:  # the error of a request to wandb's own process has no public name
        print(f"wandb: {what} could not be sent: {' '.join(str(error).split())}", file=sys.stderr)


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


class ReliabilityPoint(NamedTuple):
    """A group of decisions with similar predictions."""

    predicted: float
    actual: float
    """means over the group"""
    decisions: int


def log_reliability(trainer: L.Trainer, points: Sequence[ReliabilityPoint], unit: str, samples: int) -> None:
    """Logs to wandb, if it is used, a chart of outcomes over predictions, with the diagonal for comparison. It is a
    wandb line chart over a table, which works offline and shows several runs in one chart. wandb asks its server about
    each table, and waits if the server does not respond; so a run has only one chart."""
    for logger in trainer.loggers:
        if isinstance(logger, WandbLogger):
            import wandb

            rows = [[p.predicted, p.actual, "network", p.decisions] for p in points]
            rows += [[p.predicted, p.predicted, "perfect", p.decisions] for p in points]
            table = wandb.Table(columns=["predicted", "actual", "line", "decisions"], data=rows)
            chart = wandb.plot.line(table, "predicted", "actual", stroke="line", title=f"Reliability ({unit})")
            entry = {RELIABILITY_CHART: chart, "train/samples": float(samples)}
            _try(f"the chart {RELIABILITY_CHART}", partial(logger.experiment.log, entry))
