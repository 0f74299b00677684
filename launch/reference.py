"""Makes a reference model for the package from a run's weights: half precision, with a readable card.

python launch/reference.py RUN --evaluation evaluation.json --ancestors runs/imitation
    --arena arena.json -o kanachan/reference/rank.safetensors

Reference models for three players are in kanachan/reference/3p.

Removed from the card: the folders of the machine that trained the network. Added: the metrics that kanachan-evaluate
computed on the test split, the results of matches, the number of passes over the games, and the commands that
reproduce the weights. Half precision halves the file size; a network that is loaded from it still computes in fp32.
"""

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotate.runtime.json_output import read_json
from annotate.runtime.terminal import run_cleanly
from kanachan.models.reference import is_reference_name, name_of
from kanachan.models.weights import Weights, lineage_of, read_weights, write_weights
from kanachan.objectives.stages import REWARD
from kanachan.play.agent_spec import parse_agent
from kanachan.training.command_line import stage_defaults
from kanachan.training.run_folder import settings_as_json

LICENCE = "MIT"
_MEASURED = ("agreement", "questions", "values", "log_likelihood", "less_scores", "chance")


def reference_card(
    weights: Weights,
    evaluation: Mapping[str, Any],
    ancestors: Sequence[Weights] = (),
    arena: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Returns the card of a reference model.

    Args:
        ancestors: weights of the earlier stages, for the passes and commands.

    Raises:
        ValueError: `ancestors` do not belong to the lineage.
    """
    runs = [*_of_lineage(weights, ancestors), weights]
    card = {**weights.card, "config": _config(weights.card), "data": _data(weights.card["data"])}
    if "calibration" in card:
        card["calibration"] = {**card["calibration"], "shards": Path(card["calibration"]["shards"]).name}
    card["objective"] = {**card["objective"], "teacher": card["config"]["objective"]["teacher"]}
    card |= {"precision": "fp16", "licence": LICENCE, "evaluation": evaluation, "arena": list(arena)}
    training: list[dict[str, Any]] = []
    commands: list[str] = []
    for run in runs:
        if "training" in run.card:  # a reference model, which has its own ancestors too
            training = [step for step in training if step not in run.card["training"]] + run.card["training"]
            commands = [each for each in commands if each not in run.card["commands"]] + run.card["commands"]
        else:
            training.append(_training(run))
            commands += [
                each for each in _commands(run) if each not in commands or not each.startswith("kanachan-pack")
            ]
    return card | {"training": training, "commands": commands}


def measured(path: Path, stage: str) -> dict[str, Any]:
    """Reads the metrics of the only network of the stage from a file of kanachan-evaluate. Raises ValueError if the
    file has no network or several networks of the stage."""
    evaluation = read_json(path)
    entries = [entry for entry in evaluation.get("weights", []) if entry["stage"] == stage]
    if len(entries) != 1:
        raise ValueError(f"{path}: {len(entries)} networks of stage {stage}, not one: kanachan-evaluate RUN SHARDS")
    entry = entries[0]
    if stage == REWARD:
        of_rounds = {name: entry[name] for name in ("log_likelihood", "explained_variance")}
        return {name: evaluation[name] for name in ("split", "games", "rounds")} | of_rounds
    found = {name: evaluation[name] for name in ("split", "games", "decisions")}
    found |= {name: entry[name] for name in _MEASURED if entry.get(name)}
    return found | {"verdict": entry["verdict"]}


def match(path: Path) -> dict[str, Any]:
    """Reads the result of a match from a file of kanachan-arena."""
    arena = read_json(path)
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
    """Returns a player's specification without the folders of its weights; names of the package's weights are kept."""
    weights = parse_agent(player, requires_files=False).weights
    return player.replace(weights, str(_without_folder(weights))) if weights else player


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
    """Returns the commands that trained and calibrated a run, with the settings that differ from its stage's defaults;
    before them, the command that packed its data, if whole files were assigned to the splits."""
    config = _config(run.card)
    sources = _data(run.card["data"])["sources"]
    commands = []
    if isinstance(sources, dict):
        files = [word for split, names in sources.items() if names for word in (f"--{split}", *names)]
        commands.append(shlex.join(["kanachan-pack", *files, "-o", config["data"]["path"]]))
    command = ["kanachan-train", "--stage", config["stage"], "--data.path", config["data"]["path"]]
    if config["init"]:
        command += ["--init", config["init"]]
    usual = settings_as_json(stage_defaults(config["stage"], run.vocabulary))
    own = {config["stage"]} & {"reward", "policy"}
    for section in ("data", "model", "objective", "optim", "run", *own):
        for name, value in config.get(section, {}).items():
            # ancestors may have settings that are gone
            if name != "path" and value != usual[section].get(name, value):
                command += [f"--{section}.{name}", value if isinstance(value, str) else json.dumps(value)]
    commands.append(shlex.join(command))
    if "calibration" in run.card:
        commands.append(shlex.join(["kanachan-calibrate", config["run"]["out"], config["data"]["path"], "-o", "FILE"]))
    return commands


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reference.py", description="Makes a reference model from the weights of a run."
    )
    parser.add_argument("run", help="weights file, or folder of a finished run")
    parser.add_argument("--evaluation", type=Path, required=True, help="JSON of kanachan-evaluate RUN SHARDS --json")
    parser.add_argument(
        "--ancestors", nargs="*", action="extend", default=[], metavar="RUN", help="runs of earlier stages, any order"
    )
    parser.add_argument(
        "--arena", type=Path, nargs="*", action="extend", default=[], metavar="JSON", help="of kanachan-arena --json"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, help="file to write")
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
