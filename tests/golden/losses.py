"""Rewrites tests/golden/losses/: the losses of 20 steps of every stage, which tests compare with.

    python -m tests.golden.losses

To be run only where the computation was meant to change; the difference is to be read and explained.
"""

import tempfile
from pathlib import Path

from kanachan.objectives.stages import STAGES
from tests.support.tiny_runs import LOSSES, golden_losses, pack_decisions


def rewrite() -> None:
    LOSSES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shards = pack_decisions(Path(folder))
        for stage in STAGES:
            losses = golden_losses(stage, shards, Path(folder) / stage)
            (LOSSES / f"{stage}.txt").write_text("".join(f"{loss:.7g}\n" for loss in losses))


if __name__ == "__main__":
    rewrite()
