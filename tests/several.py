"""Several runs of kanachan-train one after the other in this process, of which torchrun may have started more than one:

    torchrun --standalone --nproc-per-node 2 tests/several.py RUNS.json

where the file holds a list of command lines, each a list. So a test pays for the imports once.
"""

import json
import sys
from pathlib import Path

from kanachan import train


def main() -> int:
    return max(train.main(argv) for argv in json.loads(Path(sys.argv[1]).read_text()))


if __name__ == "__main__":
    raise SystemExit(main())
