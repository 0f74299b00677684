"""kanachan-curves: draws the curves of runs, without wandb and even while they are training."""

import sys
from collections.abc import Sequence
from pathlib import Path

from annotate.runtime.arguments import CommandParser, add_force_option
from annotate.runtime.files import check_output, replacing
from annotate.runtime.terminal import run_cleanly

PROGRAM = "kanachan-curves"
_DESCRIPTION = """Draws the curves of runs from their metrics.csv: loss, accuracy, explained variance and calibration,
the drift of the encoder, speed, gradient and learning rate, for training and validation. A picture can show several
runs and stages; runs may still be training. Needs matplotlib."""
_KINDS = ("png", "svg", "pdf")


def main(argv: Sequence[str] | None = None) -> int:
    parser = CommandParser(PROGRAM, description=_DESCRIPTION)
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="run folders, folders of runs, or patterns such as 'runs/*'"
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="picture to write: .png, .svg or .pdf")
    add_force_option(parser)
    arguments = parser.parse_args(argv)
    kind = Path(arguments.output).suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        parser.error(f"--output {arguments.output}: a name that ends in .png, .svg or .pdf is expected")
    return run_cleanly(PROGRAM, lambda: _curves(arguments.runs, arguments.output, kind, force=arguments.force))


def _curves(patterns: Sequence[str], output: str, kind: str, *, force: bool) -> None:
    from kanachan.training.curves import draw_picture, find_runs, read_runs

    check_output(output, force=force)
    folders = find_runs(patterns)
    runs = read_runs(folders)
    if len(runs) < len(folders):
        print(f"{PROGRAM}: left out, without metrics so far: {len(folders) - len(runs)} runs", file=sys.stderr)
    with replacing(Path(output)) as temporary:
        draw_picture(runs, temporary, kind)
    print(f"{output}: {len(runs)} runs: {', '.join(run.name for run in runs)}")
