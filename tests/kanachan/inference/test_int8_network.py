"""A network with int8 matrices equals the network without them, except for a small divergence that is measured."""

from pathlib import Path

import pytest
import torch

from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.bot import main
from kanachan.data.batch import batch_of_annotations
from kanachan.inference import int8_network
from kanachan.inference.int8_network import Int8Network, checked_divergence, with_int8
from kanachan.inference.policy import Policy
from tests.support.random_annotations import altered, random_annotations
from tests.support.three_players import decisions_of_three
from tests.support.tiny_weights import written

pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
BATCH = batch_of_annotations(random_annotations(30, seed=2, games=4), FOUR_PLAYERS)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(written(tmp_path_factory.mktemp("weights")))


VOCABULARIES = pytest.mark.parametrize("vocabulary", [FOUR_PLAYERS, THREE_PLAYERS], ids=lambda each: each.name)


@VOCABULARIES
@torch.inference_mode()
def test_without_int8_the_graph_has_the_outputs_of_the_network(vocabulary: Vocabulary, tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, vocabulary=vocabulary))
    batch = BATCH
    if vocabulary is THREE_PLAYERS:
        batch = batch_of_annotations(decisions_of_three(60), vocabulary)
    found, expected = Int8Network(policy.network, vocabulary, None)(batch), policy.network(batch)
    assert torch.equal(found.mask_BA, expected.mask_BA)
    assert expected.candidate_BAK[expected.mask_BA].std() > 0.5
    torch.testing.assert_close(
        found.candidate_BAK[found.mask_BA], expected.candidate_BAK[found.mask_BA], rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(found.summary_BK, expected.summary_BK, rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_only_a_limited_number_of_masks_is_cached(policy: Policy) -> None:
    network = Int8Network(policy.network, FOUR_PLAYERS, None)
    (decision,) = random_annotations(1, seed=2)
    lengths = range(1, 60)
    for length in lengths:
        events = decision.observation.progression[:1] * length
        network(batch_of_annotations([altered(decision, progression=events)], FOUR_PLAYERS))
    assert int8_network._mask_of_rows.cache_info().currsize < len(lengths)


@VOCABULARIES
def test_the_divergence_of_int8_is_small_and_not_zero(vocabulary: Vocabulary, tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, vocabulary=vocabulary))
    found = checked_divergence(with_int8(policy, "tiny"), policy, "tiny")
    assert 0 < found.nats < 0.01
    assert 0.9 < found.same_best <= 1
    assert found.decisions > 50


def test_too_large_a_divergence_is_an_error(policy: Policy, tmp_path: Path) -> None:
    other = Policy.load(written(tmp_path, seed=3))
    with pytest.raises(ValueError, match=r"tiny: int8 matrices change the policy by .* plays only without :int8"):
        checked_divergence(with_int8(other, "tiny"), policy, "tiny")


def test_the_bot_reports_the_divergence_of_int8_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115
    assert main([f"{written(tmp_path)}:int8", "0"]) == 0
    assert "int8 matrices are" in capsys.readouterr().err
