"""Length of a run, and interval between its validations."""

import math

from kanachan.config import TrainConfig
from kanachan.objectives.networks import objective_class
from kanachan.objectives.stages import scoring_stages
from kanachan.training.data_source import DataSource

_LEAST_DECISIONS = 100_000  # minimum for a run whose length is not given
_DECISIONS_OF_A_ROUND = 50  # about; these share one outcome, which is memorised if it is seen more than about once
_VALIDATIONS = 40  # in a run whose interval is not given
_LEAST_RATIO = 7  # training to validation decisions; a validation decision takes a third of the time


def steps_of(config: TrainConfig, data: DataSource) -> int:
    """Returns the optimiser steps of the run. The default is one epoch, or one decision of each round in a stage
    that learns outcomes, but at least `_LEAST_DECISIONS`."""
    if config.run.steps is not None:
        return config.run.steps
    if config.run.passes is not None:
        return max(1, round(config.run.passes * data.steps_per_epoch))
    learns_outcomes = config.stage in scoring_stages() and objective_class(config.stage).has_value
    steps = data.steps_per_epoch / (_DECISIONS_OF_A_ROUND if learns_outcomes else 1)
    return math.ceil(max(steps, _LEAST_DECISIONS / config.data.sizes[0]))


def steps_between_validations(config: TrainConfig, steps: int, data: DataSource) -> int:
    """Returns the optimiser steps between two validations of a run of `steps`."""
    run, batch = config.run, config.data.sizes[0]
    if run.validation_interval is not None:
        return max(1, round(run.validation_interval / batch))
    validated = data.num_validation_rows
    if run.validate_batches is not None:
        validated = min(validated, run.validate_batches * config.data.validation_batch)
    return max(1, math.ceil(max(steps / _VALIDATIONS, _LEAST_RATIO * validated / batch)))
