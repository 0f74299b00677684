"""Rewrites tests/golden/golden.txt, the annotation lines of golden.jsonl, a made-up game of five rounds.

    python -m tests.golden.golden

To be run only where annotations were meant to change; the difference is to be read and explained.
"""

from pathlib import Path

from annotate.annotation import format_line
from annotate.records.reading import read_games
from annotate.replay.replay import annotate_game

DATA = Path(__file__).parent
RECORD = DATA / "golden.jsonl"
LINES = DATA / "golden.txt"


def lines_text() -> str:
    (game,) = read_games(str(RECORD))
    report = annotate_game(game)
    assert not report.left_out, report.left_out
    return "".join(f"{format_line(annotation)}\n" for annotation in report.annotations)


if __name__ == "__main__":
    LINES.write_text(lines_text())
