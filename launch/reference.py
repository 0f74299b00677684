"""Makes a reference model of the weights of a run: half precision, for the package, with a card for people.

python launch/reference.py RUN --evaluation evaluation.json --ancestors runs/imitation --games docs/benchmark
    --arena arena.json -o kanachan/reference/rank.safetensors
python launch/reference.py RUN --evaluation evaluation.json --int8 SHARDS -o kanachan/reference/imitation.safetensors

Those of three players are in kanachan/reference/3p.

The card loses the folders of the machine that trained it. It gains the metrics that kanachan-evaluate computed on the
test split, how far int8 matrices are from the network there, the results of matches, the games by table and date, the
passes over them and the commands that make the weights again. Half precision halves the file; a network that is loaded
from it computes in fp32 as before.
"""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from annotate.runtime.terminal import run_cleanly
from kanachan.config import RETIRED, SPLITS
from kanachan.data.loader import held_out_columns
from kanachan.evaluation.benchmark import games_in, tables_of
from kanachan.inference.int8_network import divergence, with_int8
from kanachan.inference.policy import Policy
from kanachan.models.reference import is_reference_name, name_of
from kanachan.models.weights import Weights, lineage_of, read_weights, write_weights
from kanachan.objectives.stages import REWARD
from kanachan.training.command_line import stage_defaults
from kanachan.training.run_folder import plain

LICENCE = "MIT"
_BATCH = 256
_INT8_INSTRUCTIONS = ("avx512_vnni", "avx_vnni", "amx_int8")
"""of which one multiplies int8: without any, sums can overflow"""
_MEASURED = ("agreement", "questions", "values", "log_likelihood", "less_scores", "chance")


