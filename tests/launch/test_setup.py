"""launch/setup.sh on a machine without internet."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.launched import LAUNCH


def test_without_internet_the_environment_is_made_of_wheels(tmp_path: Path) -> None:
    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        script = (
            f"source {LAUNCH}/setup.sh && set_up && python -c 'import kanachan, kanachan_of_wheel as k; print(k.X)'"
        )
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**inherited, "PYTHON": sys.executable, "KANACHAN_VENV": str(tmp_path / "venv"), **variables}
        return subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)

    (tmp_path / "wheels").mkdir()
    refused = run(KANACHAN_WHEELS=str(tmp_path / "wheels"))
    assert refused.returncode == 1
    assert "has no wheel of this program: pip wheel --no-deps" in refused.stderr
    with zipfile.ZipFile(tmp_path / "wheels/kanachan-0.1.0-py3-none-any.whl", "w") as wheel:
        info = "kanachan-0.1.0.dist-info"
        wheel.writestr("kanachan_of_wheel.py", "X = 'from the wheel'")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: kanachan\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    made = run(KANACHAN_WHEELS=str(tmp_path / "wheels"))
    assert made.stdout.strip().endswith("from the wheel"), made.stderr
