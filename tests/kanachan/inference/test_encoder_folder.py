"""The encoder folder for `transformers`: it gives the outputs of the network, also where this program is not installed,
takes a custom head, and documents itself."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModel
from transformers.utils.logging import enable_progress_bar, is_progress_bar_enabled

import kanachan.inference.huggingface  # noqa: F401, it registers the encoder
from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from kanachan.cli.export import main
from kanachan.data.batch import TokenLayout, collate
from kanachan.data.columns import columns_of_annotations
from kanachan.data.shards import open_shards
from kanachan.data.symmetry import SeatRotation
from kanachan.inference.encoder import KanachanEncoder
from kanachan.inference.policy import Policy
from kanachan.models.transformer import attention_backend
from tests.support.examples import run_example
from tests.support.packed import packed
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(6, seed=3)
LINES = [format_line(annotation) for annotation in ANNOTATIONS]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def exported(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "encoder"
    assert main([str(weights), "-o", str(folder)]) == 0
    return folder


def test_a_process_without_this_program_gets_the_summary_vectors_of_the_network(
    weights: Path, exported: Path, tmp_path: Path
) -> None:
    shards = packed(tmp_path / "shards", train=6)
    (tmp_path / "annotations.txt").write_text("".join(f"{line}\n" for line in LINES))
    program = [sys.executable, str(ROOT / "tests/support/programs/open_encoder.py"), str(exported)]
    files = [str(tmp_path / "annotations.txt"), str(shards / "train-00000.arrow"), str(tmp_path / "found.pt")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*program, *files], cwd=tmp_path, env={**environment, "HF_HOME": str(tmp_path / "hub")}, check=True)

    policy = Policy.load(weights)
    opened = open_shards(shards, "train")
    found = torch.load(tmp_path / "found.pt")
    for name, columns in {
        "lines": columns_of_annotations(ANNOTATIONS, policy.vocabulary),
        **dict.fromkeys(("rows", "columns", "Arrow"), opened.gather(torch.arange(6).numpy())),
    }.items():
        batch = policy.batch(columns)
        backend = attention_backend(batch)
        with torch.inference_mode():
            encoded_XD = policy.network.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, backend)
        torch.testing.assert_close(found[name], backend.summary(encoded_XD), rtol=0, atol=1e-6)
    assert (tmp_path / "found.pt.saved" / "modeling_kanachan.py").exists(), "a fine-tuned encoder keeps its code"


def test_auto_model_gives_the_same_output_as_the_encoder(weights: Path, exported: Path) -> None:
    encoder, policy = AutoModel.from_pretrained(exported), Policy.load(weights)
    batch = policy.batch(columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS))
    attention = attention_backend(batch)
    with torch.inference_mode():
        encoded_XD = policy.network.encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, attention)
        output = encoder(**encoder.inputs_of(LINES))
    expected, _ = attention.split(encoded_XD)
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
    columns = columns_of_annotations(ANNOTATIONS, FOUR_PLAYERS)
    layout = TokenLayout(FOUR_PLAYERS)
    rotated, recorded = (collate(each, layout) for each in (SeatRotation(FOUR_PLAYERS).actor_first(columns), columns))
    events = AutoModel.from_pretrained(exported).inputs_of(LINES)["events"]
    assert torch.equal(events, rotated.event_GE) and not torch.equal(events, recorded.event_GE)


def test_the_example_of_the_model_card_runs(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoder").symlink_to(exported)
    (tmp_path / "annotations.txt").write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.chdir(tmp_path)
    situation = run_example(exported / "README.md")["situation"]
    assert isinstance(situation, torch.Tensor) and situation.shape == (6, 16)


def test_the_downstream_example_of_the_readme_learns(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encoder").symlink_to(exported)
    (tmp_path / "annotations.txt").write_text("".join(f"{line}\n" for line in LINES))
    monkeypatch.chdir(tmp_path)
    losses = run_example(ROOT / "README.md", "<!-- downstream -->")["losses"]
    assert isinstance(losses, list) and losses[-1] < losses[0]


def test_a_full_disk_is_an_error_in_one_line(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        assert main([str(weights), "-o", str(tmp_path / "encoder")]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"error: {tmp_path}/encoder: the weights could not be written (" in capsys.readouterr().err
    assert not any((tmp_path / "encoder").iterdir())


def test_an_export_leaves_the_progress_bars_of_transformers_on(weights: Path, tmp_path: Path) -> None:
    enable_progress_bar()  # type: ignore[no-untyped-call]
    assert main([str(weights), "-o", str(tmp_path / "encoder")]) == 0
    assert is_progress_bar_enabled()
