"""Docstrings: a public function's begins with what it does, in the third person. Comments: none is a banner."""

import ast
import re

import pytest

from tests.support.imports import MODULES, parse

NOT_VERBS = {"Its", "As", "This", "Yes", "Games", "Rows", "Lines", "Tensors", "Events", "Pairs", "Details", "Options"}


def public_functions(module: str) -> list[ast.FunctionDef]:
    """Functions and methods without properties, whose docstrings may name what they are."""
    return [
        node
        for node in ast.walk(parse(module))
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
    ]


@pytest.mark.parametrize("module", MODULES)
def test_a_public_docstring_begins_with_a_verb(module: str) -> None:
    wrong = []
    for function in public_functions(module):
        words = (ast.get_docstring(function) or "").split()
        first = words[0].rstrip(",;") if words else ""
        if words and not (first[0].isupper() and first.endswith("s") and first not in NOT_VERBS):
            wrong.append(f"{function.name}, line {function.lineno}: {' '.join(words[:6])}")
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_no_comment_is_a_banner(module: str) -> None:
    assert re.findall(r"^ *#.*[-=*~#]{4,}", MODULES[module].read_text(), re.MULTILINE) == []
