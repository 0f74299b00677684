"""The registry of stages."""

from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import STAGES, previous_stage

CURRICULUM = ["imitation", "round_delta", "rank", "grading"]


def test_the_table_has_the_stages_in_the_order_of_the_curriculum() -> None:
    assert [stage for stage in STAGES if stage in CURRICULUM] == CURRICULUM
    assert all(objective_class(stage).stage == stage for stage in STAGES)
    assert [previous_stage(stage) for stage in STAGES] == [None, *list(STAGES)[:-1]]
