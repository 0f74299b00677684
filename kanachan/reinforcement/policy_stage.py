"""Stage policy, outside the curriculum, which improves a policy with its own games."""

from pathlib import Path

import torch

from kanachan.config import TrainConfig
from kanachan.data.batch import batch_of_columns
from kanachan.models.card import weights_file
from kanachan.reinforcement.behaviour import MOST_DISAGREEMENT, Behaviour, of_actions
from kanachan.reinforcement.played_decisions import PlayedDecisions, spread_rows
from kanachan.reinforcement.policy_module import INIT_NAME, PolicyModule
from kanachan.training.compilation import compile_network
from kanachan.training.data_source import DataSource
from kanachan.training.devices import Devices
from kanachan.training.initialization import initial_network
from kanachan.training.learner import Learner
from kanachan.training.run_folder import holds_run
from kanachan.training.shard_source import ShardSource
from kanachan.training.tempered_network import TemperedNetwork, load_tempered, open_tempered

_MOST_COMPARED = 256


def open_data(config: TrainConfig, devices: Devices) -> DataSource:
    return PlayedSource(config, devices)


def make_learner(config: TrainConfig, devices: Devices, data: DataSource, steps: int, *, is_resumed: bool) -> Learner:
    assert isinstance(data, PlayedSource)
    initial = initial_network(config, data.vocabulary, inherits=not is_resumed)
    old, card = load_tempered(data.played_by, data.behaviour.temperature)
    difference = data.difference_of(old)
    if not difference <= MOST_DISAGREEMENT:
        raise ValueError(
            f"{data.name}: the log probabilities of its actions differ by {difference:.3f} on average from those "
            f"of --init {config.init}: other weights, or another version of this program, played"
        )
    magnet, path = None, config.policy.magnet
    if path is not None:
        magnet, _ = open_tempered("policy.magnet", path, config, data.vocabulary, data.behaviour.temperature)
    network = initial.network
    network.encoder.recomputes = config.run.recompute
    if config.run.compile:
        compile_network(network, is_gpu=devices.is_gpu)
    module = PolicyModule(
        TemperedNetwork(network, initial.objective, old.temperature),
        old,
        magnet,
        config.policy,
        config.optim,
        steps,
        config.run.log_every,
        config.model,
        data.played_by,
    )
    return Learner(
        module,
        f"{initial.origin}; log probabilities differ from the ones in the games by {difference:.2g} on average",
        initial.is_whole,
        ancestry=initial.ancestry,
        card={"temperature": card["temperature"]} if "temperature" in card else {},
    )


class PlayedSource(ShardSource):
    """The decisions of --init in a folder of shards of self-play, with their advantages. Raises ValueError as
    `ShardSource` does, or if the shards are not of these weights' self-play or have no validation split."""

    def __init__(self, config: TrainConfig, devices: Devices) -> None:
        assert config.init is not None, "checked before"
        out = Path(config.run.out)
        self.played_by = out / INIT_NAME if holds_run(out) else weights_file(config.init)
        played = PlayedDecisions(config.policy, str(self.played_by))
        super().__init__(
            config.data,
            config.run.seed,
            varlen=devices.use_varlen,
            behaviour=True,
            prepare=played.prepare,
        )
        self.behaviour = played.behaviour
        if not self.num_validation_rows:
            raise ValueError(
                f"{self.name}: no validation split, on which policy.kl_limit is measured: kanachan-selfplay "
                "--fractions 0.9,0.1,0 makes one"
            )

    @torch.no_grad()
    def difference_of(self, policy: TemperedNetwork) -> float:
        """Computes the mean absolute difference, in nats, between the policy's log probabilities of some actions and
        the recorded ones."""
        shards = self._shards["train"]
        columns = shards.gather(spread_rows(len(shards), _MOST_COMPARED))
        assert columns.log_probability is not None
        drawn_B = torch.from_numpy(columns.log_probability)
        batch = batch_of_columns(columns, shards.vocabulary)
        log_BA = Behaviour(1.0, self.behaviour.explore).log_probabilities(policy(batch))
        return float((of_actions(log_BA, batch.chosen_B) - drawn_B).abs().mean())
