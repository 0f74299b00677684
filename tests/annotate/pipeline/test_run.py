"""The version of the program that an interrupted run was started by."""

import shutil
from pathlib import Path

import pytest

from annotate.pipeline import run
from tests.support.paths import ROOT


def test_a_change_of_any_source_of_the_package_makes_it_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines depend on all packages of annotate, not only on those next to the module that computes the hash."""
    assert run._PACKAGE == ROOT / "annotate"
    copy = Path(shutil.copytree(run._PACKAGE, tmp_path / "annotate", ignore=shutil.ignore_patterns("__pycache__")))
    before = run._program()
    monkeypatch.setattr(run, "_PACKAGE", copy)
    assert run._program() == before
    packages = {path.parent for path in copy.rglob("*.py")}
    assert len(packages) > 8
    for package in packages:
        source = max(package.glob("*.py"))
        text = source.read_text()
        source.write_text(text + "\n")
        assert run._program() != before, source
        source.write_text(text)
