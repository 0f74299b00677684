"""Stage reward, outside the curriculum: the reward predictor."""

from torch import Tensor

from kanachan.config import OptimConfig, TrainConfig
from kanachan.data.round_batch import RoundBatch
from kanachan.models.reward_network import RewardNetwork, RewardOutput
from kanachan.objectives.reward import RewardObjective, build_reward_predictor
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.distributed_sums import DistributedSums, means_of
from kanachan.training.learner import Learner
from kanachan.training.logged_module import PREFIX, LoggedModule, moments, with_explained_variance
from kanachan.training.round_source import RoundSource
from kanachan.training.throughput import FlopCount


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    return RoundSource(config.data, config.run.seed)


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    assert isinstance(data, RoundSource)
    network, objective = build_reward_predictor(config.reward, data.vocabulary)
    network.points_logit.copy_(objective.points_logit(data.train_points))
    module = RewardModule(network, objective, config.optim, steps, config.run.log_every)
    return Learner(module, "network from scratch", samples="games")


class RewardModule(LoggedModule):
    """Trains a reward predictor on whole games. The loss of a step is a mean over its rounds. Validations
    average the seats' views in a prediction, and compute the parts of the loss and the explained variance of the
    grading points."""

    network: RewardNetwork

    def __init__(
        self, network: RewardNetwork, objective: RewardObjective, optim: OptimConfig, total_steps: int, log_every: int
    ) -> None:
        num_parameters = sum(parameter.numel() for parameter in network.parameters())

        def work_of(batch: RoundBatch) -> FlopCount:
            num_rounds, num_seats = batch.rank_NS.shape
            return FlopCount(batch.num_games, num_rounds, 6.0 * num_parameters * num_rounds * num_seats)

        super().__init__(network, optim, total_steps, log_every, work_of)
        self.objective = objective
        self._sums = DistributedSums()

    def training_step(self, batch: RoundBatch, batch_idx: int) -> Tensor:
        views = self.network.views(batch.state)
        parts = self._losses(views, self.network.averaged(views), batch)
        # a mean over all rounds of the step, however it is divided into micro-batches
        parts = {name: part * batch.weight for name, part in parts.items()}
        self.add_losses(parts, batch.num_games)
        return parts["loss"]

    def validation_step(self, batch: RoundBatch, batch_idx: int) -> None:
        output = self.network(batch.state)
        parts = self._losses(output, output, batch)
        means = {PREFIX + name: mean for name, mean in parts.items()}
        means |= moments(batch.grading_NS, self.objective.outcome(output).grading_points)
        self._sums.add_means(means, weight=len(batch.grading_NS))

    def _losses(self, output: RewardOutput, start: RewardOutput, batch: RoundBatch) -> dict[str, Tensor]:
        """Returns the loss and its parts, of an output at the start and of the predictions after the round."""
        parts = self.objective.loss(output, batch, self.network)
        after = self.objective.loss_after_round(self.network, start, batch)
        return {**parts, **after, "loss": parts["loss"] + after["loss"]}

    def on_validation_epoch_end(self) -> None:
        row, count = means_of(self._sums.take(self.trainer))
        self.log_validation({**with_explained_variance(row), f"{PREFIX}rows": count})
