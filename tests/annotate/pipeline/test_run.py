"""The version of the program that an interrupted run was started by."""

import shutil
from pathlib import Path

from annotate.pipeline.convert import Conversion
from annotate.pipeline.outputs import StandardOutput
from annotate.runtime.journal import hash_of_sources
from tests.support.paths import ROOT


def test_a_change_of_any_source_of_the_package_makes_it_another_program(tmp_path: Path) -> None:
    """The lines depend on all packages of annotate, not only on those next to the module that computes the hash."""
    copy = Path(shutil.copytree(ROOT / "annotate", tmp_path / "annotate", ignore=shutil.ignore_patterns("__pycache__")))
    before = hash_of_sources(copy.rglob("*.py"))
    assert Conversion([], 4, (14,)).settings(StandardOutput())["program"].endswith(f", {before}")
    packages = {path.parent for path in copy.rglob("*.py")}
    assert len(packages) > 8
    for package in packages:
        source = max(package.glob("*.py"))
        text = source.read_text()
        source.write_text(text + "\n")
        assert hash_of_sources(copy.rglob("*.py")) != before, source
        source.write_text(text)
