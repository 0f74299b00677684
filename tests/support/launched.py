"""The programs of launch/, which is not a package."""

import importlib.util
import sys
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
