"""One run of one stage: data, network, trainer and log are put together here, and the weights file comes out."""

import logging
import os
import shutil
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
import torch
import torch._dynamo.config
import torch.fx.experimental._config
from lightning.pytorch.loggers import Logger, WandbLogger

from annotate.vocabulary import FOUR_PLAYERS, Vocabulary
from kanachan.accounting import matrix_flops_per_second
from kanachan.checkpoint import (
    CARD_NAME,
    WEIGHTS_NAME,
    build_network,
    inherit_encoder,
    lineage_of,
    make_card,
    read_weights,
    write_card,
    write_weights,
)
from kanachan.config import RunConfig, TrainConfig
from kanachan.data import ShardData
from kanachan.model import Network
from kanachan.run_log import METRICS_NAME, MetricsFile, Progress, finish_wandb, wandb_logger, wandb_mode
from kanachan.settings import CHECKPOINTS, CONFIG_NAME, Request, plain, save_config
from kanachan.snapshots import (
    BEST_NAME,
    BestWeights,
    CheckpointFiles,
    Reseeding,
    Snapshots,
    Stopped,
    newest_checkpoint,
    remove_unfinished,
)
from kanachan.stage import Stage

_MOST_SHAPES = 64  # of packed rows that are compiled; what comes after them is not
_PRECISIONS = {"fp32": "32-true", "bf16": "bf16-mixed"}


@dataclass(frozen=True)
class _Resumption:
    """The checkpoint that a run goes on from."""

    path: Path
    step: int


def run_stage(request: Request) -> int:
    """Trains, validates, writes the weights file; returns the exit status.

    Raises ValueError for what the user can mend, OSError if something cannot be written.
    """
    config, out = request.config, Path(request.config.run.out)
    if request.resume and (out / WEIGHTS_NAME).is_file():
        print(f"{out}: the run has ended already; its weights are in {out / WEIGHTS_NAME}")
        return 0
    _set_up(config.run)
    _claim(out)
    resumption = _Resumption(*newest_checkpoint(out / CHECKPOINTS)) if request.resume else None
    data = ShardData(config.data, config.run.seed, FOUR_PLAYERS, segments=_packs(config.run))
    steps = config.run.steps or max(1, round(config.run.passes * data.steps_per_pass))
    if config.run.early_stopping and not data.num_validation_rows:
        raise ValueError(f"run.early_stopping needs a validation split, and {config.data.path} has none")
    stage, lineage = _stage(config, FOUR_PLAYERS, steps, inherits=resumption is None)
    if resumption is None:
        save_config(config, out / CONFIG_NAME)
    snapshots = Snapshots(out / CHECKPOINTS, config.run.checkpoint_every, config.run.validate_every, steps, lineage)
    writer = _Writer(config, data, stage, snapshots)
    best = BestWeights(out / CHECKPOINTS / BEST_NAME, writer.write_best, config.run.early_stopping)
    mode = wandb_mode(config)
    loggers: list[Logger] = [MetricsFile(out / METRICS_NAME, resumption.step if resumption else -1)]
    loggers += [wandb_logger(config, out, mode)] if mode != "disabled" else []
    callbacks = [Reseeding(config.run.seed), Progress(steps), snapshots, best]
    trainer = _trainer(config, data, steps, loggers, callbacks)
    if config.run.measure_peak:
        stage.meter.peak = _peak(trainer)
    _announce(config, data, stage, steps, trainer, mode, resumption)
    try:
        trainer.fit(stage, datamodule=data, ckpt_path=resumption.path if resumption else None, weights_only=True)
    except Stopped as stopped:
        _finish_wandb(loggers, [])
        print(f"{stopped}; go on with: kanachan-train --resume {out}", flush=True)
        return 130 if stopped.signal_name == "SIGINT" else 0
    metrics = _final_metrics(trainer, stage, data, best)
    if trainer.is_global_zero:
        weights = out / WEIGHTS_NAME
        lineage = writer.write_last(weights, metrics, best.step if best.patience else None)
        _finish_wandb(loggers, lineage)
        print(f"validation: {', '.join(f'{name} {value:.4f}' for name, value in metrics.items()) or 'none'}")
        print(f"weights: {weights}", flush=True)
    return 0


class _Writer:
    """Writes the network of a run with a card that says where it comes from."""

    def __init__(self, config: TrainConfig, data: ShardData, stage: Stage, snapshots: Snapshots) -> None:
        self.config = config
        self.data = data
        self.stage = stage
        self.snapshots = snapshots

    def write_best(self, path: Path, metrics: dict[str, float]) -> None:
        write_weights(path, self.stage.network, self._card(metrics, self.stage.trainer.global_step))

    def write_last(self, path: Path, metrics: dict[str, float], best_step: int | None) -> list[dict[str, Any]]:
        """Writes the weights file and the card beside it; returns the lineage, this stage last."""
        last_step = self.stage.trainer.global_step
        card = self._card(metrics, last_step if best_step is None else best_step)
        card["chosen"] = "last step" if best_step is None else f"lowest validation loss of {last_step} steps"
        write_card(path.with_name(CARD_NAME), card)
        write_weights(path, self.stage.network, card)
        return lineage_of(read_weights(path))

    def _card(self, metrics: dict[str, float], step: int) -> dict[str, Any]:
        config = self.config
        return make_card(
            config.stage,
            config.model,
            config.objective,
            FOUR_PLAYERS,
            steps=step,
            samples=step * config.data.batch,
            metrics=metrics,
            lineage=self.snapshots.lineage,
            data=self.data.description,
            config=plain(config),
        )


def _set_up(config: RunConfig) -> None:
    # What Lightning says of its own accord is about other ways of using it.
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"lightning\.")
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    L.seed_everything(config.seed, verbose=False)


