"""A vocabulary is passed, never assumed: which modules name one, and that no parameter falls back on one."""

import ast

from tests.support.imports import MODULES, parse

NAMING = {"annotate.vocabulary"}
"""modules that name the vocabulary of four players; the others are given one, or take it from what they read"""
MAKING = {"FOUR_PLAYERS", "VOCABULARY", "VOCABULARIES", "vocabulary_named", "vocabulary_with", "vocabulary_of_line"}


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_few_modules_name_the_vocabulary_of_four_players() -> None:
    imported = {
        module
        for module in MODULES
        for node in ast.walk(parse(module))
        if isinstance(node, ast.ImportFrom) and "FOUR_PLAYERS" in {alias.name for alias in node.names}
    }
    named = {module for module in MODULES if "FOUR_PLAYERS" in names_in(parse(module))}
    assert imported | named == NAMING


def fallbacks(tree: ast.AST) -> list[str]:
    """Parameters and fields with a default that is a vocabulary or taken from one, or that means one."""
    found: list[tuple[str, ast.expr | None, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            ordered = [*node.posonlyargs, *node.args]
            defaults = zip(reversed(ordered), reversed(node.defaults), strict=False)
            found += [(parameter.arg, parameter.annotation, default) for parameter, default in defaults]
            named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            found += [(parameter.arg, parameter.annotation, default) for parameter, default in named if default]
        if isinstance(node, ast.ClassDef):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value]
            found += [(ast.unparse(each.target), each.annotation, each.value) for each in fields if each.value]
    return [
        f"{name}, line {default.lineno}"
        for name, annotation, default in found
        if MAKING & names_in(default) or (annotation is not None and "Vocabulary" in names_in(annotation))
    ]


def test_no_parameter_falls_back_on_a_vocabulary() -> None:
    assert {module: found for module in MODULES if (found := fallbacks(parse(module)))} == {}
