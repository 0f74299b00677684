"""Several runs of kanachan-train one after the other in this process, of which torchrun may have started more than one:

    torchrun --standalone --nproc-per-node 2 tests/several.py RUNS.json

where the file holds a list of command lines, each a list; STOP and a number before one of them has the first process
send itself SIGTERM when metrics.csv has so many rows. So a test pays for the imports once.
"""

import json
import os
import sys
from pathlib import Path

from stopped import stop_in_time

from kanachan import train


def main() -> int:
    return max(made(argv) for argv in json.loads(Path(sys.argv[1]).read_text()))


def made(argv: list[str]) -> int:
    if argv[0] == "STOP":
        _, rows, *argv = argv
        if os.environ["RANK"] == "0":
            stop_in_time(int(rows), argv)
    return train.main(argv)


if __name__ == "__main__":
    raise SystemExit(main())
