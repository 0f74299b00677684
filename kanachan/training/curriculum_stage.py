"""The stages of the curriculum: an encoder-decoder, its objective, and decisions from shards."""

from functools import partial
from pathlib import Path

from torch import Tensor

from kanachan.config import ModelConfig, OptimConfig, TrainConfig
from kanachan.data.batch import Batch
from kanachan.models.transformer import Network
from kanachan.models.weights import PRIOR_KEY, TEACHER_KEY, lineage_of, read_weights
from kanachan.objectives.objective import Objective
from kanachan.training.compilation import compile_network
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.initialization import initial_network
from kanachan.training.learner import Learner
from kanachan.training.logged_module import LoggedModule
from kanachan.training.round_labels import RoundLabelling
from kanachan.training.run_folder import LABELS
from kanachan.training.shard_source import ShardSource
from kanachan.training.tempered_network import TemperedNetwork, open_teacher
from kanachan.training.throughput import count_flops
from kanachan.training.validation_metrics import ValidationMetrics
from kanachan.training.wandb_run import log_reliability


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    objective, prepare = config.objective, None
    if objective.target == "round":
        prepare = RoundLabelling(config.stage, objective, Path(config.run.out) / LABELS).prepare
    hidden = objective.hidden_hands > 0
    return ShardSource(config.data, config.run.seed, varlen=devices.use_varlen, hidden=hidden, prepare=prepare)


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    initial = initial_network(config, data.vocabulary, inherits=not is_resumed)
    network = initial.network
    network.encoder.recomputes = config.run.recompute
    card = {} if initial.prior is None else {PRIOR_KEY: initial.prior}
    teacher = open_teacher(config, data.vocabulary)
    if config.objective.teacher is not None:
        card[TEACHER_KEY] = lineage_of(read_weights(config.objective.teacher))[-1]
    if config.run.compile:
        for each in [network] if teacher is None else [network, teacher.network]:
            compile_network(each, is_gpu=devices.is_gpu)
    module = StageModule(network, initial.objective, config.optim, steps, config.run.log_every, config.model, teacher)
    return Learner(module, initial.origin, initial.is_whole, ancestry=initial.ancestry, card=card)


class StageModule(LoggedModule):
    """Trains a network of sizes `model` for an objective. With a `teacher`, its probabilities are the targets instead
    of the actions taken."""

    network: Network

    def __init__(
        self,
        network: Network,
        objective: Objective,
        optim: OptimConfig,
        total_steps: int,
        log_every: int,
        model: ModelConfig,
        teacher: TemperedNetwork | None = None,
    ) -> None:
        self._teacher = teacher
        work_of = partial(count_flops, model, trains_encoder="encoder" not in optim.frozen)
        super().__init__(network, optim, total_steps, log_every, work_of)
        self.objective = objective
        self.metrics = ValidationMetrics(objective)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        if self._teacher is not None:
            batch = self._teacher.labelled(batch)
        parts = self.objective.loss_with_auxiliary(self.network(batch, with_auxiliary=True), batch)
        self.add_losses(parts, len(batch))
        return parts["loss"]

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.metrics.update(batch, self.network(batch, with_auxiliary=True))

    def on_validation_epoch_end(self) -> None:
        self.log_validation(self.metrics.compute(self.trainer))

    def on_fit_end(self) -> None:
        if self.metrics.points and self.trainer.is_global_zero:
            unit = self.objective.value_unit if self.objective.has_value else "probability"
            log_reliability(self.trainer, self.metrics.points, unit, self.samples)
