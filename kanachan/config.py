"""All settings of a training run, as frozen dataclasses; the string under a field is its help text.

Imports nothing heavy, so that `kanachan-train --help` and the checks of a configuration are fast.
"""

import math
from dataclasses import dataclass
from typing import Literal

from kanachan.policy_config import PolicyConfig, SelfPlayConfig, require, require_each

StageName = str  # one of kanachan.objectives.stages.trained_stages
SPLITS = ("train", "validation", "test")
PARTS = ("encoder", "decoder", "head", "summary_head")
"""parts of a network, by attribute name; the heads of auxiliary targets are a further part"""
WEIGHTS_NAME = "weights.safetensors"
"""weights file in the folder of a finished run"""
SIZES = ("width", "layers", "heads", "feedforward", "decoder_layers")
"""fields of ModelConfig that are sizes"""
_MOST_LAYERS = 1000
_MOST_WIDTH = 1 << 20
"""upper limits that catch typing errors before the network fills the memory"""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes of the network; with --init, the defaults are the sizes of its weights."""

    width: int = 128
    """width of the encoder and the decoder"""
    layers: int = 4
    """encoder blocks"""
    heads: int = 4
    """attention heads; must divide the width"""
    feedforward: int = 512
    """width of the feed-forward layers"""
    decoder_layers: int = 1
    """decoder blocks, in which the candidates attend to the situation and to each other"""
    dropout: float = 0.0
    """dropout rate, 0 to 1"""

    def __post_init__(self) -> None:
        require_each(self, "model", 1, *SIZES)
        for name in SIZES:
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
    """round_delta, rank, grading: weight of the loss of the value predicted from the summary token only"""
    teacher: str | None = None
    """imitation: weights of stage imitation or policy whose action probabilities are the targets instead of the actions
    taken (distillation); a small network can learn from a large one in this way"""
    teacher_share: float = 1.0
    """imitation: share of the teacher's loss, above 0, at most 1; the rest is the loss of the actions taken. With
    the same weights for --init and teacher, a small share keeps the network near them if there are few games"""
    rank_points: tuple[float, ...] = (90.0, 45.0, 0.0, -135.0)
    """rank: points of each rank; the score of an action is the expected points (for three players, configs/ sets
    [135,0,-135])"""
    prior: str | None = None
    """rank and grading: weights of a reward predictor (stage reward). The network then predicts the points of the
    round, and the reward predictor the outcome of the game for each number of points, from the scores and the round. It
    becomes part of the network's weights. The decoder and the points come from --init, best of stage round_delta"""
    target: Literal["game", "round"] = "game"
    """rank and grading: outcome that a decision is credited with: game, the outcome of the game; or round, the outcome
    that a reward predictor predicts after the round (after the last round, the true outcome). round needs shards with
    rounds, and is their default"""
    reward: str | None = None
    """rank and grading with target round: weights of the reward predictor; default: objective.prior"""
    hidden_hands: float = 0.0
    """stages of the curriculum: weight of an auxiliary target, the other players' hidden tiles; needs shards of
    annotations made with --hidden"""
    round_winner: float = 0.0
    """stages of the curriculum: weight of an auxiliary target, the winner of the round"""

    def __post_init__(self) -> None:
        require_each(self, "objective", None, "baseline")
        require_each(self, "objective", 0, "hidden_hands", "round_winner")
        require(
            self.target == "game" or not (self.prior is None and self.reward is None),
            "objective.target=round (rank, grading) needs a reward predictor: --objective.reward or --objective.prior",
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
    """Stage reward: the network that predicts how a game ends from its rounds."""

    width: int = 64
    """width of the layers"""
    layers: int = 2
    """number of layers"""

    def __post_init__(self) -> None:
        require_each(self, "reward", 1, "width", "layers")


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Shards, and sampling and batching of decisions."""

    path: str = ""
    """folder of shards (kanachan-annotate --pack, kanachan-selfplay, kanachan-pack); required without selfplay.games"""
    verify: bool = False
    """read all shards before training and verify their checksums; otherwise only the structure of shards is checked"""
    batch: int | None = None
    """decisions of an optimiser step, over all devices; default: 256 (reward: 32 games, policy: 4,096), rounded up to a
    number that the devices can share"""
    micro_batch: int | None = None
    """decisions in one forward pass on one device; must divide the batch. Default: the largest divisor up to a limit,
    on a CPU 64, on a GPU as many as fit into its memory for this network, at most 2,048"""
    validation_batch: int = 256
    """decisions in one forward pass of a validation"""
    neighbours: int = 8
    """number of consecutive decisions of one player in one round that are sampled as one unit, a power of two. The
    network encodes their common events only once; with 1, a batch has more different rounds (configs/ sets 1 for the
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
        """Batch and micro-batch of a run; both must have been chosen."""
        assert self.batch is not None and self.micro_batch is not None
        return self.batch, self.micro_batch


@dataclass(frozen=True, kw_only=True)
class OptimConfig:
    """AdamW, or Muon with AdamW; the learning rate rises linearly, is constant, and falls linearly to zero."""

    optimizer: Literal["adamw", "muon"] = "adamw"
    """muon: Muon for the matrices of encoder and decoder, at three times the learning rate, and AdamW for the rest; it
    learns more per step (configs/ sets it for imitation), but needs whole matrices in every process, so it does not
    work with zero1, zero2 or zero3"""
    learning_rate: float = 1e-3
    """peak learning rate"""
    encoder_learning_rate: float | None = None
    """peak learning rate of the encoder, if it differs from the decoder's (later stages)"""
    frozen: tuple[str, ...] = ()
    """parts of the network that are not trained, any of encoder, decoder, head and summary_head; [encoder,decoder,head]
    trains only the heads of auxiliary targets. Stage policy computes a frozen encoder once for all of its networks"""
    warmup: float | None = None
    """linear warm-up: number of optimiser steps or, below 1, share of all steps; null: 200 steps or an eighth of all
    steps, whichever is less"""
    cooldown: float = 0.2
    """linear cool-down of the learning rate to zero at the end of the run: share of the optimiser steps or, above 1,
    number of steps; 0 for none. A run that is trained further resumes from the checkpoint before the cool-down"""
    weight_decay: float = 0.05
    """decoupled weight decay of matrices, multiplied by their learning rate (embeddings, gains and biases have none)"""
    clip: float = 1.0
    """maximum norm of the gradient; 0 for no clipping"""
    average: float = 0.0
    """decay of an exponential moving average of the weights (EMA), for instance 0.999; the average is then validated
    and written; 0 for none. If the whole network is from --init, the average starts with it: after N steps it has the
    share of the decay to the power N"""

    def __post_init__(self) -> None:
        require(self.encoder_learning_rate != 0, "optim.encoder_learning_rate=0: give --optim.frozen [encoder] instead")
        require_each(self, "optim", None, "learning_rate", "encoder_learning_rate")
        require_each(self, "optim", 0, "weight_decay", "clip")
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
        """Returns the number of warm-up steps in a run of `total_steps` optimiser steps."""
        if self.warmup is None:
            return min(200, total_steps // 8)
        return round(self.warmup * total_steps) if self.warmup < 1 else int(self.warmup)

    def cooldown_start(self, total_steps: int) -> int:
        """Returns the number of steps before the cool-down in a run of `total_steps` optimiser steps."""
        cooldown = round(self.cooldown * total_steps) if self.cooldown <= 1 else int(self.cooldown)
        return max(0, total_steps - cooldown)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Length, devices and logging of a run."""

    out: str = "runs"
    """folder of this run, also -o or --output: checkpoints, weights, metrics.csv and the resolved configuration"""
    steps: int | None = None
    """optimiser steps; null: as many as `passes` epochs take"""
    passes: float | None = None
    """epochs over the training split, if run.steps is not given; null: 1, in round_delta, rank and grading 1/50 (one
    decision per round), but at least 100,000 decisions"""
    seed: int = 0
    """seed of initial weights, data order and dropout"""
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """type of device"""
    devices: int | None = None
    """processes per machine, one GPU each; default: as many as torchrun or Slurm has started, else one per GPU of this
    machine, or one process on a CPU"""
    strategy: Literal["auto", "plain", "ddp", "zero1", "zero2", "zero3"] = "auto"
    """how the processes share the work: ddp, or DeepSpeed's ZeRO, which shards the optimiser states (zero1), also the
    gradients (zero2), and the weights (zero3); auto is plain for one process, ddp if one GPU can hold all of them, else
    zero2, else zero3"""
    deepspeed: str | None = None
    """JSON file of DeepSpeed settings that override the defaults of zero1, zero2 or zero3"""
    precision: Literal["auto", "fp32", "tf32", "bf16"] = "auto"
    """precision of matrix products; weights are stored in fp32. auto is bf16 if the device has units for it, else fp32;
    tf32 is fp32 with 10 bits of mantissa, eight times as precise as bf16, on GPUs with units for it"""
    attention: Literal["auto", "padded", "packed"] = "auto"
    """attention over decisions of unequal length: padded to grids, or packed, that is concatenated, for the
    variable-length bf16 kernels of a GPU; auto is packed if these exist"""
    threads: int | None = None
    """CPU threads of matrix products; default: torch's choice"""
    compile: bool = False
    """compile the network with torch.compile: needs a C++ compiler, on a CPU also the headers of Python (python3-dev);
    takes a minute or more at the start"""
    recompute: bool = False
    """activation checkpointing: compute the encoder's blocks again in the backward pass instead of storing activations;
    a third more work for much less memory, with the same results"""
    log_every: int = 20
    """optimiser steps between two rows of the log"""
    validation_interval: int | None = None
    """training decisions (stage reward: games) between two validations; null: 1/40 of the run, but at least seven
    times the decisions of a validation, so that validations take at most 5 % of the time"""
    validate_batches: int | None = 40
    """batches of a validation, the same ones each time; null: the whole validation split"""
    checkpoint_minutes: float = 15.0
    """minutes between two checkpoints; 0 for one after every optimiser step. One is also written on a stop signal,
    before the cool-down and at the end of the run"""
    early_stopping: int | None = None
    """stop after this many validations without a lower validation loss, and write the weights of the best one;
    null: do not stop, and write the weights of the last step"""
    wandb: Literal["auto", "online", "offline", "disabled"] = "auto"
    """auto: online if an API key is configured, else offline (`wandb sync` uploads it later). The environment
    variables WANDB_PROJECT and WANDB_NAME replace the project kanachan and the name made of folder and stage"""
    group: str | None = None
    """wandb group of the run; default: the group of the --init run, so that the runs of a curriculum are together, else
    the folder"""
    tensorboard: bool = False
    """also write the metrics for TensorBoard into the run's folder"""

    def __post_init__(self) -> None:
        require(self.out != "", "run.out is empty: name a folder, as in --output runs/imitation")
        counts = ("steps", "threads", "validation_interval", "validate_batches", "early_stopping", "devices")
        require_each(self, "run", 1, "log_every", *counts)
        require_each(self, "run", 0, "checkpoint_minutes")
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
