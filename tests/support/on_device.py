"""Fresh networks and runs of kanachan-train on a device, for the tests of GPUs."""

import csv
from pathlib import Path

import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.config import MODEL_SIZES, ObjectiveConfig, StageName
from kanachan.data.batch import Batch, TokenLayout, with_varlen_layout
from kanachan.models.device import set_up_kernels
from kanachan.models.transformer import Output
from kanachan.objectives.networks import build_network


class Trainee:
    """A fresh network of a stage, the same on all devices."""

    def __init__(self, device: torch.device, size: str, stage: StageName = "imitation", *, use_bf16: bool) -> None:
        torch.manual_seed(0)
        self.network, self.objective = build_network(stage, MODEL_SIZES[size], ObjectiveConfig(), FOUR_PLAYERS)
        self.network.to(device)
        self.objective.to(device)
        self.device, self._use_bf16 = device, use_bf16
        set_up_kernels(is_exact=not use_bf16)

    def output(self, batch: Batch) -> Output:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._use_bf16):
            found: Output = self.network(batch.to(self.device))
        return found

    def measured(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the scores of the candidates, the loss and its gradient, in fp32 on the CPU."""
        there = batch.to(self.device)
        output = self.output(there)
        loss = self.objective.loss(output, there)["loss"]
        loss.backward()
        gradient = torch.cat([p.grad.flatten().float().cpu() for p in self.network.parameters() if p.grad is not None])
        self.network.zero_grad()
        mask_BA = batch.candidate_BA != 0
        score_BA = self.objective.score(output).detach().float().cpu()[:, : mask_BA.shape[1]]
        return score_BA[mask_BA], loss.detach().float().cpu(), gradient


def packed(batch: Batch) -> Batch:
    """Returns the batch without padding."""
    return with_varlen_layout(batch, TokenLayout(FOUR_PLAYERS))


def relative(found: Tensor, expected: Tensor) -> float:
    """Returns the norm of the difference divided by the norm of the expected tensor."""
    return float((found - expected).norm() / expected.norm())


def trained(out: Path, shards: Path, stage: str, *more: str) -> Path:
    """Trains a run on one device; returns its folder."""
    given = ["--stage", stage, "--data.path", str(shards), "-o", str(out), "--run.wandb", "disabled"]
    given += ["--run.devices", "1", "--run.validate_batches", "1"]
    assert train.main([*given, *more]) == 0
    return out


def logged(run: Path, column: str) -> list[float]:
    """Reads a column of the metrics of a run, where it has values."""
    with open(run / "metrics.csv", newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if row.get(column)]
