"""The programs of launch/, which is not a package."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from tests.support.paths import ROOT

LAUNCH = ROOT / "launch"


def write_program(path: Path, text: str) -> Path:
    """Writes a program, and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def run_module(module: str) -> str:
    """Returns the text of a program that runs the command of a module."""
    return f"#!{sys.executable}\nimport sys\nfrom {module} import main\nsys.exit(main())\n"


def program(name: str, folder: Path = LAUNCH / "reports") -> ModuleType:
    """Imports launch/reports/`name`.py, or the file of that name in another folder."""
    spec = importlib.util.spec_from_file_location(f"launch_{name}", folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def sbatch(folder: Path, script: str, *arguments: str, **variables: object) -> subprocess.CompletedProcess[str]:
    """Runs a copy of a script of launch/slurm in a folder that has an environment, `venv`, as Slurm does."""
    copy = shutil.copy(LAUNCH / "slurm" / script, folder / "slurm_script")
    environment = {
        **os.environ,
        "SLURM_SUBMIT_DIR": str(ROOT),
        "KANACHAN_VENV": str(folder / "venv"),
        "PYTHONPATH": str(ROOT),
        **{name: str(value) for name, value in variables.items()},
    }
    return subprocess.run([copy, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
