"""Networks of three players as ONNX: in onnxruntime they have the outputs of torch."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from annotate.annotation import format_line
from annotate.vocabulary import THREE_PLAYERS
from kanachan.cli.export import main
from kanachan.inference.export_inputs import onnx_inputs_of
from kanachan.inference.onnx_export import simulated_situations
from kanachan.inference.policy import Policy
from tests.support.graph_outputs import graph_outputs
from tests.support.random_annotations import random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
else:
    InferenceSession = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed").InferenceSession


def test_the_graph_of_three_equals_the_network(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, layers=1, vocabulary=THREE_PLAYERS))
    lines = [format_line(annotation) for annotation in decisions_of_three(40)]
    probabilities_BA = graph_outputs(policy, lines)["probabilities"]
    for probabilities_A, prediction in zip(probabilities_BA, policy.predictions(lines), strict=True):
        np.testing.assert_allclose(probabilities_A[: len(prediction.shown)], prediction.shown, rtol=1e-4, atol=1e-4)


def test_without_shards_a_file_of_three_is_checked_on_a_game_of_three() -> None:
    columns = simulated_situations(THREE_PLAYERS)
    assert len(columns) > 100 and columns.numeric.shape[1] == len(THREE_PLAYERS.numeric)


@pytest.mark.slow
def test_the_policy_of_three_equals_the_network_without_shards_to_check_it_on(tmp_path: Path) -> None:
    weights, annotations = written(tmp_path, layers=1, vocabulary=THREE_PLAYERS), decisions_of_three(40)
    assert main([str(weights), "--onnx", str(tmp_path / "onnx")]) == 0
    session = InferenceSession(tmp_path / "onnx" / "policy.onnx")
    inputs = onnx_inputs_of([format_line(annotation) for annotation in annotations], session)
    assert inputs["numbers"].shape == (40, 5) and inputs["standing"].shape == (40, 3, 2)
    (found,) = session.run(["probabilities"], inputs)
    expected = Policy.load(weights).predictions(annotations)
    for row, prediction in zip(found, expected, strict=True):
        np.testing.assert_allclose(row[: len(prediction.shown)], prediction.shown, rtol=1e-4, atol=1e-4)
    about = (tmp_path / "onnx" / "README.md").read_text(encoding="utf-8")
    assert "(1 + 3 + tiles)" in about
    with pytest.raises(ValueError, match="1: "):
        onnx_inputs_of([format_line(annotation) for annotation in random_annotations(2, seed=0)], session)


@pytest.mark.slow
def test_rank_of_three_has_three_probabilities_for_each_action(tmp_path: Path) -> None:
    points = (135.0, 0.0, -135.0)
    weights = written(tmp_path, "rank", layers=1, vocabulary=THREE_PLAYERS, rank_points=points)
    assert main([str(weights), "--onnx", str(tmp_path / "onnx")]) == 0
    session = InferenceSession(tmp_path / "onnx" / "policy.onnx")
    annotations = decisions_of_three(20)
    inputs = onnx_inputs_of([format_line(annotation) for annotation in annotations], session)
    (found,) = session.run(["rank_probabilities"], inputs)
    assert found.shape[2] == 3
    for row, prediction in zip(found, Policy.load(weights).predictions(annotations), strict=True):
        assert prediction.rank_probability is not None
        np.testing.assert_allclose(row[: len(prediction.score)], prediction.rank_probability, rtol=1e-4, atol=1e-4)
