"""All settings of a training run, as frozen dataclasses; the line under a field is its help text.

Imports nothing heavy: `kanachan-train --help` and the checks of a configuration must be fast.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

from kanachan.policy_config import PolicyConfig, SelfPlayConfig, require, require_each

StageName = str  # one of kanachan.objectives.stages.trained_stages
SPLITS = ("train", "validation", "test")
PARTS = ("encoder", "decoder", "head", "summary_head")
"""of a network, as its attributes; the heads of auxiliary targets are another one"""
WEIGHTS_NAME = "weights.safetensors"
"""file of the weights in the folder of a finished run"""
RETIRED: dict[str, Any] = {
    "model.relative_suits": True,
    "objective.conservative": 0.0,
    "reward.network": "round",
    "reward.last_leads": True,
    "reward.dropout": 0.0,
    "reward.grading": 0.3,
    "policy.critic": None,
    "policy.oracle": 0.0,
    "policy.oracle_decay": 0.75,
    "policy.oracle_limit": 2.0,
    "selfplay.critic": False,
}
"""settings of earlier versions that are in their runs and cards, and what they always are now"""
_MOST_LAYERS = 1000
_MOST_WIDTH = 1 << 20
"""beyond all sense, so that a slip of the finger is an error at once and does not fill the memory"""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes of the network; with --init those of its weights, unless they are given."""

    width: int = 128
    """width of the encoder and the decoder"""
    layers: int = 4
    """encoder blocks"""
    heads: int = 4
    """attention heads; must divide the width"""
    feedforward: int = 512
    """width of the feed-forward layers"""
    decoder_layers: int = 1
    """decoder blocks: the candidates attend to the situation and to each other"""
    dropout: float = 0.0
    """dropout rate, 0 to 1"""

    def __post_init__(self) -> None:
        sizes = ("width", "layers", "heads", "feedforward", "decoder_layers")
        require_each(self, "model", 1, *sizes)
        for name in sizes:
            most = _MOST_LAYERS if "layers" in name else _MOST_WIDTH
            require(getattr(self, name) <= most, f"model.{name} must be at most {most:,}, not {getattr(self, name)}")
        require(self.width % self.heads == 0, f"model.heads={self.heads} does not divide model.width={self.width}")
        require(0 <= self.dropout < 1, f"model.dropout must be in [0, 1), not {self.dropout}")
        head = self.width // self.heads
        require(
            head > 3,
            f"model.width={self.width} and model.heads={self.heads} give each head {head} numbers; it needs more than "
            "three, for the suits: give fewer heads or a larger width",
        )


