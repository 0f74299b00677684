"""The folder written for `transformers`: it can be opened where this program is not installed, and documents itself."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from annotate.annotation import format_line
from kanachan.cli.export import main
from kanachan.data.columns import columns_of_annotations
from kanachan.data.shards import open_shards
from kanachan.inference.policy import Policy
from kanachan.models.transformer import attention_backend
from tests.support.examples import run_example
from tests.support.packed import packed
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

ANNOTATIONS = random_annotations(6, seed=0)


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
    (tmp_path / "annotations.txt").write_text("".join(f"{format_line(a)}\n" for a in ANNOTATIONS))
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


def test_the_example_of_the_model_card_runs(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "encoder").symlink_to(exported)
    (tmp_path / "annotations.txt").write_text("".join(f"{format_line(a)}\n" for a in ANNOTATIONS))
    monkeypatch.chdir(tmp_path)
    situation = run_example(exported / "README.md")["situation"]
    assert isinstance(situation, torch.Tensor) and situation.shape == (6, 16)


def test_a_full_disk_is_an_error_in_one_line(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        assert main([str(weights), "-o", str(tmp_path / "encoder")]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"error: {tmp_path}/encoder: the weights could not be written (" in capsys.readouterr().err
    assert not any((tmp_path / "encoder").iterdir())
