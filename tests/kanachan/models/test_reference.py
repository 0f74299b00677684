"""The names of the weights in the package."""

import hashlib
from pathlib import Path

import pytest

from annotate.vocabulary import THREE_PLAYERS
from kanachan.config import MODEL_SIZES
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.card import file_hash, weights_file
from kanachan.models.reference import FOLDER, is_reference_name, name_of, resolved, shipped_name, shipped_weights
from kanachan.models.weights import lineage_of, read_weights
from kanachan.objectives.networks import load_network
from kanachan.play.agent_spec import parse_agent
from kanachan.training.command_line import requested
from tests.support.three_players import packed_three

SIZES = ("micro", "mini")


def test_reference_is_the_imitation_network_of_the_package() -> None:
    assert resolved("reference") == resolved("reference/imitation") == FOLDER / "imitation.safetensors"
    assert read_weights("reference").stage == "imitation"
    assert next(iter(shipped_weights())) == "reference"


@pytest.mark.parametrize("size", SIZES)
def test_the_smaller_networks_are_imitation_networks_taught_by_a_reference(size: str) -> None:
    smaller, reference = read_weights(f"reference/{size}"), read_weights("reference")
    for weights, name in ((smaller, size), (reference, "small")):
        assert weights.model == MODEL_SIZES[name]
    versions = {file_hash("reference"), *(run["sha256"] for run in reference.card["lineage"])}
    assert smaller.card["teacher"]["sha256"] in versions
    ours, theirs = (w.card["evaluation"]["agreement"]["top1"]["value"] for w in (smaller, reference))
    assert 0 < theirs - ours < 0.05


@pytest.mark.parametrize("name", shipped_weights())
def test_the_games_that_shipped_weights_have_learned_from_are_all_known(name: str) -> None:
    games = read_weights(name).learned_games
    assert games.is_complete and len(games.key_G) > 100


@pytest.mark.parametrize("name", shipped_weights())
def test_shipped_weights_can_be_loaded_even_if_settings_have_changed_since(name: str) -> None:
    RewardPredictor.load(name) if name.endswith("reward") else load_network(resolved(name))


def test_every_shipped_file_has_a_name_that_leads_to_it() -> None:
    assert {file.resolve() for file in FOLDER.rglob("*.safetensors")} == set(shipped_weights().values())
    for name, file in shipped_weights().items():
        assert resolved(name) == weights_file(name) == file
        assert name_of(file) == name
        weights = read_weights(name)
        assert weights.stage == ("imitation" if file.stem in (*SIZES, "suphx") else file.stem)
        assert (weights.vocabulary is THREE_PLAYERS) == (file.parent.name == "3p")


@pytest.mark.parametrize("path", ["./reference", "reference/", "reference/weights.safetensors", "runs/reference", "a"])
def test_a_path_that_is_not_a_reference_name_stays_a_path(path: str) -> None:
    assert not is_reference_name(path)
    assert resolved(path) == Path(path)


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


def test_weights_of_three_players_have_names_of_their_own(tmp_path: Path) -> None:
    assert resolved("reference/3p") == resolved("reference/3p/imitation") == FOLDER / "3p" / "imitation.safetensors"
    assert parse_agent("reference/3p@0.5").weights == "reference/3p"
    with pytest.raises(ValueError, match="reference/3p/suphx: not among the weights of this package, which are ref"):
        resolved("reference/3p/suphx")
    assert shipped_name("reward", 3) == "reference/3p/reward" and shipped_name("reward", 4) == "reference/reward"
    shards = packed_three(tmp_path / "shards", games=6)
    request = requested(["--stage", "rank", "--data.path", str(shards), "--init", "reference/3p", "-o", str(tmp_path)])
    assert request.config.objective.prior == "reference/3p/reward"
    assert request.config.model == read_weights("reference/3p").model
    assert not any("prior" in warning for warning in request.warnings)
