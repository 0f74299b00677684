"""The comparison of adapted and unadapted networks: what is paired, and what the summary counts."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from annotate.vocabulary import FOUR_PLAYERS as V
from kanachan.inference.policy import Policy
from kanachan.play.adaptation import AdaptationConfig
from tests.support.launched import program
from tests.support.tiny_weights import written


def result(**changed: Any) -> Any:
    values = {"seat": 0, "hand": (), "differences": [0], "unadapted": [0], "nats": 0.0, "seconds": 1, "cpu_seconds": 1}
    return program("adaptation").DealResult(**(values | changed))


def test_without_steps_both_play_the_same_rounds(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path))
    (found,) = program("adaptation").measure(policy, AdaptationConfig(rollouts=2, steps=0), 1, 2)
    assert found.differences == [0, 0] and len(found.unadapted) == 2 and found.nats == 0


def test_deals_are_seen_from_all_seats_and_are_a_function_of_the_seed() -> None:
    deals = [program("adaptation").random_deal(V, n, AdaptationConfig(rollouts=2), "tenhou")[1] for n in range(5)]
    assert [deal.seat for deal in deals] == [0, 1, 2, 3, 0]
    assert [deal.drawn is not None for deal in deals] == [True, False, False, False, True]
    assert all(len(deal.hand) == 13 for deal in deals) and len({deal.hand for deal in deals}) == 5
    assert program("adaptation").random_deal(V, 1, AdaptationConfig(rollouts=2), "tenhou")[1] == deals[1]
    assert program("adaptation").random_deal(V, 1, AdaptationConfig(rollouts=2, seed=1), "tenhou")[1] != deals[1]


def test_the_summary_counts_deals_and_weighs_rounds() -> None:
    results = [
        result(differences=[1000, 0, 2000], unadapted=[100, 100, 100]),
        result(differences=[-600], unadapted=[500]),
        result(differences=[0, 0]),
    ]
    summary = program("adaptation").summarised([*results, result(differences=[300])])
    assert (summary["deals"], summary["better"], summary["worse"]) == (4, 2, 1)
    assert summary["points"][0] == pytest.approx(2700 / 7)
    assert summary["better_share"][0] == pytest.approx(2 / 3)
    assert (summary["rounds"], summary["different_rounds"]) == (7, 4)


def test_a_summary_without_differences_has_no_share() -> None:
    summary = program("adaptation").summarised([result(), result()])
    assert summary["better_share"] is None and summary["points"][0] == 0


@pytest.mark.parametrize(("last", "share"), [(1, "100 % of"), (-1, "67 % [")])
def test_a_share_has_an_interval_only_where_deals_differ(last: int, share: str) -> None:
    adaptation = program("adaptation")
    deals = [result(differences=[each]) for each in (0, 0, 0, 0, 0, 1, 1, last)]
    words = adaptation.in_words(adaptation.summarised(deals), {"weights": "w", "rollouts": 2, "steps": 1})
    assert f"better in {share}" in words


def test_the_program_prints_and_writes_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.json"
    options = ["-n", "1", "--tests", "1", "--rollouts", "2", "--steps", "1", "-o", str(out)]
    monkeypatch.setattr(sys, "argv", ["adaptation.py", str(written(tmp_path / "weights")), *options])
    assert program("adaptation").main() == 0
    printed, found = capsys.readouterr().out, json.loads(out.read_text())
    assert "points of the adapted network less the unadapted one's" in printed and "few deals" in printed
    assert found["settings"]["rollouts"] == 2 and len(found["deals"][0]["differences"]) == 1


def test_weights_of_another_stage_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only weights of imitation"):
        program("adaptation").measure(Policy.load(written(tmp_path, "rank")), AdaptationConfig(rollouts=2), 1, 1)


def pooled(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr(sys, "argv", ["adaptation.py", "w", "--pool", *map(str, arguments)])
    return int(program("adaptation").main())


def results_file(path: Path, *differences: list[int], **settings: Any) -> Path:
    deals = [asdict(result(differences=each, unadapted=[0] * len(each))) for each in differences]
    common = {"weights": "w", "rollouts": 2, "steps": 1, "seed": 1}
    path.write_text(json.dumps({"settings": common | settings, "deals": deals}))
    return path


def test_deals_of_several_runs_are_summarised_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = results_file(tmp_path / "1.json", [100, 300], [0, 0])
    second = results_file(tmp_path / "2.json", [-200, 0], seed=2)
    assert pooled(monkeypatch, first, second, "-o", tmp_path / "all.json") == 0
    assert "3 deals, 6 pairs of rounds" in capsys.readouterr().out
    found = json.loads((tmp_path / "all.json").read_text())
    assert (found["summary"]["better"], found["summary"]["worse"]) == (1, 1)
    assert found["summary"]["points"][0] == pytest.approx(200 / 6)
    assert "seed" not in found["settings"] and len(found["deals"]) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": 1}, "2.json: seed 1, as in "),
        ({"seed": 2, "steps": 4}, "2.json: steps is 4, not 1"),
        ({"seed": 2, "weights": "x"}, "2.json: weights is x, not w"),
    ],
    ids=["seed", "settings", "weights"],
)
def test_deals_that_do_not_belong_together_are_not_pooled(
    settings: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = results_file(tmp_path / "1.json", [1]), results_file(tmp_path / "2.json", [1], **settings)
    assert pooled(monkeypatch, *files) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"settings": {"seed": 1}, "deals": [{"seat": 0}]}'])
def test_what_is_no_result_is_not_pooled(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(content)
    assert pooled(monkeypatch, tmp_path / "x.json") == 1
    assert "x.json: no result of this program" in capsys.readouterr().err
