"""A stage on a tiny network, batches of random decisions for it, and a real Trainer whose rows are recorded."""

from typing import Any

import lightning as L
import torch
from lightning.pytorch.loggers import Logger
from torch.utils.data import DataLoader

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig, OptimConfig, StageName
from kanachan.data.batch import batch_of_annotations
from kanachan.objectives.networks import build_network
from kanachan.training.curriculum_stage import StageModule
from kanachan.training.tempered_network import TemperedNetwork
from tests.support.random_annotations import random_annotations

ROWS_PER_BATCH = 4
MODEL = ModelConfig(width=16, layers=1, heads=2, feedforward=32)


class Rows(Logger):
    """Records what is logged."""

    name = "rows"
    version = ""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, dict[str, float]]] = []

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        pass

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert step is not None
        self.rows.append((step, metrics))

    def of(self, name: str) -> dict[int, float]:
        return {step: row[name] for step, row in self.rows if name in row}


def make_stage(
    stage: StageName = "imitation",
    steps: int = 6,
    log_every: int = 2,
    model: ModelConfig = MODEL,
    teacher: TemperedNetwork | None = None,
    **optim: Any,
) -> StageModule:
    torch.manual_seed(0)
    network, objective = build_network(stage, model, ObjectiveConfig(), FOUR_PLAYERS)
    settings = OptimConfig(**{"warmup": 2, **optim})
    return StageModule(network, objective, settings, steps, log_every, model, teacher)


def batches(num_rows: int, rows_per_batch: int = ROWS_PER_BATCH, seed: int = 0) -> DataLoader:
    annotations = random_annotations(num_rows, seed)
    return DataLoader(
        [
            batch_of_annotations(annotations[first : first + rows_per_batch], FOUR_PLAYERS)
            for first in range(0, num_rows, rows_per_batch)
        ],
        batch_size=None,
    )


def make_trainer(rows: Rows | None = None, steps: int = 6, **settings: Any) -> L.Trainer:
    return L.Trainer(
        **{
            "accelerator": "cpu",
            "max_steps": steps,
            "logger": rows or False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "num_sanity_val_steps": 0,
            **settings,
        }
    )
