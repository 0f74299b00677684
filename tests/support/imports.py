"""The modules and programs of the product, and what they import, by reading the sources."""

import ast
from collections.abc import Iterator
from functools import cache

from tests.support.paths import ROOT

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for package in ("annotate", "kanachan")
    for path in sorted((ROOT / package).rglob("*.py"))
}
PROGRAMS = sorted((ROOT / "launch").rglob("*.py"))


def imports_of(tree: ast.AST) -> Iterator[str]:
    """The modules that the statements of `tree` import, anywhere in it, except imports only for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not followed here"
            # `from annotate import grading` imports a module, `from annotate.runtime.files import replacing` a name
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)
        yield from imports_of(node)


def top(module: str) -> str:
    return module.split(".")[0]


@cache
def parse(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def imports_of_module(module: str) -> tuple[str, ...]:
    return tuple(imports_of(parse(module)))


def reached_from(module: str) -> set[str]:
    """All modules, ours and others, that importing and using `module` may import."""
    reached, waiting = set[str](), [module]
    while waiting:
        for name in imports_of_module(waiting.pop()):
            if name not in reached:
                reached.add(name)
                waiting += [name] if name in MODULES else []
    return reached
