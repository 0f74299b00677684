"""kanachan-train, which also writes down the rows that each step of this process learns from.

    RECORDED_ROWS=FOLDER python -m tests.support.programs.recorded --stage ... (as kanachan-train)

FOLDER/<rank>.txt gets a line for each micro-batch: the step, then a number for each row.
"""

import os
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from torch import Tensor

from kanachan.cli import train
from kanachan.data.batch import Batch
from kanachan.training.module import StageModule


def numbers_of(batch: Batch) -> list[int]:
    """A number for each row, by what neither the suits nor the seats change."""
    parts = (batch.game_B[:, None], batch.seen_B[:, None], batch.numeric_BN[:, :2], batch.result_BR[:, [0, -1]])
    rows = np.concatenate([part.numpy().astype(np.int64) for part in parts], axis=1)
    return [crc32(row.tobytes()) for row in rows]


def record(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    learns = StageModule.training_step

    def training_step(self: StageModule, batch: Batch, batch_idx: int) -> Tensor:
        with open(folder / f"{self.trainer.global_rank}.txt", "a") as file:
            file.write(" ".join(map(str, (self.trainer.global_step, *numbers_of(batch)))) + "\n")
        return learns(self, batch, batch_idx)

    setattr(StageModule, "training_step", training_step)  # noqa: B010, else mypy sees a method assigned


def main(argv: list[str]) -> Any:
    record(Path(os.environ["RECORDED_ROWS"]))
    return train.main(argv)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
