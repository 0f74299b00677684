"""Stage critic: the oracle critic, on the decisions of self-play.

Shapes: B decisions, S seats.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotate.vocabulary import Vocabulary
from kanachan.config import ModelConfig, OptimConfig, TrainConfig
from kanachan.data.batch import Batch
from kanachan.models.learned_games import NONE, LearnedGames
from kanachan.models.weights import lineage_of, load_tensors, read_weights
from kanachan.objectives.networks import inherit_encoder
from kanachan.objectives.stages import CRITIC, REWARD
from kanachan.policy_config import needs_reward
from kanachan.reinforcement.critic import CRITIC_KEY, CriticNetwork, build_critic, critic_card
from kanachan.reinforcement.returns import ReturnLabelling, Utility
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.distributed_sums import DistributedSums, means_of
from kanachan.training.initialization import inherited_lineage
from kanachan.training.learner import Learner
from kanachan.training.logged_module import PREFIX, LoggedModule, moments, with_explained_variance
from kanachan.training.shard_source import ShardSource
from kanachan.training.throughput import count_flops


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    return CriticSource(config, devices)


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    assert isinstance(data, CriticSource)
    labelling = data.labelling
    network = build_critic(config.model, labelling.utility, data.vocabulary)
    network.encoder.set_up(config.run)
    origin, lineage, games = (
        ("network from scratch", [], NONE)
        if config.init is None or is_resumed
        else _inherit(network, config, data.vocabulary)
    )
    return Learner(
        CriticModule(network, config.model, config.optim, steps, config.run.log_every),
        origin,
        lineage=lineage,
        ancestors_games=games,
        card={CRITIC_KEY: critic_card(labelling.utility, config.critic.reward, labelling.sha256)},
    )


class CriticModule(LoggedModule):
    """Trains a critic by the squared error of the returns of all seats, in squared units of the utility.

    Decisions whose return is not known (NaN) count as predicted in training, so that a batch has the same loss however
    it is shared out, and not at all in validations, which measure the loss and the explained variance of the actor's
    return. `model`: the sizes of the network, from which its operations are counted."""

    network: CriticNetwork

    def __init__(
        self, network: CriticNetwork, model: ModelConfig, optim: OptimConfig, total_steps: int, log_every: int
    ) -> None:
        super().__init__(network, optim, total_steps, log_every, partial(count_flops, model, has_decoder=False))
        self._sums = DistributedSums()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        error_BS, _ = self._errors(batch)
        loss = error_BS.square().mean()
        self.add_losses({"loss": loss.detach()}, len(batch))
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        error_BS, is_known_B = self._errors(batch)
        assert batch.label_BL is not None
        count = int(is_known_B.sum())
        target_B = batch.label_BL[:, 0].where(is_known_B, 0.0)
        sums = {f"{PREFIX}loss": error_BS.square().mean(dim=1)}
        sums |= moments(target_B, target_B.square(), error_BS[:, 0].square())
        self._sums.add_means({name: of_B.sum() / max(count, 1) for name, of_B in sums.items()}, weight=count)

    @torch.no_grad()
    def on_validation_epoch_end(self) -> None:
        row, count = means_of(self._sums.take(self.trainer))
        self.log_validation({**with_explained_variance(row), f"{PREFIX}rows": count})

    def _errors(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns error_BS, 0 where the return is not known, and where it is known [B]."""
        assert batch.label_BL is not None
        is_known_B = batch.label_BL.isfinite().all(dim=1)
        return (self.network(batch) - batch.label_BL).where(is_known_B[:, None], 0.0), is_known_B


class CriticSource(ShardSource):
    """The decisions of a folder of shards with hidden tokens and the returns of the seats. Raises ValueError: as
    `ShardSource`, or the shards are not of self-play, or there is no reward predictor."""

    def __init__(self, config: TrainConfig, devices: Devices) -> None:
        if config.critic.reward is None and needs_reward(config.critic.utility):
            raise ValueError(
                f"stage {config.stage} needs a reward predictor: --critic.reward WEIGHTS (kanachan-train --stage "
                f"{REWARD})"
            )
        self.labelling = ReturnLabelling(config.critic.reward, Utility(config.critic.utility, config.critic.points))
        super().__init__(
            config.data,
            config.run.seed,
            world=devices.world.size,
            varlen=devices.use_varlen,
            sees_hidden=True,
            labelling=self.labelling,
        )
        if not self.has_walls:
            raise ValueError(
                f"--data.path {config.data.path}: holds no walls, which stage {config.stage} needs: kanachan-selfplay "
                "makes shards with walls"
            )


def _inherit(
    network: CriticNetwork, config: TrainConfig, vocabulary: Vocabulary
) -> tuple[str, list[dict[str, Any]], LearnedGames]:
    """Copies the critic, or the encoder, of --init; returns what was copied, in words, the lineage and the games."""
    assert config.init is not None
    weights = read_weights(config.init)
    if weights.stage == CRITIC and weights.vocabulary is vocabulary:
        load_tensors(network, weights.tensors, weights.path)
        return f"network from {config.init}", lineage_of(weights), weights.learned_games
    inherit_encoder(network.encoder, config.model, weights, vocabulary)
    lineage, change = inherited_lineage(weights, vocabulary, has_decoder=False)
    return f"encoder from {config.init}{change}", lineage, weights.learned_games
