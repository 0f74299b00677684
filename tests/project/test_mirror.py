"""Tests mirror the packages and modules that they test, and share only what is in support."""

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TESTS = ROOT / "tests"
TEST_FILES = sorted(TESTS.rglob("test_*.py"))
MIRRORS = [path for path in TEST_FILES if path.relative_to(TESTS).parts[0] in ("annotate", "kanachan")]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MIRRORS, ids=name_of)
def test_a_test_is_where_its_module_is_and_is_named_for_it(path: Path) -> None:
    """test_<module>.py, or test_<module>_<topic>.py; a format's or another nested package counts as a module."""
    package = ROOT / path.relative_to(TESTS).parent
    assert (package / "__init__.py").is_file()
    modules = {
        module.stem for module in package.iterdir() if module.suffix == ".py" or (module / "__init__.py").is_file()
    }
    title = path.stem.removeprefix("test_")
    is_named = any(f"{title}_".startswith(f"{module}_") for module in modules)
    assert is_named, f"one of {', '.join(sorted(modules))} expected behind test_"


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=name_of)
def test_what_tests_share_is_in_support(path: Path) -> None:
    imported = [node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    assert not [module for module in imported if module.rpartition(".")[2].startswith("test_")]
