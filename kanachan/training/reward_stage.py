"""Stage reward, outside the curriculum: the reward predictor."""

from kanachan.config import TrainConfig
from kanachan.objectives.reward import build_reward_predictor
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.learner import Learner
from kanachan.training.reward_module import RewardModule
from kanachan.training.round_source import RoundSource


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    return RoundSource(config.data, config.run.seed)


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    network, objective = build_reward_predictor(config.reward, data.vocabulary)
    module = RewardModule(network, objective, config.optim, steps, config.run.log_every)
    return Learner(module, "network from scratch", samples="games")
