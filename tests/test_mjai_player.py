"""External programs at the table: what they are told, how they end, and how their answers are told apart."""

from pathlib import Path

import pytest
from test_arena import arena, journal
from test_player_contract import mjai


def test_a_game_is_kept_though_a_program_complains_of_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records"
    assert arena(tmp_path, "--together", "1", "--records", str(records), players=("rule", mjai("complains"))) == 1
    said = capsys.readouterr()
    assert "answers with an error" in said.err and "no more" in said.err
    assert "1 of 4 games on 1 walls" in said.out
    assert len(journal(tmp_path)) == 2 and len(list(records.iterdir())) == 1
