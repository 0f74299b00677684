"""Copies modules of this program into one flat folder, in which they import each other relatively.

So a folder of weights brings its code with it: `transformers` opens it with `trust_remote_code=True` where this program
is not installed. The copies are made from the files of the running program.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("annotate", "kanachan")


def copied_sources(module: str, name: str) -> dict[str, str]:
    """Returns the text of `module`, under another name, and of all modules of this program that it needs, by name.

    These import their own modules with `from package.module import names` alone, of which the test of an export makes
    sure.
    """
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        current = waiting.pop()
        flat = name if current == module else flat_name(current)
        if flat not in sources:
            sources[flat], imported = _copied(current)
            waiting += imported
    sources[name] += _names_of(sorted(sources.keys() - {name}))
    return sources


def flat_name(module: str) -> str:
    """Returns the name of the copy of a module, such as kanachan_data_batch."""
    return module.replace(".", "_")


def _names_of(modules: list[str]) -> str:
    """Returns statements that name modules and import none: `transformers` before 5.11 copies to its cache what the
    opened module names, and not what those modules need."""
    imports = "\n".join(f"    from .{module} import *" for module in modules)
    return f"\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n{imports}\n"


def _copied(module: str) -> tuple[str, list[str]]:
    """Returns the text of a module with relative imports, and the modules of this program that it imports."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, module
    text = Path(spec.origin).read_text(encoding="utf-8")
    lines, imported = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.split(".")[0] in _PACKAGES:
            place = node.lineno - 1
            lines[place] = lines[place].replace(f"from {node.module} ", f"from .{flat_name(node.module)} ", 1)
            imported.append(node.module)
    heading = f"# Copied by kanachan-export from {module} of kanachan. SPDX-License-Identifier: MIT\n"
    return heading + "\n".join(lines) + "\n", imported
