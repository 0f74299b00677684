"""kanachan-models: the list of the shipped weights, and their cards."""

import json
from pathlib import Path

import pytest

from kanachan.cli.models import main
from kanachan.models.reference import shipped_weights
from kanachan.models.weights import read_weights, write_weights
from tests.support.tiny_weights import written


def test_the_cards_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: entry["card"] for name, entry in found.items()} == {
        name: read_weights(name).card for name in shipped_weights()
    }


@pytest.mark.parametrize(("name", "shown"), [("reference", "reference"), (None, "imitation weights 0123456789abcdef")])
def test_a_network_that_learned_from_another_names_it(
    name: str | None, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_weights(written(tmp_path))
    teacher = {"stage": "imitation", "sha256": "0123456789abcdef" * 4} | ({} if name is None else {"name": name})
    lineage = [{"stage": "imitation", "name": "reference", "steps": 2, "samples": 64, "encoder_blocks": [1, 4]}]
    write_weights(made.path, made.tensors, {**made.card, "teacher": teacher, "lineage": lineage})
    assert main([str(made.path)]) == 0
    printed = capsys.readouterr().out
    assert f"Teacher\n  learned the probabilities of {shown}, in place of the actions taken\n" in printed
    assert "  began with the blocks 1, 4 of the encoder of reference\n" in printed
