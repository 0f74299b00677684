"""The names of the weights in the package."""

import hashlib
from pathlib import Path

import pytest

from kanachan.models.card import weights_file
from kanachan.models.reference import FOLDER, is_reference_name, name_of, resolved, shipped_weights
from kanachan.models.weights import lineage_of, read_weights
from kanachan.play.agent_spec import parse_agent


def test_reference_is_the_imitation_network_of_the_package() -> None:
    assert resolved("reference") == resolved("reference/imitation") == FOLDER / "imitation.safetensors"
    assert read_weights("reference").stage == "imitation"
    assert next(iter(shipped_weights())) == "reference"


def test_every_shipped_file_has_a_name_that_leads_to_it() -> None:
    assert {file.resolve() for file in FOLDER.glob("*.safetensors")} == set(shipped_weights().values())
    for name, file in shipped_weights().items():
        assert resolved(name) == weights_file(name) == file
        assert name_of(file) == name
        assert read_weights(name).stage == file.stem


def test_a_name_that_is_not_shipped_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"^reference/nope: not among the .* reference.* write \./reference/nope"):
        read_weights("reference/nope")


@pytest.mark.parametrize("path", ["./reference", "reference/", "reference/weights.safetensors", "runs/reference", "a"])
def test_a_path_that_is_not_such_a_name_stays_a_path(path: str) -> None:
    assert not is_reference_name(path)
    assert resolved(path) == Path(path)


def test_a_path_object_is_never_a_name() -> None:
    assert resolved(Path("reference")) == Path("reference")


def test_a_folder_called_reference_does_not_hide_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reference").mkdir()
    assert resolved("reference") == FOLDER / "imitation.safetensors"
    with pytest.raises(ValueError, match="reference: no weights.safetensors in it"):
        weights_file("./reference")


def test_the_lineage_has_the_name_and_the_hash_of_weights_of_the_package(tmp_path: Path) -> None:
    (*_, last) = lineage_of(read_weights("reference"))
    assert last["name"] == "reference"
    assert last["sha256"] == hashlib.sha256(resolved("reference").read_bytes()).hexdigest()
    (tmp_path / "copy.safetensors").write_bytes(resolved("reference").read_bytes())
    assert "name" not in lineage_of(read_weights(tmp_path / "copy.safetensors"))[-1]


def test_a_player_of_the_arena_may_be_a_name_with_a_temperature() -> None:
    assert parse_agent("reference").files == ["reference"]
    spec = parse_agent("reference@0.5")
    assert (spec.files, spec.temperature) == (["reference"], 0.5)
    spec = parse_agent("reference+reference/rank~10@2")
    assert (spec.weights, spec.values, spec.points, spec.temperature) == ("reference", "reference/rank", 10, 2)


@pytest.mark.parametrize("text", ["reference/nope", "reference/nope@2", "reference+reference/nope~10"])
def test_a_player_of_a_name_that_is_not_shipped_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="reference/nope: not among the weights of this package, which are reference"):
        parse_agent(text)
