"""The data set card: `datasets` reads it, and it is written and replaced with the shards."""

from pathlib import Path

import pytest

from kanachan.cli.pack import main
from kanachan.data.dataset_card import README_NAME
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import open_shards
from tests.support.packed import packed, write_lines
from tests.support.random_annotations import random_annotations


def test_datasets_loads_decisions_and_rounds_with_the_splits_of_the_card(
    rule_games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    from datasets import Dataset, load_dataset

    for name, below, opened in (("default", "", open_shards), ("rounds", "rounds", open_rounds)):
        found = load_dataset(str(rule_games), name, cache_dir=str(tmp_path / "cache"))
        num_rows = {split: len(opened(rule_games, split)) for split in ("train", "validation")}
        assert {split: len(rows) for split, rows in found.items()} == num_rows
        assert found["train"].features == Dataset.from_file(str(rule_games / below / "train-00000.arrow")).features
    assert "`final_score`" in (rule_games / README_NAME).read_text()
    assert "malformed" not in capfd.readouterr().err


def test_packing_again_replaces_its_own_card_but_not_one_that_someone_else_wrote(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "some.txt", random_annotations(9, seed=0))
    folder = tmp_path / "shards"
    command = ["--train", source, "-o", str(folder), "--force"]
    for text, is_kept in (("mine", True), ((packed(tmp_path / "few", train=2) / README_NAME).read_text(), False)):
        folder.mkdir(exist_ok=True)
        (folder / README_NAME).write_text(text)
        assert main(command) == 0
        assert ((folder / README_NAME).read_text() == text) is is_kept
    assert "| train | 9 |" in (folder / README_NAME).read_text()
    assert {path.name for path in folder.iterdir()} == {README_NAME, "train-00000.arrow"}
