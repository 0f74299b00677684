"""kanachan-calibrate: one number calibrates a network that is overconfident or underconfident."""

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.calibrate import main
from kanachan.cli.evaluate import main as evaluate
from kanachan.cli.predict import main as predict
from kanachan.data.columns import columns_of_annotations
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from kanachan.evaluation.temperature_scaling import fitted_temperature
from kanachan.inference.policy import Policy
from kanachan.models.weights import read_weights, write_weights
from tests.support.packed import write_lines
from tests.support.random_annotations import random_annotations, seat_of
from tests.support.tiny_weights import written

DRAWS = ["--bootstrap", "20"]
ORDERS = list(permutations(range(4)))


def sharpened(weights: Path, by: float, path: Path) -> Path:
    """Writes the same network with all logits multiplied."""
    read = read_weights(weights)
    tensors = {name: by * t if name.startswith("head.") else t for name, t in read.tensors.items()}
    write_weights(path, tensors, read.card)
    return path


def bytes_of_tensors(path: Path) -> bytes:
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def played_by(weights: Path, n: int) -> list[Annotation]:
    """Returns decisions with actions sampled from the network's probabilities."""
    rng = np.random.default_rng(3)
    annotations = random_annotations(n, seed=5)
    predictions = Policy.load(weights).predictions(annotations)
    chosen = [rng.choice(len(p.score), p=p.probability / p.probability.sum(dtype=float)) for p in predictions]
    return [a._replace(chosen=int(c)) for a, c in zip(annotations, chosen, strict=True)]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sharpened(
        written(tmp_path_factory.mktemp("original")), 4, tmp_path_factory.mktemp("sharper") / "w.safetensors"
    )


@pytest.fixture(scope="module")
def played(original: Path) -> list[Annotation]:
    return played_by(original, 400)


def packed_validation(folder: Path, annotations: list[Annotation]) -> str:
    pack({"validation": (write_lines(folder / "lines.txt", annotations),)}, folder / "shards", Packing())
    return str(folder / "shards")


@pytest.fixture(scope="module")
def shards(played: list[Annotation], tmp_path_factory: pytest.TempPathFactory) -> str:
    return packed_validation(tmp_path_factory.mktemp("data"), played)


def test_logits_times_three_need_three_times_the_temperature(original: Path, shards: str, tmp_path: Path) -> None:
    certain = sharpened(original, 3, tmp_path / "certain.safetensors")
    once, thrice = tmp_path / "once.safetensors", tmp_path / "thrice.safetensors"
    assert main([str(original), shards, "-o", str(once), *DRAWS]) == 0
    assert main([str(certain), shards, "-o", str(thrice), *DRAWS]) == 0
    expected, found = read_weights(once).card, read_weights(thrice).card
    assert expected["temperature"] == pytest.approx(1, abs=0.15)  # it made the decisions itself
    assert found["temperature"] == pytest.approx(3 * expected["temperature"], rel=1e-5)
    before, after = found["calibration"]["before"], found["calibration"]["after"]
    assert after["nll"]["value"] == pytest.approx(expected["calibration"]["after"]["nll"]["value"], abs=1e-6)
    assert after["nll"]["value"] < before["nll"]["value"] - 0.1 and after["ece"]["value"] < before["ece"]["value"]
    assert after["nll"]["low"] <= after["nll"]["value"] <= after["nll"]["high"]
    assert after["top1"] == before["top1"]
    assert (found["calibration"]["games"], found["calibration"]["decisions"]) == (8, 400)


def test_the_tensors_stay_and_a_second_run_changes_nothing(original: Path, shards: str, tmp_path: Path) -> None:
    path = sharpened(original, 3, tmp_path / "weights.safetensors")
    (tmp_path / "card.json").write_text(json.dumps(read_weights(path).card))
    tensors, card = bytes_of_tensors(path), read_weights(path).card
    assert main([str(tmp_path), shards, "-o", str(path), "--force", *DRAWS]) == 0
    assert bytes_of_tensors(path) == tensors
    calibrated = read_weights(path).card
    assert {k: v for k, v in calibrated.items() if k not in ("temperature", "calibration")} == card
    assert json.loads((tmp_path / "card.json").read_text()) == calibrated
    first = path.read_bytes()
    assert main([str(tmp_path), shards, "-o", str(path), "--force", *DRAWS]) == 0
    assert path.read_bytes() == first
    assert {file.name for file in tmp_path.iterdir()} == {"weights.safetensors", "card.json"}


def test_metrics_that_were_measured_at_another_temperature_leave_the_card(
    original: Path, shards: str, tmp_path: Path
) -> None:
    weights, calibrated = read_weights(original), tmp_path / "calibrated.safetensors"
    shipped = tmp_path / "shipped.safetensors"
    write_weights(shipped, weights.tensors, {**weights.card, "evaluation": {"games": 30}, "licence": "MIT"})
    assert main([str(shipped), shards, "-o", str(calibrated), *DRAWS]) == 0
    card = read_weights(calibrated).card
    assert "evaluation" not in card and card["licence"] == "MIT"


