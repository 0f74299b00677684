"""The encoder as `transformers` loads it: the same outputs, and a custom head on top of it."""

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModel

import kanachan.inference.huggingface  # noqa: F401, it registers the encoder
from annotate.annotation import format_line, parse_line
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from kanachan.cli.export import main
from kanachan.data.batch import TokenLayout, batch_of_annotations, collate
from kanachan.data.columns import columns_of_annotations
from kanachan.data.symmetry import SeatRotation
from kanachan.inference.encoder import KanachanEncoder
from kanachan.inference.policy import Policy
from kanachan.models.transformer import attention_backend
from kanachan.objectives.networks import load_network
from tests.support.examples import run_example
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

LINES = [format_line(annotation) for annotation in random_annotations(6, seed=3)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def exported(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "encoder"
    assert main([str(weights), "-o", str(folder)]) == 0
    return folder


def test_auto_model_gives_the_same_output_as_the_encoder(weights: Path, exported: Path) -> None:
    encoder = AutoModel.from_pretrained(exported)
    inputs = encoder.inputs_of(LINES)
    with torch.inference_mode():
        batch = batch_of_annotations([parse_line(line, FOUR_PLAYERS) for line in LINES], FOUR_PLAYERS)
        attention = attention_backend(batch)
        encoded_XD = load_network(weights).network.encoder(
            batch.table_BS, batch.standing_BP2, batch.numeric_BN, attention
        )
        expected, _ = attention.split(encoded_XD)
        output = encoder(**inputs)
    torch.testing.assert_close(output.last_hidden_state, expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(output.pooler_output, expected[:, 0], rtol=0, atol=1e-6)


def test_the_encoder_of_three_players_reads_only_their_lines(tmp_path: Path) -> None:
    assert main([str(written(tmp_path / "three", vocabulary=THREE_PLAYERS)), "-o", str(tmp_path / "encoder")]) == 0
    encoder = AutoModel.from_pretrained(tmp_path / "encoder")
    annotations = decisions_of_three(5)
    inputs = encoder.inputs_of([format_line(annotation) for annotation in annotations])
    policy = Policy.load(tmp_path / "three" / "weights.safetensors")
    batch = policy.batch(columns_of_annotations(annotations, THREE_PLAYERS))
    attention = attention_backend(batch)
    with torch.inference_mode():
        encoded_XD = policy.network.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, attention)
        output = encoder(**inputs)
    assert output.last_hidden_state.shape[1] == 1 + 3 + inputs["tiles"].shape[1]
    torch.testing.assert_close(output.pooler_output, attention.summary(encoded_XD), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="1: "):
        encoder.inputs_of(LINES)


def test_an_encoder_of_another_vocabulary_is_refused_with_both_fingerprints(exported: Path) -> None:
    config = AutoConfig.from_pretrained(exported)
    config.fingerprint = "0123456789abcdef"
    with pytest.raises(ValueError, match=f"0123456789abcdef.*{FOUR_PLAYERS.fingerprint}"):
        KanachanEncoder(config)


def test_the_inputs_have_the_actor_as_seat_0(exported: Path) -> None:
    columns = columns_of_annotations([parse_line(line, FOUR_PLAYERS) for line in LINES], FOUR_PLAYERS)
    layout = TokenLayout(FOUR_PLAYERS)
    rotated, recorded = (collate(each, layout) for each in (SeatRotation(FOUR_PLAYERS).actor_first(columns), columns))
    events = AutoModel.from_pretrained(exported).inputs_of(LINES)["events"]
    assert torch.equal(events, rotated.event_GE) and not torch.equal(events, recorded.event_GE)


def test_the_downstream_example_of_the_readme_learns(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encoder").symlink_to(exported)
    (tmp_path / "annotations.txt").write_text("".join(line + "\n" for line in LINES))
    monkeypatch.chdir(tmp_path)
    losses = run_example(ROOT / "README.md", "<!-- downstream -->")["losses"]
    assert isinstance(losses, list) and losses[-1] < losses[0]
