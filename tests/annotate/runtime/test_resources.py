"""How much of the machine this process may use."""

from pathlib import Path

import pytest

from annotate.runtime.resources import cpu_quota


@pytest.mark.parametrize(("text", "cores"), [("200000 100000\n", 2), ("150000 100000\n", 2), ("max 100000\n", None)])
def test_the_limit_of_a_container_counts_in_whole_cores(text: str, cores: int | None, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpu_quota(tmp_path / "cpu.max") == cores
