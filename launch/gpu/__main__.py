"""Measures the program on this machine's GPU, in parts: launch/gpu.sh."""

import argparse
import multiprocessing
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kanachan.cli.environment import set_environment

set_environment()  # before torch is imported

import torch  # noqa: E402
from bench import FAILED, Bench, say  # noqa: E402
from part import PARTS, run_part  # noqa: E402
from report import read_part, write_part, write_table  # noqa: E402

from annotate.runtime.terminal import run_cleanly  # noqa: E402

_LAST_LINES = 15
"""of the log of a part that has failed, which are shown"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/gpu.sh", description="Measures the program on a GPU, and compares what it computes with the CPU."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("-o", "--output", default="gpu", help="folder of the results (default: %(default)s)")
    parser.add_argument("--work", help="folder of games and runs (default: a temporary one)")
    parser.add_argument("--again", action="store_true", help="measure parts again that are complete")
    parser.add_argument("--tiny", action="store_true", help="tiny networks and few steps: a check, also on a CPU")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]}: no such part; there are {', '.join(PARTS)}")
    return run_cleanly(parser.prog, lambda: _measure(arguments))


def _measure(arguments: argparse.Namespace) -> int:
    out = Path(arguments.output)
    out.mkdir(parents=True, exist_ok=True)
    is_whole = True
    with ExitStack() as held:
        work = Path(arguments.work or held.enter_context(tempfile.TemporaryDirectory(prefix="kanachan-gpu-")))
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(work.resolve(), arguments.tiny)
        for part in arguments.parts or PARTS:
            result = read_part(out, part)
            if result is None or not result["complete"] or result["tiny"] != bench.is_tiny or arguments.again:
                result = _run(part, bench, out)
            else:
                say(f"{part}: complete already")
            is_whole &= result["complete"] and not any(FAILED in row for row in result["rows"])
    print(write_table(out, {name: title for name, (_, title) in PARTS.items()}))
    return 0 if is_whole else 1


def _run(part: str, bench: Bench, out: Path) -> dict[str, Any]:
    """Runs a part in a process of its own; its result is written after each row."""
    say(f"{part}: {PARTS[part][1]}")
    # CUDA does not survive a fork; without it a fork saves the time to load torch
    context = multiprocessing.get_context("spawn" if torch.cuda.is_available() else "fork")
    ours, theirs = context.Pipe()
    log = bench.work / f"{part}.log"
    process = context.Process(target=run_part, args=(part, bench, log, theirs))
    start = time.monotonic()
    process.start()
    theirs.close()
    result: dict[str, Any] = {"part": part, "tiny": bench.is_tiny, "started": time.strftime("%Y-%m-%d %H:%M")}
    result |= {"machine": {}, "seconds": 0.0, "complete": False, "rows": []}
    try:
        result["machine"] = ours.recv()
        while (row := ours.recv()) is not None:
            say("  " + ", ".join(f"{value}" if name == "what" else f"{name} {value}" for name, value in row.items()))
            result["rows"].append(row)
            result["seconds"] = time.monotonic() - start
            write_part(out, part, result)
        result["complete"] = True
    except EOFError:
        process.join()
        last = log.read_text(errors="replace").splitlines()[-_LAST_LINES:] if log.is_file() else []
        say("\n".join(last))
        result[FAILED] = f"status {process.exitcode}: {last[-1] if last else 'no message'}"
    process.join()
    result["seconds"] = time.monotonic() - start
    write_part(out, part, result)
    return result


if __name__ == "__main__":
    sys.exit(main())
