"""kanachan-models: the list of the shipped weights, and their cards."""

import json
from pathlib import Path

import pytest

from kanachan.cli.models import main
from kanachan.models.reference import shipped_weights
from kanachan.models.weights import read_weights, write_weights
from tests.support.tiny_weights import written


def test_all_shipped_weights_are_listed_with_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    for name in shipped_weights():
        card = read_weights(name).card
        learned = f"; learned from {card['teacher']['name']}" if "teacher" in card else ""
        evaluated = f"{card['evaluation']['split']} split, {card['evaluation']['games']} games"
        assert f"\n{name} ({evaluated}{learned})" in printed
        if "verdict" in card["evaluation"]:
            assert card["evaluation"]["verdict"]["sentence"] in printed


@pytest.mark.parametrize("name", list(shipped_weights()))
def test_a_card_is_printed_for_people(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name]) == 0
    printed = capsys.readouterr().out
    card = read_weights(name).card
    assert printed.startswith(f"{name}\n  stage {card['stage']}, ")
    assert f"train: {card['data']['games']['train']:,} games" in printed
    assert all(command in printed for command in card.get("commands", []))


def test_the_cards_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: entry["card"] for name, entry in found.items()} == {
        name: read_weights(name).card for name in shipped_weights()
    }


def test_the_weights_of_a_run_have_a_card_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(written(tmp_path, "rank"))]) == 0
    assert "stage rank" in capsys.readouterr().out


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


def test_the_card_of_a_policy_tells_what_the_gates_have_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = read_weights(written(tmp_path, "policy"))
    taken = {"iteration": 0, "share": 2.0, "metrics": {"iteration/gain_taken": 0.0322}}
    stayed = {"iteration": 1, "share": None, "metrics": {"iteration/gain_taken": 0.0}}
    write_weights(made.path, made.tensors, {**made.card, "iterations": [taken, stayed]})
    assert main([str(made.path)]) == 0
    printed = capsys.readouterr().out
    assert "  iteration 1: 200% of the update was taken, estimated gain +0.0322 a game\n" in printed
    assert "  iteration 2: nothing of the update was taken\n" in printed


def test_a_name_that_is_not_shipped_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference/nope"]) == 1
    assert "not among the weights of this package" in capsys.readouterr().err
