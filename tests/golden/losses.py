"""Rewrites tests/golden/losses/: the losses of 20 steps of the stages given, or of all, which tests compare with.

    python -m tests.golden.losses [STAGE …]

The last digits depend on the CPU. To be run only where the computation was meant to change; the difference is
to be read and explained.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kanachan.config import StageName
from kanachan.objectives.stages import STAGES
from tests.support.tiny_runs import LOSSES, losses_of, pack_decisions, run


def rewrite(stages: Sequence[StageName]) -> None:
    LOSSES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shards = pack_decisions(Path(folder))
        for stage in stages:
            assert run(stage, shards, Path(folder) / stage) == 0
            losses = losses_of(Path(folder) / stage)
            (LOSSES / f"{stage}.txt").write_text("".join(f"{loss:.7g}\n" for loss in losses))


if __name__ == "__main__":
    rewrite(sys.argv[1:] or list(STAGES))
