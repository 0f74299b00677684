"""What the tests of GPUs share: the device, which is the CPU where there is no GPU, games, and the figures measured."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

FIGURES: list[str] = []


@pytest.fixture(scope="session")
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="session")
def gpu() -> torch.device:
    """A GPU; tests that mean nothing on a CPU, or take too long there, are skipped without one."""
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return torch.device("cuda")


@pytest.fixture(scope="session")
def games(gpu: torch.device, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of games between rule-based players."""
    from kanachan.cli.selfplay import main

    folder = tmp_path_factory.mktemp("games") / "shards"
    assert main(["rule", "-n", "200", "--fractions", "0.9,0.1,0", "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """Notes figures, which are printed at the end of all tests."""

    def note(**values: Any) -> None:
        shown = (f"{name} {f'{value:,.4g}' if isinstance(value, float) else value}" for name, value in values.items())
        FIGURES.append(f"{request.node.name}: {', '.join(shown)}")

    yield note


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if FIGURES:
        name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
        terminalreporter.section(f"figures: {name}, torch {torch.__version__}")
        terminalreporter.write_line("\n".join(FIGURES))