def _claim(out: Path) -> None:
    """Makes the run folder, or says at once, before anything is trained, that it cannot be written."""
    (out / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    remove_unfinished(out / CHECKPOINTS)
    probe = out / f".{os.getpid()}.part"
    probe.write_bytes(b"writable")
    probe.unlink()


def _stage(
    config: TrainConfig, vocabulary: Vocabulary, steps: int, inherits: bool
) -> tuple[Stage, list[dict[str, Any]]]:
    """The network to be trained, and the stages before it."""
    network, objective = build_network(config.stage, config.model, config.objective, vocabulary)
    lineage = []
    if config.init is not None and inherits:
        weights = read_weights(config.init)
        inherit_encoder(network, config.model, weights, vocabulary)
        lineage = lineage_of(weights)
    network.encoder.recomputes = config.run.recompute
    if config.run.compile:
        _compile(network, is_dynamic=not _packs(config.run))
    return Stage(network, objective, config.optim, steps, config.run.log_every, config.model), lineage


def _compile(network: Network, is_dynamic: bool) -> None:
    """Has the network compiled at its first use, in training and in validation: once for batches of all shapes, or, as
    packed rows come in few shapes, once for each of these."""
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        raise ValueError(
            f"run.compile needs a C++ compiler, and {compiler} is not there: install one, name yours in the "
            "environment variable CXX, or leave run.compile off"
        )
    # else lengths that happen to be equal in the first batch are taken to be always so, and it is compiled again
    torch.fx.experimental._config.use_duck_shape = False
    torch._dynamo.config.recompile_limit = _MOST_SHAPES
    network.compile(dynamic=is_dynamic)


def _trainer(
    config: TrainConfig, data: ShardData, steps: int, loggers: list[Logger], callbacks: list[L.Callback]
) -> L.Trainer:
    run = config.run
    accelerator = _accelerator(run)
    accumulate = config.data.batch // config.data.micro_batch
    return L.Trainer(
        accelerator=accelerator,
        devices=1,
        precision=_precision(run, accelerator),
        max_steps=steps,
        max_epochs=-1,
        accumulate_grad_batches=accumulate,
        gradient_clip_val=config.optim.clip or None,
        val_check_interval=run.validate_every * accumulate,
        check_val_every_n_epoch=None,
        limit_val_batches=run.validate_batches if run.validate_batches is not None else 1.0,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        logger=loggers,
        callbacks=callbacks,
        plugins=[CheckpointFiles()],
        default_root_dir=run.out,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


def _accelerator(run: RunConfig) -> str:
    if run.accelerator == "auto":
        return "gpu" if torch.cuda.is_available() else "cpu"
    if run.accelerator == "gpu" and not torch.cuda.is_available():
        raise ValueError("--run.accelerator gpu: torch sees no GPU here")
    return run.accelerator


def _precision(run: RunConfig, accelerator: str) -> Any:
    if run.precision == "auto":
        has_units = accelerator == "gpu" and torch.cuda.is_bf16_supported(including_emulation=False)
        return _PRECISIONS["bf16" if has_units else "fp32"]
    return _PRECISIONS[run.precision]


def _packs(run: RunConfig) -> bool:
    is_gpu, is_half = _accelerator(run) == "gpu", _precision(run, _accelerator(run)) == _PRECISIONS["bf16"]
    if run.attention == "packed" and is_gpu and not is_half:
        raise ValueError("--run.attention packed: the GPU's kernels for it need --run.precision bf16")
    return run.attention == "packed" or (run.attention == "auto" and is_gpu and is_half)


def _peak(trainer: L.Trainer) -> float:
    dtype = torch.bfloat16 if trainer.precision == _PRECISIONS["bf16"] else torch.float32
    return matrix_flops_per_second(trainer.strategy.root_device, dtype)


def _announce(
    config: TrainConfig,
    data: ShardData,
    stage: Stage,
    steps: int,
    trainer: L.Trainer,
    mode: str,
    resumption: _Resumption | None,
) -> None:
    encoder, network = (sum(p.numel() for p in m.parameters()) for m in (stage.network.encoder, stage.network))
    passes = steps * config.data.batch / data.num_train_rows
    start = f"goes on from step {resumption.step}" if resumption else f"encoder from {config.init or 'scratch'}"
    print(
        f"stage {config.stage}, {start}\n"
        f"network: {network:,} parameters, {encoder:,} of them in the encoder\n"
        f"data: {config.data.path}: {data.num_train_rows:,} decisions to train on, "
        f"{data.num_validation_rows:,} to validate on\n"
        f"steps: {steps:,} of {config.data.batch} decisions ({passes:.2f} passes)\n"
        f"device: {trainer.strategy.root_device}, precision {trainer.precision}, wandb {mode}\n"
        f"folder: {config.run.out}",
        flush=True,
    )
    if stage.meter.peak is not None:
        print(f"matrix products: {stage.meter.peak / 1e9:,.0f} GFLOP/s", flush=True)
    if config.run.compile:
        print("compiling the network: the first step, and the first validation, take a minute or more", flush=True)


def _final_metrics(trainer: L.Trainer, stage: Stage, data: ShardData, best: BestWeights) -> dict[str, float]:
    """The validation of the weights that will be written; puts the best ones in place if the run may stop early."""
    if best.patience is not None and best.step is not None:
        stage.network.load_state_dict(read_weights(best.path).tensors)
        return best.metrics
    if data.num_validation_rows and best.latest[0] != trainer.global_step:
        trainer.validate(stage, datamodule=data, verbose=False)
    return best.latest[1]


def _finish_wandb(loggers: list[Logger], lineage: list[dict[str, Any]]) -> None:
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            finish_wandb(logger, lineage)
