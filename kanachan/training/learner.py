"""The module that a run trains, and the interface of a kind of stage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kanachan.config import TrainConfig
from kanachan.training.ancestry import Ancestry
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.logged_module import LoggedModule


@dataclass(frozen=True)
class Learner:
    """A module before its first step, and its origin."""

    module: LoggedModule
    origin: str
    """origin of its parts, in words"""
    is_whole: bool = False
    """whether all of the network of a new run is from --init"""
    samples: str = "decisions"
    """what a batch consists of, in words"""
    ancestry: Ancestry = Ancestry()
    """of a new run; the checkpoint of a resumed run has it"""
    card: Mapping[str, Any] = field(default_factory=dict)
    """entries in the card of its weights that only this kind of stage has"""


class StageKind(Protocol):
    """A Python module that makes the data and the learner of a stage."""

    def open_data(self, config: TrainConfig, devices: Devices) -> DataSource:
        """Opens the source of the run's batches; raises ValueError if it cannot be read."""

    def make_learner(
        self, config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool
    ) -> Learner:
        """Makes the learner of a run; a resumed run loads the tensors from its checkpoint."""
