"""kanachan-models: the list of the shipped weights, and their cards."""

from pathlib import Path

import pytest

from kanachan.cli.models import main
from kanachan.models.weights import read_weights, write_weights
from tests.support.tiny_weights import written


@pytest.mark.parametrize(("name", "shown"), [("reference", "reference"), (None, "imitation weights 0123456789abcdef")])
def test_the_card_names_the_teacher_and_the_origin_of_the_encoder(
    name: str | None, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_weights(written(tmp_path))
    teacher = {"stage": "imitation", "sha256": "0123456789abcdef" * 4} | ({} if name is None else {"name": name})
    lineage = [{"stage": "imitation", "name": "reference", "steps": 2, "samples": 64, "encoder_blocks": [1, 4]}]
    write_weights(made.path, made.tensors, {**made.card, "teacher": teacher, "lineage": lineage})
    assert main([str(made.path)]) == 0
    printed = capsys.readouterr().out
    assert f"Teacher\n  learned the probabilities of {shown}, instead of the actions taken\n" in printed
    assert "  began with the blocks 1, 4 of the encoder of reference\n" in printed
