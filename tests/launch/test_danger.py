"""launch/reports/danger.py counts what it measures."""

from pathlib import Path

import numpy as np

from annotate.annotation import format_line
from kanachan.cli import pack
from kanachan.models.card import read_card
from tests.support.launched import program
from tests.support.random_annotations import random_annotations, with_hidden
from tests.support.tiny_runs import run


def shards_with_hands(folder: Path) -> Path:
    lines = [format_line(a) for a in with_hidden(random_annotations(400, seed=2, games=20), seed=2)]
    text = folder / "annotations.txt"
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shards = folder / "shards"
    assert pack.main([str(text), "--fractions", "0.5,0.2,0.3", "-o", str(shards)]) == 0
    return shards


def test_the_area_under_the_curve_is_the_share_of_pairs_in_the_right_order() -> None:
    probability_N = np.array([0.1, 0.4, 0.35, 0.8])
    assert program("danger").area_under_curve(probability_N, np.array([False, False, True, True])) == 0.75


def test_the_report_has_tables_which_the_card_keeps(tmp_path: Path) -> None:
    shards, out = shards_with_hands(tmp_path), tmp_path / "run"
    assert run("imitation", shards, out, "--objective.hidden_hands", "1", "--objective.round_winner", "0.3") == 0
    text = program("danger").report(str(out), shards, 100, tmp_path / "with-chances.safetensors")
    assert "observed %" in text and "area under the ROC curve" in text
    chances = read_card(tmp_path / "with-chances.safetensors")["chances"]
    assert chances["decisions"] >= 100 and chances["games"] > 0
    for name in ("win", "tenpai", "deal_in"):
        lowest = [entry[0] for entry in chances[name]]
        for (first, mean, happened, number), beyond in zip(chances[name], [*lowest[1:], 1.0], strict=True):
            assert first <= mean <= beyond and 0 <= happened <= (number > 0)
