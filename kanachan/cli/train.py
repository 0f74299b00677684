"""kanachan-train: trains one stage of the curriculum, from shards to a weights file."""

import sys
from collections.abc import Sequence

from annotate.runtime.terminal import run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.cli.extras import require
from kanachan.training.command_line import PROGRAM, Request, requested


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    request = requested(sys.argv[1:] if argv is None else argv)
    return run_cleanly(PROGRAM, lambda: _train(request))


def _train(request: Request) -> int:
    # Heavy imports come only now, after the settings have been found valid.
    require("train", ("lightning", "wandb"))
    from kanachan.training.trainer import run_stage

    return run_stage(request)


if __name__ == "__main__":
    raise SystemExit(main())
