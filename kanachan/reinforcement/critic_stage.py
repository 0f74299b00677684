"""Stage critic: the oracle critic, on the decisions of self-play."""

from typing import Any

from annotate.vocabulary import Vocabulary
from kanachan.config import TrainConfig
from kanachan.models.learned_games import NONE, LearnedGames
from kanachan.models.weights import lineage_of, load_tensors, read_weights
from kanachan.objectives.networks import inherit_encoder
from kanachan.objectives.stages import CRITIC, REWARD
from kanachan.policy_config import needs_reward
from kanachan.reinforcement.critic import CRITIC_KEY, build_critic, critic_card
from kanachan.reinforcement.critic_module import CriticModule
from kanachan.reinforcement.critic_network import CriticNetwork
from kanachan.reinforcement.return_labels import ReturnLabelling
from kanachan.reinforcement.returns import Utility
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.initialization import inherited_lineage
from kanachan.training.learner import Learner
from kanachan.training.shard_source import ShardSource


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
