"""How long a run is, and how often it is validated."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kanachan.config import DataConfig, RunConfig, StageName, TrainConfig
from kanachan.objectives.stages import OUTSIDE
from kanachan.training.data_source import DataSource
from kanachan.training.run_length import steps_between_validations, steps_of


def steps_between(batch: int, steps: int, rows: int = 20_000, **run: Any) -> int:
    data = cast(DataSource, SimpleNamespace(num_validation_rows=rows))
    given = DataConfig(batch=batch, micro_batch=1)
    return steps_between_validations(TrainConfig(stage="rank", data=given, run=RunConfig(**run)), steps, data)


@pytest.mark.parametrize("batch", [64, 256, 4096])
@pytest.mark.parametrize(("decisions", "share"), [(1 << 20, 0.05), (1 << 28, 0.001)])
def test_validations_take_a_small_share_of_the_time_at_any_batch_size(batch: int, decisions: int, share: float) -> None:
    interval = batch * steps_between(batch, decisions // batch)
    assert 10_240 / 3 / interval < share  # a forward pass is a third of the work
    assert 9 <= decisions // interval <= 40


def test_a_given_interval_is_rounded_to_steps() -> None:
    assert [steps_between(batch, 1000, validation_interval=12_800) for batch in (258, 4096, 81_920)] == [50, 3, 1]


def test_a_small_validation_split_is_validated_more_often() -> None:
    assert steps_between(256, 2000, rows=1000) == 50
    assert steps_between(256, 2000, rows=10_000) == 274
    assert steps_between(256, 2000, rows=0) == 50


@pytest.mark.parametrize(("stage", "decisions"), [("imitation", 26_700_000), ("rank", 534_000)])
def test_by_default_outcomes_are_learned_from_one_decision_of_each_round(stage: StageName, decisions: int) -> None:
    config = TrainConfig(stage=stage, data=DataConfig(batch=100, micro_batch=1))
    of_games = [cast(DataSource, SimpleNamespace(steps_per_epoch=rows // 100)) for rows in (26_700_000, 50_000)]
    assert [steps_of(config, data) for data in of_games] == [decisions // 100, 1000]


def test_outcomes_are_learned_in_the_same_way_outside_the_curriculum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTSIDE, "deal_in", "tests.kanachan.objectives.test_stages_new:DealIn")
    config = TrainConfig(stage="deal_in", data=DataConfig(batch=100, micro_batch=1))
    assert steps_of(config, cast(DataSource, SimpleNamespace(steps_per_epoch=267_000))) == 5_340
