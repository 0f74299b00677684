"""A command whose packages are not installed names the extra that installs them."""

import sys
from pathlib import Path

import pytest

from kanachan.cli import export, train
from tests.support.packed import packed


def test_training_without_lightning_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shards = packed(tmp_path / "shards", train=40, validation=20)
    monkeypatch.setitem(sys.modules, "lightning", None)  # as if it were not installed
    arguments = ["--stage", "imitation", "--data.path", str(shards), "--run.out", str(tmp_path / "run")]
    assert train.main(arguments) == 1
    assert "needs lightning: pip install 'kanachan[train] @ git+https://github.com/" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_exporting_an_encoder_without_transformers_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert export.main(["reference", "-o", str(tmp_path / "encoder")]) == 1
    assert "needs transformers: pip install 'kanachan[encoder] @ git+https://github.com/" in capsys.readouterr().err
