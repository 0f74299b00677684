"""Benchmarks of the program on this machine: launch/benchmark.sh. Each measurement is next to that of a plain way to
do the same."""

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from annotating import SIMULATED, measure_annotating, simulated_games
from answering import measure_answering
from estimates import Estimate
from floor import measure_floor
from growing import measure_growing
from loading import measure_data
from peak import SIZES, measure_peak
from playing import measure_arena
from selfplaying import measure_selfplay
from shapes import measure_shapes
from three_players import measure_three_players
from training import measure_bf16, measure_train

from annotate.annotation import format_line
from annotate.records.reading import Record, find_records, read_games, read_record
from annotate.replay.replay import annotate_game
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.runtime.workers import num_cores
from kanachan.config import MODEL_SIZES, RunConfig
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from kanachan.training.batch_sizes import DEFAULT_BATCH
from kanachan.training.devices import devices_of

PARTS = ("annotate", "data", "train", "peak", "floor", "shapes", "growing", "arena", "selfplay", "bot", "three")
_PLAYED = {"arena", "selfplay", "bot", "three"}
"""parts that play games instead of reading records"""
_DROPOUT = 0.1


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/benchmark.sh", description="Measures the program's speed next to plain ways to do the same."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--records", help="folder of game records (default: KANACHAN_RECORDS, shared/records, or none)")
    parser.add_argument(
        "--games",
        type=int,
        default=100,
        help="games to annotate, to simulate, or to play into shards (default: %(default)s)",
    )
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each measurement (default: %(default)s)")
    parser.add_argument(
        "--size", choices=MODEL_SIZES, default="small", help="network to train and to play (default: %(default)s)"
    )
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]}: no such part; there are {', '.join(PARTS)}")
    require_positive(parser, arguments, "games", "repeats")
    return run_cleanly(parser.prog, lambda: _measure(arguments))


def _supports_bf16() -> bool:
    """Returns whether this CPU has units for bf16."""
    return devices_of(RunConfig(accelerator="cpu")).use_bf16


def _measure(arguments: argparse.Namespace) -> None:
    parts = arguments.parts or PARTS
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files, kind = _records(arguments.records, arguments.games, work) if set(parts) - _PLAYED else ([], "none")
        lines = [line for path in files for line in _lines(path)]
        print(
            f"{len(files)} games ({kind}), {len(lines):,} decisions; {torch.get_num_threads()} threads", file=sys.stderr
        )
        estimates: list[Estimate] = []
        if "annotate" in parts:
            estimates += measure_annotating(files, kind, arguments.repeats, work)
        if set(parts) - _PLAYED - {"annotate"}:
            shards = _packed(lines, work)
        if "data" in parts:
            estimates.append(measure_data(lines, shards, arguments.repeats))
        if "train" in parts:
            model = replace(MODEL_SIZES[arguments.size], dropout=_DROPOUT)
            estimates.append(measure_train(lines, shards, model, DEFAULT_BATCH, arguments.repeats))
            if _supports_bf16():
                estimates.append(measure_bf16(shards, model, DEFAULT_BATCH, arguments.repeats))
        if "peak" in parts:
            estimates += [measure_peak(shards, size, arguments.repeats) for size in SIZES]
        if "growing" in parts:
            estimates += measure_growing(shards, arguments.repeats, work)
        if "three" in parts:  # before those that leave torch with one thread, as it trains
            estimates += measure_three_players(MODEL_SIZES[arguments.size], arguments.games, arguments.repeats, work)
        if "floor" in parts:
            model = replace(MODEL_SIZES[arguments.size], dropout=_DROPOUT)
            for use_bf16 in (False, True) if _supports_bf16() else (False,):
                estimates += measure_floor(shards, model, arguments.repeats, use_bf16=use_bf16)
        if "shapes" in parts:
            estimates += measure_shapes(shards, arguments.repeats, use_bf16=_supports_bf16())
        if "bot" in parts:
            estimates.append(measure_answering(MODEL_SIZES[arguments.size], arguments.repeats, work))
        if "selfplay" in parts:
            estimates += measure_selfplay(arguments.games, arguments.repeats, work)
    if "arena" in parts:
        model = MODEL_SIZES[arguments.size]
        has_int8 = find_spec("onnxruntime") is not None and find_spec("onnx") is not None  # the extra `onnx`
        estimates += measure_arena(model, arguments.repeats, with_bf16=_supports_bf16(), with_int8=has_int8)
    print(f"{'':<58}{'kanachan':>12}{'plain':>12}{'ratio':>8}")
    for estimate in estimates:
        label = f"{estimate.what}, {estimate.unit}"
        print(f"{label:<58}{estimate.ours:>12,.0f}{estimate.plainly:>12,.0f}{estimate.ours / estimate.plainly:>8.2f}")
        print(f"    plain: {estimate.plain}")
        for name, value in estimate.more.items():
            print(f"    {name}: {value:,.4g}")
    print(
        json.dumps(
            {"machine": _machine(), "games": len(files), "records": kind, "figures": [asdict(e) for e in estimates]}
        )
    )


def _machine() -> dict[str, Any]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": num_cores(),
        "torch": torch.__version__,
    }


def _records(given: str | None, num_games: int, work: Path) -> tuple[list[str], str]:
    """Returns files of one game each, and a description of them."""
    default = Path(__file__).resolve().parents[3] / "shared" / "records"
    folder = Path(given or os.environ.get("KANACHAN_RECORDS", default))
    if given or folder.is_dir():
        houou = folder / "tenhou" / "houou-4p-2021"
        found = find_records([str(houou if houou.is_dir() else folder)])
        files = list(islice(filter(_is_readable, found), num_games))
        if not files:
            raise ValueError(f"{folder}: no game that can be read")
        return files, "real, mjlog" if houou.is_dir() else "real"
    return simulated_games(num_games, work / "games"), SIMULATED


def _is_readable(path: str) -> bool:
    try:
        return bool(read_games(path))
    except ValueError:
        return False


def _lines(path: str) -> list[str]:
    games = read_record(Record(path, 0))
    return [format_line(annotation) for game in games for annotation in annotate_game(game).annotations]


def _packed(lines: list[str], work: Path) -> Path:
    text = work / "annotations.txt"
    text.write_text("".join(f"{line}\n" for line in lines))
    pack([str(text)], work / "shards", Packing(fractions=(1.0, 0.0, 0.0)))
    return work / "shards"


if __name__ == "__main__":
    raise SystemExit(main())
