"""Ablation study: launch/ablation.sh. Trains and evaluates one run after the other; evaluated runs are not trained
again."""

import argparse
import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from networks import changed
from table import markdown
from variants import REFERENCE, VARIANTS, Variant

from annotate.runtime.files import replacing
from annotate.runtime.terminal import run_cleanly
from kanachan.cli.evaluate import main as evaluate
from kanachan.config import SPLITS, StageName
from kanachan.data.shards import open_shards
from kanachan.models.weights import read_weights
from kanachan.objectives.stages import STAGES, previous_stage
from kanachan.training.command_line import requested
from kanachan.training.trainer import run_stage

_EVALUATION = "evaluation.json"
_MADE_FROM = "made-from.json"
_HIDDEN_HANDS = "--objective.hidden_hands"
# networks with replaced parts support one attention backend and one process
_ALIKE = ("--run.attention", "padded", "--run.devices", "1")


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    settings: list[str] = []
    if "--" in argv:
        settings = argv[argv.index("--") + 1 :]
        argv = argv[: argv.index("--")]
    parser = _parser()
    arguments = parser.parse_args(argv)
    chosen = [v for v in VARIANTS if v.stage in arguments.stages]
    if arguments.variants:
        unknown = set(arguments.variants) - {v.name for v in chosen}
        if unknown:
            parser.error(f"{unknown.pop()}: no such variant of these stages; there are {_names(chosen)}")
        chosen = [v for v in chosen if v.name == REFERENCE or v.name in arguments.variants]
    later = [v for v in chosen if previous_stage(v.stage) and not v.is_fresh]
    if later and not arguments.init:
        parser.error(f"the stage {later[0].stage} needs an imitation run to start from: --init RUN")
    return run_cleanly(parser.prog, lambda: _measure(arguments, chosen, settings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="launch/ablation.sh",
        description="Trains each variant of a stage with several seeds, evaluates all of them on the same decisions "
        "and prints a Markdown table. Arguments after -- are settings of kanachan-train for all runs.",
    )
    parser.add_argument("shards", metavar="SHARDS", help="folder made by kanachan-pack")
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("runs/ablation"), help="folder of the runs (%(default)s)"
    )
    parser.add_argument("--init", help="imitation run from which the later stages start")
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=[next(iter(STAGES))], help="(default: imitation)"
    )
    parser.add_argument("--variants", nargs="+", metavar="NAME", help=f"(default: all) {_names(VARIANTS)}")
    parser.add_argument("--seeds", type=int, default=2, help="runs of each variant (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=400, help="optimiser steps of a run (default: %(default)s)")
    parser.add_argument("--split", choices=SPLITS, default="validation", help="to evaluate on (default: %(default)s)")
    return parser


def _names(variants: Sequence[Variant]) -> str:
    return ", ".join(dict.fromkeys(v.name for v in variants))


def _measure(arguments: argparse.Namespace, chosen: list[Variant], settings: list[str]) -> int:
    chosen = _possible(arguments, chosen)
    wanted = {v.stage: _inputs_of(arguments, v.stage, settings) for v in chosen}
    for stage, of_stage in wanted.items():
        _require_like(arguments.output / stage / _MADE_FROM, of_stage)
    for seed in range(arguments.seeds):
        for variant in chosen:
            folder = arguments.output / variant.stage / variant.name / str(seed)
            if (folder / _EVALUATION).is_file():
                continue
            print(f"== {variant.stage}, {variant.what}, seed {seed}", flush=True)
            if not _measured(variant, folder, seed, arguments, settings):
                return 0  # stopped by a signal; there is a checkpoint
            with replacing(arguments.output / variant.stage / _MADE_FROM) as temporary:
                temporary.write_text(json.dumps(wanted[variant.stage], indent=2) + "\n", encoding="utf-8")
    for stage in STAGES:
        entries = {v: _entries(arguments, v) for v in chosen if v.stage == stage}
        if entries:
            print(f"\n{markdown(stage, entries)}")
    return 0


def _possible(arguments: argparse.Namespace, chosen: list[Variant]) -> list[Variant]:
    """Removes variants that the shards do not support unless they were requested by name; prints their names."""
    left_out = [] if arguments.variants else [v for v in chosen if _HIDDEN_HANDS in v.settings]
    if left_out and open_shards(arguments.shards, "train", hidden=None).has_hidden:
        return chosen
    for variant in left_out:
        print(f"left out: {variant.name}, as {arguments.shards} holds no hidden hands (kanachan-annotate --hidden)")
    return [v for v in chosen if v not in left_out]


def _inputs_of(arguments: argparse.Namespace, stage: StageName, settings: list[str]) -> dict[str, Any]:
    """Returns the inputs of a stage's runs, except for the variants."""
    return {
        "SHARDS": str(Path(arguments.shards).resolve()),
        "--init": arguments.init if previous_stage(stage) else None,
        "weights of --init": _tensors_of(arguments.init) if arguments.init and previous_stage(stage) else None,
        "--steps": arguments.steps,
        "--split": arguments.split,
        "settings": " ".join(settings),
    }


def _tensors_of(run: str) -> str:
    """Returns a hash of a run's weights without their card, which kanachan-calibrate changes."""
    tensors = read_weights(run).tensors
    digest = sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _require_like(made_from: Path, wanted: dict[str, Any]) -> None:
    """Raises ValueError if runs that were evaluated before have other inputs than the requested ones."""
    if not made_from.is_file():
        return
    recorded = json.loads(made_from.read_text(encoding="utf-8"))
    for name, value in wanted.items():
        if recorded.get(name, value) != value:
            raise ValueError(
                f"{made_from.parent}: its runs were made with {name} {recorded[name]}, not {value}: name another "
                "--output, or remove it"
            )


def _measured(variant: Variant, folder: Path, seed: int, arguments: argparse.Namespace, settings: list[str]) -> bool:
    """Trains one run and writes its evaluation; returns False if it was stopped by a signal."""
    train = training_of(variant, folder, seed, arguments, settings)
    with changed(variant.parts):
        run_stage(requested(train))
        weights = folder / "weights.safetensors"
        if not weights.is_file():
            return False
        split, output = arguments.split, str(folder / _EVALUATION)
        status = evaluate([str(folder), arguments.shards, "--split", split, "--json", output, "--bootstrap", "200"])
    if status:
        raise ValueError(f"{folder}: the run could not be evaluated")
    if variant.parts:
        weights.unlink()  # of a network that no other program can read
    return True


def training_of(
    variant: Variant, folder: Path, seed: int, arguments: argparse.Namespace, settings: list[str]
) -> list[str]:
    """Returns the command line of kanachan-train for one run.

    Args:
        arguments: with shards, steps and init.
        settings: of all runs.
    """
    train = ["--stage", variant.stage, "--data.path", arguments.shards, *_ALIKE]
    train += ["--run.steps", str(arguments.steps), "--run.early_stopping", "null"]  # all take the same steps
    train += ["--run.seed", str(seed), "--run.wandb", "disabled", *settings]
    if previous_stage(variant.stage) and not variant.is_fresh:
        train += ["--init", arguments.init]
    rate = requested([*train, "--run.out", str(folder / "none")]).config.optim.learning_rate
    places = {"quarter": arguments.steps // 4, "third": rate / 3, "twice": rate * 2}
    own = [text.format(**places) for text in variant.settings]
    return [*train, *own, "--run.out", str(folder), "--resume", "auto"]


def _entries(arguments: argparse.Namespace, variant: Variant) -> list[dict[str, Any]]:
    """Reads the output of kanachan-evaluate for each seed's run."""
    folder = arguments.output / variant.stage / variant.name
    return [
        json.loads((folder / str(seed) / _EVALUATION).read_text(encoding="utf-8"))["weights"][0]
        for seed in range(arguments.seeds)
    ]


if __name__ == "__main__":
    sys.exit(main())