MODEL_SIZES = {
    "tiny": ModelConfig(width=16, layers=2, heads=2, feedforward=32),
    "micro": ModelConfig(layers=1),
    "mini": ModelConfig(layers=2),
    "small": ModelConfig(),
    "base": ModelConfig(width=768, layers=12, heads=12, feedforward=3072, decoder_layers=2),
    "large": ModelConfig(width=1024, layers=24, heads=16, feedforward=4096, decoder_layers=2),
}


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """The loss of the stage; a setting that the stage does not use must keep its default."""

    baseline: float = 0.5
    """round_delta, rank, grading: weight of the loss of the value predicted from the summary token alone"""
    teacher: str | None = None
    """imitation: weights of imitation or policy whose probabilities of the actions are learned, in place of the actions
    taken (distillation): how a small network learns from a large one"""
    teacher_share: float = 1.0
    """imitation: share of the loss that is the teacher's, more than 0 to 1; the rest is that of the actions taken. A
    small one, with --init and the teacher of the same weights, holds a network near them that learns from few games"""
    keep_decoder: bool = False
    """round_delta, rank, grading: begin with the decoder of --init too, not with a new one: that of imitation knows
    which actions are likely, and the others are worse than it by what the outcomes of few games cannot teach"""
    rank_points: tuple[float, ...] = (90.0, 45.0, 0.0, -135.0)
    """rank: points of each rank; the score of an action is their expectation (of three players, configs/ sets
    [135,0,-135])"""
    prior: str | None = None
    """rank and grading: weights of a reward predictor (stage reward) whose log-probabilities are added
    to the outputs of the network: before the first step it predicts what the scores and the round alone predict. They
    become part of the weights"""
    target: Literal["game", "round"] = "game"
    """rank and grading: what a decision is credited with: the outcome of the game, or the outcome that a reward
    predictor expects after the round (of the last round: the true one); round, the default of shards with rounds,
    needs them"""
    reward: str | None = None
    """rank and grading with target round: weights of that reward predictor; without it, objective.prior"""
    hidden_hands: float = 0.0
    """all stages: weight of an auxiliary target, the tiles that the others hold; needs shards of annotations made
    with --hidden"""
    round_winner: float = 0.0
    """all stages: weight of an auxiliary target, the winner of the round"""

    def __post_init__(self) -> None:
        require_each(self, "objective", 0, "baseline", "hidden_hands", "round_winner")
        require(
            self.target == "game" or not (self.prior is None and self.reward is None),
            "objective.target=round needs a reward predictor: --objective.reward WEIGHTS, or --objective.prior WEIGHTS",
        )
        require(
            self.target == "round" or self.reward is None,
            f"objective.reward={self.reward} has no effect with objective.target={self.target}; remove it",
        )
        require(
            0 < self.teacher_share <= 1, f"objective.teacher_share must be more than 0 to 1, not {self.teacher_share}"
        )
        require(
            self.teacher is not None or self.teacher_share == 1,
            f"objective.teacher_share={self.teacher_share} has no effect without --objective.teacher WEIGHTS",
        )
        require(
            all(map(math.isfinite, self.rank_points)),
            f"objective.rank_points must be finite numbers, not {list(self.rank_points)}",
        )


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """Stage reward: the network that predicts, from the rounds of a game, how the game ends."""

    width: int = 64
    """width of the layers"""
    layers: int = 2
    """layers"""

    def __post_init__(self) -> None:
        require_each(self, "reward", 1, "width", "layers")


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The shards, and how decisions are sampled and batched."""

    path: str = ""
    """folder of shards (kanachan-annotate --pack, kanachan-selfplay, kanachan-pack); required without selfplay.games"""
    verify: bool = False
    """read all shards before training and compare them with their checksums; otherwise only their structure is
    checked"""
    batch: int | None = None
    """decisions of an optimiser step, over all devices; without it, 256 (reward 32 games, policy 4,096), or
    the next larger number that the devices can share"""
    micro_batch: int | None = None
    """decisions in one forward pass on one device; must divide the batch. Without it, the largest number that does: on
    a CPU up to 64, on a GPU as many as its memory holds of this network, up to 2,048"""
    validation_batch: int = 256
    """decisions in one forward pass of a validation"""
    actor_first: bool = True
    """seat canonicalisation: rotate the seats so that the actor is seat 0, and what is learned in one seat holds for
    all"""
    neighbours: int = 8
    """consecutive decisions of one player in one round that are sampled as one unit, a power of two: the network
    encodes the events that they share only once, but with 1 a batch has more different rounds (configs/ sets it for the
    later stages)"""

    def __post_init__(self) -> None:
        require_each(self, "data", 1, "batch", "micro_batch", "validation_batch")
        require(
            self.batch is None or self.micro_batch is None or self.batch % self.micro_batch == 0,
            f"data.micro_batch={self.micro_batch} does not divide data.batch={self.batch}",
        )
        require(
            1 <= self.neighbours <= 1024 and self.neighbours & (self.neighbours - 1) == 0,
            f"data.neighbours must be a power of two from 1 to 1024, not {self.neighbours}",
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Batch and micro-batch of a run, for which they have been chosen."""
        assert self.batch is not None and self.micro_batch is not None
        return self.batch, self.micro_batch


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """AdamW, or Muon with AdamW; the learning rate rises linearly, is constant, and falls linearly to zero."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """muon: Muon for the matrices of encoder and decoder, at three times the learning rate, and AdamW for the rest,
    which learns more in a step (configs/ sets it for imitation); it needs whole matrices in every process, so not with
    zero1, zero2 or zero3"""
    learning_rate: float = 1e-3
    """peak learning rate"""
    encoder_learning_rate: float | None = None
    """peak learning rate of the encoder, if it differs from the decoder's (later stages)"""
    frozen: tuple[str, ...] = ()
    """parts of the network that are not trained, of encoder, decoder, head and summary_head: [encoder,decoder,head]
    trains the heads of auxiliary targets alone"""
    warmup: float | None = None
    """linear warm-up: optimiser steps, or below 1 a share of all; without it, 200 steps or an eighth of all,
    whichever is less"""
    cooldown: float = 0.2
    """linear fall of the learning rate to zero at the end of the run: up to 1 a share of the optimiser steps, above 1 a
    number of them; 0 for none. A run that is trained further starts again from the checkpoint before the fall"""
    weight_decay: float = 0.05
    """decoupled weight decay of matrices, multiplied by their learning rate (embeddings, gains and biases have none)"""
    clip: float = 1.0
    """maximum norm of the gradient; 0 for no clipping"""
    average: float = 0.0
    """decay of an exponential moving average of the weights (EMA), for instance 0.999; the average is then validated
    and written; 0 for none"""

    def __post_init__(self) -> None:
        require_each(self, "optim", None, "learning_rate")
        require_each(self, "optim", 0, "encoder_learning_rate", "weight_decay", "clip")
        for part in self.frozen:
            require(part in PARTS, f"optim.frozen: {part} is none of the parts {', '.join(PARTS)}")
        require(
            self.warmup is None or 0 <= self.warmup < 1 or (self.warmup >= 1 and self.warmup % 1 == 0),
            f"optim.warmup must be a number of steps, or a share of all from 0 to 1, not {self.warmup}",
        )
        require(
            0 <= self.cooldown <= 1 or (self.cooldown > 1 and self.cooldown % 1 == 0),
            f"optim.cooldown must be a share of the steps from 0 to 1, or a number of steps, not {self.cooldown}",
        )
        require(0 <= self.average < 1, f"optim.average must be in [0, 1), not {self.average}")

    def warmup_steps(self, total_steps: int) -> int:
        """Returns the optimiser steps of the warm-up of a run of `total_steps`."""
        if self.warmup is None:
            return min(200, total_steps // 8)
        return round(self.warmup * total_steps) if self.warmup < 1 else int(self.warmup)

    def cooldown_start(self, total_steps: int) -> int:
        """Returns the optimiser steps of a run of `total_steps` before its cool-down."""
        cooldown = round(self.cooldown * total_steps) if self.cooldown <= 1 else int(self.cooldown)
        return max(0, total_steps - cooldown)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Length, devices and logging of a run."""

    out: str = "runs"
    """folder of this run, also as -o or --output: checkpoints, weights, metrics.csv, the resolved configuration"""
    steps: int | None = None
    """optimiser steps; without it, as many as `passes` epochs take"""
    passes: float | None = None
    """epochs of the training split, if no number of steps is given; without it, one, in round_delta, rank and grading a
    fiftieth (one decision of a round); at least as many as 100,000 decisions take"""
    seed: int = 0
    """seed of weights, order of the data, augmentation and dropout"""
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """type of device"""
    devices: int | None = None
    """processes on each machine, one GPU each; without it, as many as torchrun or Slurm has started, else all GPUs of
    this machine, or one process on a CPU"""
    strategy: Literal["auto", "plain", "ddp", "zero1", "zero2", "zero3"] = "auto"
    """how the processes share the work: ddp, or DeepSpeed's ZeRO, which shards the states of the optimiser (1), also
    the gradients (2) and also the weights (3); auto is ddp if one GPU can hold all of them, else zero2, else zero3"""
    deepspeed: str | None = None
    """JSON file of DeepSpeed settings that override those of zero1, zero2 or zero3"""
    precision: Literal["auto", "fp32", "tf32", "bf16", "bf16-residual"] = "auto"
    """of the products of matrices; weights are stored in fp32. auto is bf16 if the device has units for it, else fp32;
    tf32 is fp32 with 10 bits of the mantissa, eight times as exact as bf16, on GPUs with units for it; bf16-residual:
    the encoder's residual stream is in bf16 too, for run.compile on GPUs (not measured yet)"""
    attention: Literal["auto", "padded", "packed", "flex"] = "auto"
    """attention of decisions of unequal length: padded to grids, or packed, that is concatenated, for the
    variable-length kernels of a GPU in bf16; auto is packed where these exist. flex: packed, but by FlexAttention,
    which does not copy the events that decisions share (not measured yet)"""
    threads: int | None = None
    """CPU threads of the matrix products; without it, torch's choice"""
    compile: bool = False
    """compile the network with torch.compile: needs a C++ compiler, on a CPU also the headers of Python (python3-dev),
    and a minute or more at the start"""
    recompute: bool = False
    """activation checkpointing: compute the encoder's blocks again in the backward pass instead of storing activations:
    a third more work for much less memory, with the same results"""
    log_every: int = 20
    """optimiser steps between two rows of the log"""
    validation_interval: int | None = None
    """decisions (stage reward: games) trained on between two validations; without it, a fortieth of the run, but at
    least seven times as many as a validation has, so that validations take at most 5 % of the time"""
    validate_batches: int | None = 40
    """batches of a validation, the same ones each time; null: the whole validation split"""
    checkpoint_minutes: float = 15.0
    """minutes between two checkpoints; 0 for one after every optimiser step. A signal to stop, the cool-down and the
    end of the run have one as well"""
    early_stopping: int | None = None
    """stop after this many validations without a lower validation loss, and write the weights of the best one;
    without it, those of the last step"""
    wandb: Literal["auto", "online", "offline", "disabled"] = "auto"
    """auto: online if an API key is configured, else offline (`wandb sync` uploads it later). The variables
    WANDB_PROJECT and WANDB_NAME give another project than kanachan, and another name than the folder and the stage"""
    group: str | None = None
    """wandb group of the run; without it, that of the run which --init names, so that the runs of a curriculum are
    together, else the folder"""
    tensorboard: bool = False
    """write the metrics into the run's folder for TensorBoard as well"""
    profile: int = 0
    """optimiser steps, after the first five, that torch's profiler measures; it writes a table of operations and a
    trace into the run's folder; 0 for none"""

    def __post_init__(self) -> None:
        require(self.out != "", "run.out is empty: name a folder, as in --output runs/imitation")
        counts = ("steps", "threads", "validation_interval", "validate_batches", "early_stopping", "devices")
        require_each(self, "run", 1, "log_every", *counts)
        require_each(self, "run", 0, "checkpoint_minutes", "profile")
        require_each(self, "run", None, "passes")
        require(0 <= self.seed < 1 << 32, f"run.seed must be from 0 to {(1 << 32) - 1}, not {self.seed}")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """All settings of a run of one stage."""

    stage: StageName
    data: DataConfig
    model: ModelConfig = ModelConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optim: OptimConfig = OptimConfig()
    run: RunConfig = RunConfig()
    reward: RewardConfig = RewardConfig()
    policy: PolicyConfig = PolicyConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    init: str | None = None