def test_predicting_and_evaluating_use_the_temperature(
    original: Path, shards: str, played: list[Annotation], tmp_path: Path
) -> None:
    path, lines = sharpened(original, 3, tmp_path / "w.safetensors"), write_lines(tmp_path / "lines.txt", played[:20])
    plain = Policy.load(path).predictions(played[:20])
    assert main([str(path), shards, "-o", str(path), "--force", *DRAWS]) == 0
    card = read_weights(path).card
    assert predict([str(path), lines, "-o", str(tmp_path / "out.txt")]) == 0
    changes = []
    for line, prediction in zip((tmp_path / "out.txt").read_text().splitlines(), plain, strict=True):
        weight = np.exp(prediction.score.astype(float) / card["temperature"])
        shown = [float(number) for number in line.rpartition("\t")[2].split(",")]
        assert shown == pytest.approx((weight / weight.sum()).tolist(), abs=1e-6)
        changes.append(np.abs(np.array(shown) - prediction.shown).max())
    assert max(changes) > 0.1
    out = tmp_path / "metrics.json"
    assert evaluate([str(path), shards, "--split", "validation", "--json", str(out), *DRAWS]) == 0
    (entry,) = json.loads(out.read_text())["weights"]
    for name in ("nll", "ece", "top1"):
        assert entry["agreement"][name]["value"] == pytest.approx(card["calibration"]["after"][name]["value"], abs=1e-6)


def ending(annotation: Annotation, rank_of: tuple[int, ...]) -> Annotation:
    """Returns the decision with another end of the game. `rank_of`: the ranks of the actor, then of the next seats."""
    seat = seat_of(annotation)
    results = dict(zip(FOUR_PLAYERS.results, annotation.results, strict=True)) | {"rank": rank_of[0]}
    results |= {f"rank_{(seat + i) % 4}": rank for i, rank in enumerate(rank_of)}
    return annotation._replace(results=tuple(results[name] for name in FOUR_PLAYERS.results))


def predicting(weights: Path, probability_O: np.ndarray, by: float) -> Path:
    """Makes a rank network always predict the same orders and their ranks, with all logits multiplied."""
    read = read_weights(weights)
    first_O = np.array([order[0] for order in ORDERS])
    probability_R = np.array([probability_O[first_O == rank].sum() for rank in range(4)])
    tensors = dict(read.tensors)
    for head, probability in (("head", probability_R), ("summary_head", probability_O)):
        tensors[f"{head}.weight"] = torch.zeros_like(tensors[f"{head}.weight"])
        tensors[f"{head}.bias"] = by * torch.from_numpy(np.log(probability)).float()
    write_weights(weights, tensors, read.card)
    return weights


def test_the_order_of_the_seats_has_a_separate_temperature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(8)
    probability_O = rng.dirichlet(np.ones(24))
    drawn = rng.choice(24, p=probability_O, size=800)
    annotations = [ending(a, ORDERS[o]) for a, o in zip(random_annotations(800, seed=6), drawn, strict=True)]
    shards = packed_validation(tmp_path, annotations)
    path = predicting(written(tmp_path, "rank"), probability_O, 3)
    assert main([str(path), shards, "-o", str(path), "--force", *DRAWS]) == 0
    output = capsys.readouterr().out
    card = read_weights(path).card
    assert card["temperature"] == pytest.approx(3, rel=0.25)
    assert card["summary_temperature"] == pytest.approx(3, rel=0.15)
    assert f"order of the seats, before the action: temperature {card['summary_temperature']:.4f}" in output
    before, after = (card["calibration"]["summary"][when]["nll"]["value"] for when in ("before", "after"))
    assert after < before - 0.1
    out = tmp_path / "metrics.json"
    assert evaluate([str(path), shards, "--split", "validation", "--json", str(out), *DRAWS]) == 0
    (entry,) = json.loads(out.read_text())["weights"]
    assert entry["log_likelihood"]["order"]["situation"]["value"] == pytest.approx(-after, abs=1e-5)
    policy = Policy.load(path)
    batch = policy.batch(columns_of_annotations(annotations[:1], FOUR_PLAYERS))
    rank_R = policy.objective.situation_rank_probability(policy.output(batch))[0]
    flat_O = probability_O ** (3 / card["summary_temperature"])
    first_O = np.array([order[0] for order in ORDERS])
    expected = [flat_O[first_O == rank].sum() / flat_O.sum() for rank in range(4)]
    np.testing.assert_allclose(rank_R, expected, atol=1e-5)


def test_the_fitted_temperature_has_the_lowest_loss() -> None:
    torch.manual_seed(0)
    logit_BA = 2.5 * torch.randn(4000, 7)
    target_B = torch.multinomial((logit_BA / 2.5).softmax(dim=1), 1)[:, 0]
    found = fitted_temperature(logit_BA, target_B)
    assert found == pytest.approx(2.5, rel=0.1)

    def loss(temperature: float) -> float:
        return float(torch.nn.functional.cross_entropy(logit_BA.double() / temperature, target_B))

    grid = np.exp(np.linspace(math.log(found) - 0.5, math.log(found) + 0.5, 101))
    assert min(loss(float(t)) for t in grid) == pytest.approx(loss(found), abs=1e-12)
