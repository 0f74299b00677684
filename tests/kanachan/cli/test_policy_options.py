"""kanachan-evaluate --prior: policies from values are evaluated as imitation is."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kanachan.cli import evaluate, predict
from kanachan.inference.advantage_policy import AdvantagePolicy
from kanachan.inference.policy import Policy
from tests.support.packed import packed
from tests.support.random_annotations import random_annotations
from tests.support.tiny_weights import written

TEST = random_annotations(60, seed=2)
DRAWS = ["--bootstrap", "20"]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("data") / "shards", train=60, validation=40, test=len(TEST))


@pytest.fixture(scope="module")
def imitation(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("imitation")))


@pytest.fixture(scope="module")
def grading(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("grading"), "grading", seed=1))


def entries_of(out: Path, *arguments: str) -> list[dict[str, Any]]:
    """Returns what kanachan-evaluate writes about each network."""
    assert evaluate.main([*arguments, "--json", str(out), *DRAWS]) == 0
    return json.loads(out.read_text())["weights"]


def test_the_metrics_of_the_policy_equal_a_plain_loop(
    shards: Path, imitation: str, grading: str, tmp_path: Path
) -> None:
    given = [grading, str(shards), "--prior", imitation, "--temperature", "30"]
    (entry,) = entries_of(tmp_path / "out.json", *given)
    policy = AdvantagePolicy(Policy.load(imitation), Policy.load(grading), 30)
    probabilities = [prediction.shown for prediction in policy.predictions(TEST)]
    chosen = [float(p[a.chosen]) for p, a in zip(probabilities, TEST, strict=True)]
    is_best = [int(p.argmax()) == a.chosen for p, a in zip(probabilities, TEST, strict=True)]
    found = entry["policy"]["agreement"]
    assert found["nll"]["value"] == pytest.approx(-np.log(chosen).mean(), rel=1e-4)
    assert found["top1"]["value"] == pytest.approx(np.mean(is_best))
    assert (entry["policy"]["prior"], entry["policy"]["temperature"]) == (imitation, 30)


def test_the_metrics_of_the_values_do_not_change(shards: Path, imitation: str, grading: str, tmp_path: Path) -> None:
    (plain,) = entries_of(tmp_path / "plain.json", grading, str(shards))
    (entry,) = entries_of(
        tmp_path / "out.json", grading, str(shards), "--prior", imitation, "--temperature", "30", "--batch", "256"
    )
    del entry["policy"]
    assert entry == plain


def test_a_policy_that_stays_at_imitation_does_not_differ_from_it(
    shards: Path, imitation: str, grading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [imitation, grading, str(shards), "--prior", imitation, "--temperature", "inf", "--compare"]
    first, second = entries_of(tmp_path / "out.json", *given)
    differences = second["policy"]["comparison"]["differences"]
    assert differences["agreement/top1"]["difference"]["value"] == 0
    assert differences["agreement/nll"]["difference"]["value"] == pytest.approx(0, abs=1e-6)
    assert second["policy"]["agreement"]["nll"]["value"] == pytest.approx(first["agreement"]["nll"]["value"])
    table = capsys.readouterr().out
    assert f"{imitation}, re-weighted by B, temperature inf" in table and "B* - A" in table


def test_the_temperature_of_a_divergence_is_that_of_the_validation_split(
    shards: Path, imitation: str, grading: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--prior", imitation, "--divergence", "0.05"]
    (entry,) = entries_of(tmp_path / "out.json", grading, str(shards), *options)
    report = re.compile(r"0\.05 nats over 40 decisions: --temperature (\S+)")
    (found,) = report.findall(capsys.readouterr().err)
    assert entry["policy"]["temperature"] == pytest.approx(float(found), rel=1e-5)
    lines = tmp_path / "lines.txt"
    lines.write_text(Path(f"{shards}-test.txt").read_text())
    assert predict.main([grading, str(lines), *options, "--held-out", str(shards)]) == 0
    assert report.findall(capsys.readouterr().err) == [found]


def test_a_prior_needs_values(shards: Path, imitation: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate.main([imitation, str(shards), "--prior", imitation, "--temperature", "3"]) == 1
    assert "name one of a later stage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--temperature", "3"], "--temperature needs --prior"),
        (["--prior", "x"], "either --temperature or --divergence"),
        (["--prior", "x", "--divergence", str(math.nan)], "--divergence must be positive"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        evaluate.main(["weights", "shards", *options])
    assert why in capsys.readouterr().err
