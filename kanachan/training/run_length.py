"""How long a run is, and how often it is validated."""

import math

from kanachan.config import RunConfig, TrainConfig
from kanachan.training.data_source import DataSource

_LEAST_DECISIONS = 100_000  # of a run whose length is not given
_VALIDATIONS = 40  # of a run whose interval is not given
_LEAST_RATIO = 7  # of decisions between two validations to those of one, each of which takes a third of the time


def steps_of(run: RunConfig, batch: int, data: DataSource) -> int:
    """Returns the optimiser steps of the run."""
    if run.steps is not None:
        return run.steps
    if run.passes is not None:
        return max(1, round(run.passes * data.steps_per_epoch))
    return max(data.steps_per_epoch, math.ceil(_LEAST_DECISIONS / batch))


def steps_between_validations(config: TrainConfig, steps: int, data: DataSource) -> int:
    """Returns the optimiser steps between two validations of a run of `steps`."""
    run, batch = config.run, config.data.sizes[0]
    if run.validation_interval is not None:
        return max(1, round(run.validation_interval / batch))
    validated = data.num_validation_rows
    if run.validate_batches is not None:
        validated = min(validated, run.validate_batches * config.data.validation_batch)
    return max(1, math.ceil(max(steps / _VALIDATIONS, _LEAST_RATIO * validated / batch)))
