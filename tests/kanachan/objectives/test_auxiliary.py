"""Auxiliary targets: they are computed from the record as by plain loops, and they are optional."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from annotate.annotation import Annotation
from annotate.game.results import relative_winner
from annotate.vocabulary import FOUR_PLAYERS, HAND_SLOT_FIRST, NUM_TILES, tile34_of
from kanachan.config import MODEL_SIZES, ObjectiveConfig, StageName
from kanachan.data.batch import Batch, batch_of_annotations
from kanachan.models.transformer import Network
from kanachan.objectives.networks import build_network
from kanachan.objectives.objective import Objective
from kanachan.objectives.stages import STAGES
from tests.support.packed import packed
from tests.support.random_annotations import random_annotations, with_hidden
from tests.support.tiny_runs import assert_resumable, rows_of, run

V = FOUR_PLAYERS
ANNOTATIONS = with_hidden(random_annotations(40, seed=1), seed=1)
BOTH = ObjectiveConfig(hidden_hands=0.7, round_winner=0.3)
ON = ("--objective.hidden_hands", "0.7", "--objective.round_winner", "0.3")


def slow_counts(annotation: Annotation) -> list[list[int]]:
    """Tiles of each kind in each hand, one token at a time."""
    counts = [[0] * 34 for _ in range(3)]
    for token in annotation.hidden or ():
        name, at = V.hidden.describe(token)
        if name == "hand":
            tile = max(tile for tile in range(NUM_TILES) if HAND_SLOT_FIRST[tile] <= at["slot"])
            counts[at["relative_seat"]][tile34_of(tile)] += 1
    return counts


def built(stage: StageName = "imitation", config: ObjectiveConfig = BOTH) -> tuple[Network, Objective]:
    torch.manual_seed(0)
    return build_network(stage, MODEL_SIZES["tiny"], config, V)


@pytest.fixture
def batch() -> Batch:
    return batch_of_annotations(ANNOTATIONS, V)


def test_hidden_hands_are_counted_by_kind_of_tile_and_red_fives_are_fives(batch: Batch) -> None:
    assert batch.hand_count_BHK is not None
    assert batch.hand_count_BHK.tolist() == [slow_counts(annotation) for annotation in ANNOTATIONS]


def test_the_loss_of_hidden_hands_is_the_mean_over_seats_kinds_and_counts(batch: Batch) -> None:
    target = built()[1].auxiliary.targets["hidden_hands"]
    output_BO = torch.randn(len(batch), 3 * 34 * 3)
    terms = []
    for row, annotation in enumerate(ANNOTATIONS):
        held = [count >= least for hand in slow_counts(annotation) for count in hand for least in (1, 2, 3)]
        for logit, is_held in zip(output_BO[row].tolist(), held, strict=True):
            terms.append(math.log1p(math.exp(-logit if is_held else logit)))
    assert float(target(output_BO, batch)) == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def test_the_loss_of_the_winner_is_the_cross_entropy_over_the_seats_and_nobody(batch: Batch) -> None:
    target = built()[1].auxiliary.targets["round_winner"]
    output_BO = torch.randn(len(batch), 5)
    terms = []
    for row, annotation in enumerate(ANNOTATIONS):
        winner = relative_winner(annotation.results[0], 4)
        logits = output_BO[row].tolist()
        terms.append(math.log(sum(map(math.exp, logits))) - logits[4 if winner is None else winner])
    assert float(target(output_BO, batch)) == pytest.approx(sum(terms) / len(terms), rel=1e-5)


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_have_auxiliary_targets_and_every_parameter_gets_a_gradient(
    stage: StageName, batch: Batch
) -> None:
    network, objective = built(stage)
    output = network(batch, with_auxiliary=True)
    own, parts = objective.loss(output, batch), objective.loss_with_auxiliary(output, batch)
    expected = own["loss"] + 0.7 * parts["hidden_hands"] + 0.3 * parts["round_winner"]
    assert parts.keys() - own.keys() == {"hidden_hands", "round_winner"}
    assert float(parts["loss"].detach()) == pytest.approx(float(expected.detach()), rel=1e-6)
    parts["loss"].backward()
    assert [name for name, p in network.named_parameters() if p.grad is None] == []


def test_hidden_hands_are_not_inputs(batch: Batch) -> None:
    network, _ = built()
    blind = replace(batch, labels=None)
    seen, unseen = (network(each, with_auxiliary=True) for each in (batch, blind))
    for name in ("candidate_BAK", "summary_BK", "auxiliary_BO"):
        assert torch.equal(getattr(seen, name), getattr(unseen, name))


def test_auxiliary_targets_do_not_change_the_initial_values_of_the_rest() -> None:
    plain, more = (built("rank", config)[0].state_dict() for config in (ObjectiveConfig(), BOTH))
    assert {name.partition(".")[0] for name in more.keys() - plain.keys()} == {"auxiliary_head"}
    assert all(torch.equal(more[name], values) for name, values in plain.items())


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed(tmp_path_factory.mktemp("hidden") / "shards", 600, 80, is_hidden=True)


@pytest.fixture(scope="module")
def trained(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert run("imitation", shards, out, *ON) == 0
    return out


def test_the_log_has_the_auxiliary_losses_in_training_and_validation(trained: Path) -> None:
    rows = rows_of(trained)
    for split in ("train", "validation"):
        logged = [row for row in rows if row[f"{split}/loss"]]
        assert logged
        for row in logged:
            own, hands, winner = (float(row[f"{split}/{n}"]) for n in ("cross_entropy", "hidden_hands", "round_winner"))
            assert float(row[f"{split}/loss"]) == pytest.approx(own + 0.7 * hands + 0.3 * winner, rel=1e-5)


def test_a_resumed_run_with_auxiliary_targets_equals_an_uninterrupted_one(trained: Path, tmp_path: Path) -> None:
    assert_resumable(trained, tmp_path / "run")
