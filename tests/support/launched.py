"""The programs of launch/, which is not a package."""

import importlib.util
import sys
from types import ModuleType

from tests.support.paths import ROOT

LAUNCH = ROOT / "launch"


def program(name: str) -> ModuleType:
    """Imports launch/reports/`name`.py."""
    spec = importlib.util.spec_from_file_location(f"launch_{name}", LAUNCH / "reports" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module
