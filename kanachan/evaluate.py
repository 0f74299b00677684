"""kanachan-evaluate: what networks are worth on held-out games, as a table and as JSON."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from annotate.files import replacing
from annotate.terminal import run_cleanly
from kanachan.config import SPLITS, STAGES

if TYPE_CHECKING:
    from kanachan.comparison import Comparison
    from kanachan.evaluation import Evaluation
    from kanachan.policy import Policy

PROGRAM = "kanachan-evaluate"
FORMAT_VERSION = 2
_DESCRIPTION = """Measures networks on a split of packed annotations. After imitation: how often and with what
probability the network foresees the player's action, by kind of decision. Accuracy asks whether the best action is of
the kind where the player's is (discard: the same of 34 tiles); recall, how many of the player's own calls, riichis and
wins are the best action. After the other stages: explained variance of the predicted points; skill, the same against a
baseline that sees only scores and round, fitted to the train split; likelihood of ranks; reliability. Intervals hold
95 %, from drawing whole games anew. If a rank network is among those named, grading networks are compared with the
points that its rank probabilities are worth. With --compare, each further network's figures less those of the first,
with intervals of the differences."""


@dataclass(frozen=True)
class _Subject:
    """A network to be measured and the letter that stands for it."""

    letter: str
    path: str
    policy: "Policy"


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    for name in ("batch", "limit", "bootstrap"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1, not {value}")
    if arguments.compare and len(arguments.weights) < 2:
        parser.error("--compare needs two WEIGHTS or more, and SHARDS behind them")
    return run_cleanly(PROGRAM, lambda: _evaluate(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_DESCRIPTION)
    parser.add_argument(
        "weights", metavar="WEIGHTS", nargs="+", help="weights files, or folders of runs that have ended"
    )
    parser.add_argument("shards", metavar="SHARDS", help="folder made by kanachan-pack")
    parser.add_argument(
        "--compare",
        action="store_true",
        help="also tell, with intervals, how far the figures of all further WEIGHTS are from those of the first",
    )
    parser.add_argument(
        "--split", choices=SPLITS, default="test", help="decisions to measure on (default: %(default)s)"
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="where to write all figures (default: evaluation-SPLIT.json beside each weights file)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="measure on N decisions of the split only")
    parser.add_argument(
        "--bootstrap", type=int, metavar="N", default=1000, help="draws behind an interval (default: %(default)s)"
    )
    parser.add_argument(
        "--batch", type=int, default=256, help="decisions that pass a network at once (default: %(default)s)"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 ...; auto takes a GPU if there is one")
    return parser


def _evaluate(arguments: argparse.Namespace) -> None:
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.comparison import compared
    from kanachan.evaluation import answers_of, evaluated, held_out_rows, mixture_of
    from kanachan.policy import Policy, chosen_device

    device = chosen_device(arguments.device)
    letters = [""] if len(arguments.weights) == 1 else [_letter(i) for i in range(len(arguments.weights))]
    subjects = [
        _Subject(letter, path, Policy.load(path, device))
        for letter, path in zip(letters, arguments.weights, strict=True)
    ]
    held_out = held_out_rows(
        arguments.shards, arguments.split, subjects[0].policy.vocabulary, arguments.limit, arguments.bootstrap
    )
    rows = len(held_out.columns)
    with tqdm(total=rows * len(subjects), unit="decision", unit_scale=True, disable=None) as bar:
        answers = {s: answers_of(s.policy, held_out.columns, arguments.batch, bar.update) for s in subjects}
    mixture = mixture_of([answers[s] for s in subjects if s.policy.stage == "rank"], held_out)
    first = {s.policy.stage: s for s in reversed(subjects)}
    evaluations = {}
    for s in subjects:
        other = first[s.policy.stage]
        evaluations[s] = evaluated(s.policy, answers[s], held_out, None if other is s else answers[other], mixture)
    comparisons = {
        s: compared(answers[subjects[0]], answers[s], held_out.game_B, held_out.replicates)
        for s in (subjects[1:] if arguments.compare else [])
    }
    header = {
        "format_version": FORMAT_VERSION,
        "shards": arguments.shards,
        "split": arguments.split,
        "fingerprint": subjects[0].policy.vocabulary.fingerprint,
        "games": held_out.num_games,
        "decisions": rows,
        "limit": arguments.limit,
        "bootstrap": arguments.bootstrap,
    }
    try:
        print(_report(header, held_out.note, evaluations, comparisons), flush=True)
    finally:  # the figures are not lost with the reader of the table (`| head`)
        entries = {s: _entry(s, evaluation) for s, evaluation in evaluations.items()}
        for s, comparison in comparisons.items():
            entries[s]["comparison"] = {"reference": subjects[0].path, **_plain(vars(comparison))}
        _write(header, entries, arguments)


def _letter(index: int) -> str:
    """A, B ... Z, AA, AB ..."""
    return (_letter(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def _report(
    header: dict[str, Any],
    note: str | None,
    evaluations: dict[_Subject, "Evaluation"],
    comparisons: dict[_Subject, "Comparison"],
) -> str:
    from kanachan.tables import comparison_tables, stage_tables, table

    limited = " (the first of the split)" if header["limit"] == header["decisions"] else ""
    parts = [
        f"{header['split']} split of {header['shards']}: {header['games']:,} games, "
        f"{header['decisions']:,} decisions{limited}\n"
        f"[brackets]: 95 % intervals from {header['bootstrap']:,} draws of whole games" + (f"\n{note}" if note else "")
    ]
    networks = [[s.letter, *_origin(s.policy.card), s.path] for s in evaluations]
    parts.append(table(["", "stage", "encoder from", "steps", "weights"], networks, flush_left=5))
    for stage in STAGES:
        of_stage = {s.letter: evaluation for s, evaluation in evaluations.items() if evaluation.stage == stage}
        if of_stage:
            num_seats = next(iter(evaluations)).policy.vocabulary.num_seats
            parts.append(stage_tables(stage, of_stage, math.factorial(num_seats)))
    if comparisons:
        reference = next(iter(evaluations))
        parts.append(comparison_tables(reference.letter, {s.letter: c for s, c in comparisons.items()}))
    return "\n\n".join(parts)


def _origin(card: dict[str, Any]) -> list[str]:
    lineage = [step["stage"] for step in card.get("lineage", [])]
    return [card["stage"], " > ".join(lineage) or "scratch", f"{card.get('steps') or 0:,}"]


def _write(header: dict[str, Any], entries: dict[_Subject, dict[str, Any]], arguments: argparse.Namespace) -> None:
    """One file for each weights file, beside it, or one for all of them where the user said."""
    from kanachan.checkpoint import WEIGHTS_NAME, weights_file

    if arguments.json:
        _write_json(Path(arguments.json), {**header, "weights": list(entries.values())})
        return
    limited = f"-{arguments.limit}" if arguments.limit else ""
    for subject, entry in entries.items():
        file = weights_file(subject.path)
        stem = "" if file.name == WEIGHTS_NAME else f"{file.stem}-"
        path = file.with_name(f"{stem}evaluation-{arguments.split}{limited}.json")
        _write_json(path, {**header, "weights": [entry]})


def _entry(subject: _Subject, evaluation: "Evaluation") -> dict[str, Any]:
    card = subject.policy.card
    about = {name: card.get(name) for name in ("stage", "steps", "samples", "lineage", "model", "objective", "commit")}
    figures = {
        name: getattr(evaluation, name)
        for name in ("agreement", "values", "log_likelihood", "reliability", "against_first")
    }
    return {"path": subject.path, **about, **_plain(figures)}


def _plain(value: Any) -> Any:
    """Named tuples as objects, and null for what is no number: a figure that cannot be told."""
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
