"""kanachan-train: trains one stage of the curriculum on shards, and writes a weights file."""

import os
import sys
from collections.abc import Sequence

from annotate.runtime.terminal import run_cleanly
from kanachan.cli.environment import set_environment
from kanachan.extras import require_extra
from kanachan.training.command_line import PROGRAM, Request, requested
from kanachan.training.request_checks import require_played, require_shards


def main(argv: Sequence[str] | None = None) -> int:
    set_environment()
    request = requested(sys.argv[1:] if argv is None else argv)
    return run_cleanly(PROGRAM, lambda: _train(request))


def _train(request: Request) -> int:
    require_played(request.config)
    plays = request.config.selfplay.games is not None
    if not plays:
        require_shards(request.config.stage, request.config.data.path)
    require_extra("train", ("lightning",) if request.config.run.wandb == "disabled" else ("lightning", "wandb"))
    if request.config.run.tensorboard:
        require_extra("tensorboard", ("tensorboard",), "run.tensorboard")
    if _is_first_process():
        for warning in request.warnings:
            print(f"{PROGRAM}: warning: {warning}", file=sys.stderr)
        print(f"stage {request.config.stage}: loading torch and the data", file=sys.stderr, flush=True)
    # Heavy imports come only now, after the settings have been found valid.
    if plays:
        from kanachan.reinforcement.policy_iteration import run_iterations

        return run_iterations(request.config)
    from kanachan.training.trainer import run_stage

    return run_stage(request)


def _is_first_process() -> bool:
    """Returns whether this process is the first of its run; True without a launcher."""
    ranks = (os.environ.get(name) for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
    return next((rank for rank in ranks if rank is not None), "0") == "0"
