"""The stages of the curriculum: an encoder-decoder, its objective, and decisions of shards."""

from kanachan.config import TrainConfig
from kanachan.models.learned_games import NONE
from kanachan.models.weights import PRIOR_KEY, TEACHER_KEY
from kanachan.training.compilation import compile_network
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.distillation import open_teacher
from kanachan.training.initialization import initial_network
from kanachan.training.learner import Learner
from kanachan.training.module import StageModule
from kanachan.training.round_labels import RoundLabelling
from kanachan.training.shard_source import ShardSource


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    return ShardSource(
        config.data,
        config.run.seed,
        world=devices.world.size,
        varlen=devices.use_varlen,
        hidden=config.objective.hidden_hands > 0,
        labelling=RoundLabelling(config.stage, config.objective) if config.objective.target == "round" else None,
    )


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    initial = initial_network(config, data.vocabulary, inherits=not is_resumed)
    network = initial.network
    network.encoder.set_up(config.run)
    card = {} if initial.prior is None else {PRIOR_KEY: initial.prior}
    teacher = open_teacher(config, data.vocabulary)
    if teacher is not None:
        card[TEACHER_KEY] = teacher.card
    if config.run.compile:
        for each in [network] if teacher is None else [network, teacher.network.network]:
            compile_network(each, is_gpu=devices.is_gpu)
    module = StageModule(network, initial.objective, config.optim, steps, config.run.log_every, config.model, teacher)
    return Learner(
        module,
        initial.origin,
        lineage=initial.lineage,
        ancestors_games=initial.ancestors_games | (teacher.learned_games if teacher else NONE),
        card=card,
        previous_settings=initial.settings,
    )
