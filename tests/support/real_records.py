"""The real game records. They are not part of the project; tests that need them are skipped without them."""

import os
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def real_records(folder: str) -> list[Path]:
    """The files of `folder` (such as "tenhou/houou-4p-2020"), sorted; skips the test where there are none."""
    default = ROOT.parent / "shared" / "records"
    root = Path(os.environ.get("KANACHAN_RECORDS", default))
    files = sorted(path for path in (root / folder).glob("*") if path.is_file())
    if not files:
        pytest.skip(f"no game records in {root / folder}; KANACHAN_RECORDS names the folder they are in")
    return files
