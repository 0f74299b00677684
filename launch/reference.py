"""Makes a reference model of the weights of a run: half precision, for the package.

python launch/reference.py RUN --evaluation evaluation.json -o kanachan/reference/imitation.safetensors

The card loses the folders of the machine that trained it, and gains the metrics that kanachan-evaluate computed on the
test split. Half precision halves the file; a network that is loaded from it computes in fp32 as before.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from annotate.runtime.terminal import run_cleanly
from kanachan.models.weights import read_weights, write_weights


def reference_card(card: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the card without folders, with `evaluation`: the metrics of the weights in a kanachan-evaluate JSON.

    Raises:
        ValueError: the JSON is not of exactly one network of the card's stage.
    """
    try:
        (entry,) = [entry for entry in evaluation["weights"] if entry["stage"] == card["stage"]]
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"--evaluation: not the evaluation of one network after {card['stage']}") from None
    config = json.loads(json.dumps(card["config"]))
    config["data"]["path"] = Path(config["data"]["path"]).name
    config["run"]["out"] = Path(config["run"]["out"]).name
    config["init"] = config["init"] and Path(config["init"]).name
    data = {**card["data"], "path": Path(card["data"]["path"]).name}
    if isinstance(data.get("sources"), dict):
        data["sources"] = {split: [Path(file).name for file in files] for split, files in data["sources"].items()}
    else:
        data["sources"] = [Path(file).name for file in data.get("sources", ())]
    measured = {name: evaluation[name] for name in ("split", "games", "decisions")}
    measured |= {name: entry[name] for name in ("agreement", "values", "log_likelihood") if entry[name]}
    return {**card, "config": config, "data": data, "precision": "fp16", "evaluation": measured}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reference.py", description="Makes a reference model of the weights of a run."
    )
    parser.add_argument("run", type=Path, help="weights file, or folder of a run that has ended")
    parser.add_argument("--evaluation", type=Path, required=True, help="JSON of kanachan-evaluate RUN SHARDS")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")
    arguments = parser.parse_args()

    def body() -> None:
        weights = read_weights(arguments.run)
        card = reference_card(weights.card, json.loads(arguments.evaluation.read_text(encoding="utf-8")))
        write_weights(arguments.output, {name: tensor.half() for name, tensor in weights.tensors.items()}, card)

    return run_cleanly(parser.prog, body)


if __name__ == "__main__":
    raise SystemExit(main())
