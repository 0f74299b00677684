"""How long a run is."""

import math

from kanachan.config import RunConfig
from kanachan.training.data_source import DataSource

_LEAST_DECISIONS = 100_000  # of a run whose length is not given


def steps_of(run: RunConfig, batch: int, data: DataSource) -> int:
    """Returns the optimiser steps of the run."""
    if run.steps is not None:
        return run.steps
    if data.steps_per_epoch is None:
        raise ValueError(f"run.steps is missing: {data.name} is endless, so run.passes does not apply")
    if run.passes is not None:
        return max(1, round(run.passes * data.steps_per_epoch))
    return max(data.steps_per_epoch, math.ceil(_LEAST_DECISIONS / batch))