def reference_card(
    weights: Weights,
    evaluation: Mapping[str, Any],
    ancestors: Sequence[Weights] = (),
    arena: Sequence[Mapping[str, Any]] = (),
    games: Mapping[str, Sequence[str]] | None = None,
    int8: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the card of a reference model.

    Args:
        ancestors: weights of the earlier stages, for the passes and the commands.

    Raises:
        ValueError: `ancestors` are not those of the lineage, or `games` not those of the data.
    """
    runs = [*_of_lineage(weights, ancestors), weights]
    card = {**weights.card, "config": _config(weights.card), "data": _data(weights.card["data"])}
    if "calibration" in card:
        card["calibration"] = {**card["calibration"], "shards": Path(card["calibration"]["shards"]).name}
    card["objective"] = {**card["objective"], "teacher": card["config"]["objective"]["teacher"]}
    card |= {"precision": "fp16", "licence": LICENCE, "evaluation": evaluation, "arena": list(arena)}
    # the card of an ancestor that is itself a reference model has its own ancestors too
    card["training"] = []
    for step in (step for run in runs for step in run.card.get("training", [_training(run)])):
        if step not in card["training"]:
            card["training"].append(step)
    commands = (command for run in runs for command in run.card.get("commands", _commands(run)))
    card["commands"] = list(dict.fromkeys(commands))
    if games is not None:
        card["games"] = _games(weights, games)
    if int8 is not None:
        card["int8"] = int8
    return card


def measured(path: Path, stage: str) -> dict[str, Any]:
    """Reads the metrics of the one network of the stage in a file of kanachan-evaluate. Raises ValueError: it has no or
    several networks of the stage."""
    evaluation = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for entry in evaluation["weights"] if entry["stage"] == stage]
    if len(entries) != 1:
        raise ValueError(f"{path}: {len(entries)} networks of stage {stage}, not one: kanachan-evaluate RUN SHARDS")
    entry = entries[0]
    if stage == REWARD:
        of_rounds = {name: entry[name] for name in ("log_likelihood", "explained_variance")}
        return {name: evaluation[name] for name in ("split", "games", "rounds")} | of_rounds
    found = {name: evaluation[name] for name in ("split", "games", "decisions")}
    found |= {name: entry[name] for name in _MEASURED if entry.get(name)}
    return found | {"verdict": entry["verdict"]}


def int8_divergence(run: str, shards: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Computes how far a run's network is from itself with int8 matrices, on the decisions of its evaluation.

    Raises:
        ValueError: int8 is not for this machine, the weights are not of imitation, or the shards are not those of the
            evaluation.
    """
    if not any(torch.cpu.get_capabilities().get(name, False) for name in _INT8_INSTRUCTIONS):
        raise ValueError("--int8: needs a CPU that multiplies int8 (VNNI, AMX): sums could overflow on others")
    policy, split = Policy.load(run, "cpu"), evaluation["split"]
    columns = held_out_columns(shards, split, policy.vocabulary)
    if len(columns) != evaluation["decisions"]:
        raise ValueError(
            f"--int8 {shards}: {len(columns):,} decisions in the {split} split, the evaluation has "
            f"{evaluation['decisions']:,}"
        )
    firsts = range(0, len(columns), _BATCH)
    batches = (policy.batch(columns.rows(first, min(first + _BATCH, len(columns)))) for first in firsts)
    return {"split": split, **divergence(with_int8(policy, run), policy, batches)._asdict()}


def match(path: Path) -> dict[str, Any]:
    """Reads the result of a match in a file of kanachan-arena."""
    arena = json.loads(path.read_text(encoding="utf-8"))
    settings = {name: arena["match"][name] for name in ("format", "rules", "style", "room", "grades", "seed")}
    return {
        "players": [_without_folders(player) for player in arena["match"]["players"]],
        **settings,
        "games": arena["games"],
        "mean_rank": {letter: metrics["mean_rank"] for letter, metrics in arena["players"].items()},
        "difference": arena["differences"]["mean_rank"],
        "p": arena["test"]["p"],
    }


def _without_folders(player: str) -> str:
    """Returns the specification of a player with the names of its files alone; names of shipped weights stay."""
    return player if player.startswith("reference") else player.rsplit("/", 1)[-1]


def _config(card: Mapping[str, Any]) -> dict[str, Any]:
    config = json.loads(json.dumps(card["config"]))
    config["data"]["path"] = Path(config["data"]["path"]).name
    config["run"]["out"] = Path(config["run"]["out"]).name
    config["init"] = _without_folder(config["init"])
    config["objective"]["teacher"] = _without_folder(config["objective"].get("teacher"))
    return config


def _without_folder(weights: str | None) -> str | None:
    return weights if weights is None or is_reference_name(weights) else Path(weights).name


def _data(data: Mapping[str, Any]) -> dict[str, Any]:
    sources = data.get("sources") or ()
    if isinstance(sources, dict):
        sources = {split: [Path(file).name for file in files] for split, files in sources.items()}
    else:
        sources = [Path(file).name for file in sources]
    return {**data, "path": Path(data["path"]).name, "sources": sources}


def _of_lineage(weights: Weights, ancestors: Sequence[Weights]) -> list[Weights]:
    """Returns the ancestors in the order of the lineage."""
    by_hash = {lineage_of(ancestor)[-1]["sha256"]: ancestor for ancestor in ancestors}
    hashes = [step["sha256"] for step in weights.card.get("lineage", [])]
    for sha256, ancestor in by_hash.items():
        if sha256 not in hashes:
            raise ValueError(f"--ancestors {ancestor.path}: not in the lineage of {weights.path}: its hash is {sha256}")
    return [by_hash[sha256] for sha256 in hashes if sha256 in by_hash]


def _training(run: Weights) -> dict[str, Any]:
    card = run.card
    unit = "games" if card["stage"] == REWARD else "decisions"
    num_train = card["data"][unit]["train"]
    return {
        "stage": card["stage"],
        "name": name_of(run.path) or Path(card["config"]["run"]["out"]).name,
        "steps": card["steps"],
        f"{unit}_seen": card["samples"],
        "passes": round(card["samples"] / num_train, 3),
        "train_games": card["data"]["games"]["train"],
        "chosen": card.get("chosen"),
    }


def _commands(run: Weights) -> list[str]:
    """Returns the commands that trained and calibrated a run: its settings that differ from those of its stage; and
    before them the one that packed its data, if that was by file."""
    config = _config(run.card)
    sources = _data(run.card["data"])["sources"]
    commands = []
    if isinstance(sources, dict):
        files = [word for split, names in sources.items() for word in (f"--{split}", *names)]
        commands.append(shlex.join(["kanachan-pack", *files, "-o", config["data"]["path"]]))
    command = ["kanachan-train", "--stage", config["stage"], "--data.path", config["data"]["path"]]
    if config["init"]:
        command += ["--init", config["init"]]
    usual = plain(stage_defaults(config["stage"], run.vocabulary))
    for setting, value in RETIRED.items():
        section, _, name = setting.partition(".")
        usual[section][name] = value
    own = {config["stage"]} & {"reward", "policy"}
    for section in ("data", "model", "objective", "optim", "run", *own):
        for name, value in config.get(section, {}).items():
            is_given = f"{section}.{name}" not in ("data.path", "data.exchange_suits")
            if is_given and value != usual[section].get(name):
                command += [f"--{section}.{name}", value if isinstance(value, str) else json.dumps(value)]
    commands.append(shlex.join(command))
    if "calibration" in run.card:
        commands.append(shlex.join(["kanachan-calibrate", config["run"]["out"], config["data"]["path"], "-o", "FILE"]))
    return commands


def _games(weights: Weights, games: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Returns the number of games and their tables by date, for each split."""
    counted = weights.card["data"]["games"]
    for split in SPLITS:
        if len(games[split]) != counted[split]:
            raise ValueError(f"--games: {len(games[split])} ids of the {split} split, the data has {counted[split]}")
    return {split: {"games": len(ids), "tables": tables_of(ids)} for split, ids in games.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reference.py", description="Makes a reference model of the weights of a run."
    )
    parser.add_argument("run", help="weights file, or folder of a run that has ended")
    parser.add_argument("--evaluation", type=Path, required=True, help="JSON of kanachan-evaluate RUN SHARDS --json")
    parser.add_argument(
        "--ancestors", nargs="*", default=[], metavar="RUN", help="weights of the earlier stages, in any order"
    )
    parser.add_argument(
        "--arena", type=Path, nargs="*", default=[], metavar="JSON", help="JSON of kanachan-arena --json"
    )
    parser.add_argument("--games", type=Path, metavar="DIR", help="folder with the ids of the games of each split")
    parser.add_argument("--int8", metavar="SHARDS", help="measures int8 matrices on the split of the evaluation there")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace the file, if it exists")
    arguments = parser.parse_args()

    def body() -> None:
        if arguments.output.exists() and not arguments.force:
            raise ValueError(f"{arguments.output}: exists; --force replaces it")
        weights = read_weights(arguments.run)
        evaluation = measured(arguments.evaluation, weights.stage)
        card = reference_card(
            weights,
            evaluation,
            [read_weights(path) for path in arguments.ancestors],
            [match(path) for path in arguments.arena],
            None if arguments.games is None else games_in(arguments.games),
            arguments.int8 and int8_divergence(arguments.run, arguments.int8, evaluation),
        )
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        write_weights(
            arguments.output,
            {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.tensors.items()},
            card,
        )
        size = arguments.output.stat().st_size
        verdict = card["evaluation"].get("verdict")
        print(f"{arguments.output}: {size / 1e6:.1f} MB" + (f", {verdict['sentence']}" if verdict else ""))

    return run_cleanly(parser.prog, body)


if __name__ == "__main__":
    raise SystemExit(main())
