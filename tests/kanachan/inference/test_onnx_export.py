"""The network as ONNX: onnxruntime gives the same outputs as torch, for inputs of any size."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from annotate.annotation import format_line
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS
from kanachan.cli.export import main
from kanachan.config import StageName
from kanachan.data.batch import batch_of_annotations
from kanachan.inference import onnx_export
from kanachan.inference.export_inputs import onnx_inputs_of
from kanachan.inference.onnx_export import PolicyGraph, check
from kanachan.inference.policy import Policy
from kanachan.inference.simulated_decisions import simulated_decisions
from kanachan.inference.situation_inputs import inputs_of_rows
from kanachan.models.transformer import attention_backend
from kanachan.models.weights import read_weights, write_weights
from tests.support.examples import run_example
from tests.support.graph_outputs import graph_outputs
from tests.support.paths import ROOT
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
else:
    InferenceSession = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed").InferenceSession

ANNOTATIONS = random_annotations(40, seed=6, games=3)
LINES = [format_line(annotation) for annotation in ANNOTATIONS]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Calibrated weights of imitation. They are tiny, as the exporter takes seconds for each block."""
    path = written(tmp_path_factory.mktemp("weights"), layers=1)
    read = read_weights(path)
    write_weights(path, read.tensors, {**read.card, "temperature": 0.5})
    return path


@pytest.fixture(scope="module")
def exported(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    assert main([str(weights), "--onnx", str(folder)]) == 0
    return folder


def outputs_of(path: Path, lines: list[str]) -> dict[str, NDArray]:
    """Returns the outputs of a file, by name."""
    session = InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, onnx_inputs_of(lines, session)), strict=True))


def require_same(found: NDArray, expected: list[NDArray[np.float32]], scale: float = 1.0) -> None:
    for row, of_decision in zip(found, expected, strict=True):
        np.testing.assert_allclose(row[: len(of_decision)], of_decision, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.slow
def test_the_policy_equals_the_network_at_the_temperature_of_its_card(weights: Path, exported: Path) -> None:
    found = outputs_of(exported / "policy.onnx", LINES)
    predictions = Policy.load(weights).predictions(ANNOTATIONS)
    require_same(found["scores"], [prediction.score for prediction in predictions])
    require_same(found["probabilities"], [prediction.shown for prediction in predictions])


@pytest.mark.slow
def test_the_encoder_gives_the_vector_of_the_situation(weights: Path, exported: Path) -> None:
    policy = Policy.load(weights)
    inputs = inputs_of_rows(LINES, FOUR_PLAYERS)
    found = outputs_of(exported / "encoder.onnx", LINES)
    assert found["tokens"].shape == (len(LINES), 1 + 4 + inputs["tiles"].shape[1], 16)
    np.testing.assert_array_equal(found["situation"], found["tokens"][:, 0])
    batch = batch_of_annotations(ANNOTATIONS, FOUR_PLAYERS)
    attention = attention_backend(batch)
    with torch.inference_mode():
        encoder = policy.network.encoder
        expected_XD = encoder(batch.table_BS, batch.standing_BP2, batch.numeric_BN, attention)
    np.testing.assert_allclose(found["situation"], attention.summary(expected_XD).numpy(), atol=1e-5)


@pytest.mark.slow
def test_a_file_that_differs_from_the_network_is_refused(exported: Path, tmp_path: Path) -> None:
    other = Policy.load(written(tmp_path, seed=1))
    columns = simulated_decisions(FOUR_PLAYERS, seed=1)
    with pytest.raises(ValueError, match="differs from the network by"):
        check(exported / "policy.onnx", PolicyGraph(other), other, columns)


@pytest.mark.slow
def test_a_network_of_another_vocabulary_is_refused(exported: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(exported / "policy.onnx")
    for entry in model.metadata_props:
        if entry.key == "fingerprint":
            entry.value = "0123456789abcdef"
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(ValueError, match=f"0123456789abcdef.*{FOUR_PLAYERS.fingerprint}"):
        outputs_of(tmp_path / "other.onnx", LINES)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["round_delta", "rank", "grading"])
def test_the_policy_of_a_later_stage_equals_its_network(stage: StageName, tmp_path: Path) -> None:
    weights = written(tmp_path / stage, stage)
    assert main([str(weights), "--onnx", str(tmp_path / "onnx")]) == 0
    found = outputs_of(tmp_path / "onnx" / "policy.onnx", LINES)
    policy = Policy.load(weights)
    predictions = policy.predictions(ANNOTATIONS)
    require_same(found["scores"], [prediction.score for prediction in predictions], policy.objective.scale)
    ranks = [prediction.rank_probability for prediction in predictions if prediction.rank_probability is not None]
    assert ("rank_probabilities" in found) == (len(ranks) > 0) == (stage == "rank")
    require_same(found.get("rank_probabilities", np.zeros((0, 1))), ranks)


@pytest.mark.slow
def test_nothing_is_written_if_a_file_differs_by_more_than_the_tolerance(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_export, "TOLERANCE", 1e-12)
    assert main([str(weights), "--onnx", str(tmp_path / "out")]) == 1
    assert re.search(r"encoder\.onnx: it differs .* nothing is written\n", capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_example_of_the_documents_runs(exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onnx").symlink_to(exported)
    (tmp_path / "annotations.txt").write_text("".join(line + "\n" for line in LINES))
    monkeypatch.chdir(tmp_path)
    probabilities = run_example(ROOT / "docs" / "export.md", "<!-- onnx -->")["probabilities"]
    assert isinstance(probabilities, np.ndarray)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.slow
def test_onnxruntime_quantizes_the_exported_policy(exported: Path, tmp_path: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(exported / "policy.onnx", tmp_path / "int8.onnx", weight_type=QuantType.QInt8)
    found, expected = (outputs_of(path, LINES) for path in (tmp_path / "int8.onnx", exported / "policy.onnx"))
    for name, values in expected.items():
        is_finite = np.isfinite(values)
        np.testing.assert_array_equal(np.isfinite(found[name]), is_finite)
        # how near they are depends on the network and on the processor's integer products
        assert np.corrcoef(found[name][is_finite], values[is_finite])[0, 1] > 0.95


@pytest.mark.slow
def test_the_graph_of_three_players_equals_their_network(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, layers=1, vocabulary=THREE_PLAYERS))
    lines = [format_line(annotation) for annotation in decisions_of_three(40)]
    require_same(graph_outputs(policy, lines)["probabilities"], [each.shown for each in policy.predictions(lines)])
