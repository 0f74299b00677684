"""The programs of launch/, which is not a package."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tests.support.paths import ROOT

LAUNCH = ROOT / "launch"


def program(name: str, folder: Path = LAUNCH / "reports") -> ModuleType:
    """Imports launch/reports/`name`.py, or that of another folder."""
    spec = importlib.util.spec_from_file_location(f"launch_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def program_of(folder: Path, modules: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """Imports `modules` of a folder that is a program, by name, and its __main__.py as "main"; forgets them at the end,
    since other programs have modules of the same names."""
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        found = {name: importlib.import_module(name) for name in modules}
        yield {**found, "main": program("__main__", folder)}
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            if getattr(sys.modules[name], "__file__", None) and Path(str(sys.modules[name].__file__)).parent == folder:
                del sys.modules[name]
