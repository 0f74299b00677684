"""Where the checkout and the files of the tests are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
GOLDEN = ROOT / "tests" / "golden"
HANDMADE_RECORDS = GOLDEN / "records"
PROGRAMS = ROOT / "tests" / "support" / "programs"
