"""Policy iteration: the policy plays games, a reward predictor is fitted to them, one pass over them changes the
policy a little, and a gate on held-out games decides how much of the change is taken.

The folder of the run:

    config.yaml, metrics.csv       settings; one row for each iteration
    iteration-000/games            self-play (kanachan-selfplay), in three splits: for learning, stopping, the gate
    iteration-000/reward           the run of the reward predictor (kanachan-train)
    iteration-000/update           the run of the policy pass (kanachan-train)
    iteration-000/gate             candidates and their gains (kanachan-evaluate --gain)
    iteration-000/policy.safetensors   the policy that plays in the next iteration
    weights.safetensors            the policy of the last iteration

Each phase is a command that can be resumed; so the run can be resumed wherever it was stopped or killed.
"""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from annotate.runtime.files import locking
from annotate.runtime.signals import StopRequest, noting_stop_signals
from kanachan.config import SPLITS, WEIGHTS_NAME, TrainConfig
from kanachan.data.dataset_card import README_NAME
from kanachan.data.shard_folder import splits_in
from kanachan.models.card import read_card, vocabulary_of, weights_hash
from kanachan.models.device import chosen_device
from kanachan.models.weights import CARD_NAME, interpolated, read_weights, write_card, write_weights
from kanachan.objectives.stages import require_scoring
from kanachan.play.agent_spec import parse_mixture
from kanachan.play.selfplay import SelfPlay
from kanachan.policy_config import SelfPlayConfig
from kanachan.reinforcement.phases import Phase, PhaseStopped, run_phase
from kanachan.reinforcement.policy_gate import Gate
from kanachan.training.batch_sizes import chosen_batch
from kanachan.training.compilation import require_compiler
from kanachan.training.devices import Devices, devices_of
from kanachan.training.initialization import initial_network
from kanachan.training.loggers import MetricsFile
from kanachan.training.metric_names import AXIS, METRICS_NAME
from kanachan.training.optimizers import freeze
from kanachan.training.processes import is_launched, this_rank
from kanachan.training.run_folder import CONFIG_NAME, ITERATION, save_config
from kanachan.training.strategies import strategy_of
from kanachan.training.wandb_run import finish_wandb, wandb_group, wandb_logger, wandb_mode

FRACTIONS = "0.7,0.1,0.2"
"""shares of the games: for the fits and the policy pass, for checking the divergence, and for the gate, whose share
determines the error of the gain"""
POLICY_NAME = "policy.safetensors"


class Iteration:
    """The phases of iteration `number`, from 0, as commands. `policy`: the weights that play and are improved."""

    def __init__(self, config: TrainConfig, number: int, policy: str) -> None:
        self.config = config
        self.number = number
        self.policy = policy
        self.folder = Path(config.run.out) / f"{ITERATION}{number:03}"
        self.games = self.folder / "games"
        self.update = self.folder / "update"
        self.result = self.folder / POLICY_NAME
        self.fits_reward = config.policy.reward is None
        self.reward = config.policy.reward or str(self.folder / "reward")
        self._seed = str(config.run.seed + number)

    def has_games(self) -> bool:
        return (self.games / README_NAME).is_file()  # which is written after all shards

    def fits(self) -> Iterator[tuple[str, Phase]]:
        """Yields the phases before the gate, by name."""
        yield "games", Phase("selfplay", self._selfplay(), self.has_games)
        if self.fits_reward:
            yield "reward", self._reward_fit()
        file, is_trained = self.folder / "update.yaml", (self.update / WEIGHTS_NAME).is_file
        save_config(self._update_config(), file)
        yield "update", Phase("train", ["--config", str(file), "--resume", "auto"], is_trained)

    def measuring(self, share: float) -> tuple[Phase, Path]:
        """Writes the weights of the candidate; returns the command that estimates the gain of a share of the update,
        and the file of its report."""
        candidate = self.candidate(share)
        report = candidate.with_suffix(".json")
        if not candidate.is_file():
            old, new = read_weights(self.policy), read_weights(self.update)
            candidate.parent.mkdir(exist_ok=True)
            # the metrics are of the whole update
            card = {key: value for key, value in new.card.items() if share == 1 or key != "metrics"}
            write_weights(candidate, interpolated(old, new, share), card)
        return Phase("evaluate", self._gain(share, report), report.is_file), report

    def candidate(self, share: float) -> Path:
        return self.folder / "gate" / f"share-{share:g}.safetensors"

    @property
    def players(self) -> list[str]:
        """The players of the games, with their shares of the seats."""
        selfplay = self.config.selfplay
        player = f"{self.policy}{':int8' if selfplay.int8 else ''}@{selfplay.temperature:g}"
        return [f"{player}={selfplay.share_of_policy:.9g}", *selfplay.opponents] if selfplay.opponents else [player]

    def _selfplay(self) -> list[str]:
        selfplay = self.config.selfplay
        options = ["-n", str(selfplay.games), "--explore", f"{selfplay.explore:g}"]
        options += ["--rules", selfplay.rules, "--style", selfplay.style]
        options += ["--seed", self._seed, "--fractions", FRACTIONS, "-o", str(self.games)]
        for name in ("backend", "address", "processes", "device"):
            value = getattr(selfplay, name)
            options += [] if value is None else [f"--{name}", str(value)]
        return [*self.players, *options]

    def _reward_fit(self) -> Phase:
        run = self.config.run
        command = ["--stage", "reward", "--data.path", str(self.games), "--run.seed", self._seed, "-o", self.reward]
        command += ["--resume", "auto", "--run.devices", "1"]  # the network is small
        for name in ("wandb", "group", "accelerator", "threads"):
            value = getattr(run, name)
            command += [] if value is None else [f"--run.{name}", str(value)]
        return Phase("train", command, (Path(self.reward) / WEIGHTS_NAME).is_file)

    def _update_config(self) -> TrainConfig:
        config = self.config
        return replace(
            config,
            init=self.policy,
            data=replace(config.data, path=str(self.games)),
            selfplay=SelfPlayConfig(),
            policy=replace(config.policy, reward=self.reward),
            run=replace(config.run, out=str(self.update), seed=int(self._seed)),
        )

    def _gain(self, share: float, report: Path) -> list[str]:
        policy = self.config.policy
        arguments = ["--gain", str(self.candidate(share)), self.policy, str(self.games)]
        arguments += ["--reward", self.reward, "--utility", policy.utility]
        if policy.utility == "ranks":  # with =, as the first number may be negative
            arguments.append("--points=" + ",".join(map(str, policy.points)))
        accelerator = self.config.run.accelerator
        arguments += [] if accelerator == "auto" else ["--device", "cuda" if accelerator == "gpu" else accelerator]
        return [*arguments, "--split", "test", "--json", str(report), "--force"]


def run_iterations(config: TrainConfig) -> int:
    """Runs the missing iterations of the folder; returns the exit status. Raises ValueError if this is one of several
    processes, the folder has more iterations, the games cannot be played or learned from, the devices cannot train with
    these settings, or there are too few games for all splits; OSError if something cannot be written, another process
    uses the folder, or a command failed."""
    policy = config.init
    assert policy is not None, "checked with the settings"
    devices = devices_of(config.run)
    world = devices.world
    if world.size > 1 and this_rank():
        return 1  # the first process reports the reason
    if world.size > 1 and is_launched():
        raise ValueError(
            f"{world.size} processes were started for iterations (--selfplay.games), which need one: run the command "
            "without torchrun or srun. Its trainings then use all GPUs of the machine, or as many as --run.devices "
            "gives; --selfplay.backend ray plays on several machines"
        )
    out = Path(config.run.out)
    num_done = _num_done(out, config.selfplay.iterations)
    if num_done < config.selfplay.iterations:
        # --init may be gone after the first iteration
        newest = policy if num_done == 0 else str(Iteration(config, num_done - 1, policy).result)
        if num_done + 1 < config.selfplay.iterations or not Iteration(config, num_done, newest).has_games():
            _require_games(config, newest)
        _require_update(replace(config, init=newest), devices)
    out.mkdir(parents=True, exist_ok=True)
    config = replace(config, run=replace(config.run, group=wandb_group(config, None)))
    refusal = f"{out}: another process is training in this folder"
    with locking(out / ".lock", refusal), noting_stop_signals() as stop:
        save_config(config, out / CONFIG_NAME)
        for number in range(config.selfplay.iterations):
            iteration = Iteration(config, number, policy)
            iteration.folder.mkdir(exist_ok=True)
            if not iteration.result.is_file():
                try:
                    _run(iteration, out, stop)
                except PhaseStopped as stopped:
                    print(f"{stopped}; resume with: kanachan-train --resume {out}", flush=True)
                    return 130 if stop.received == signal.SIGINT else 0
            policy = str(iteration.result)
        weights = read_weights(policy)
        write_card(out / CARD_NAME, weights.card)
        write_weights(out / WEIGHTS_NAME, weights.tensors, weights.card)
    print(f"weights: {out / WEIGHTS_NAME}", flush=True)
    return 0


def _require_games(config: TrainConfig, policy: str) -> None:
    """Raises ValueError, which names the setting, if the policy cannot play with these opponents on this device, or if
    the update could not learn from the games."""
    try:
        _require_opponents(config, policy)
    except ValueError as error:
        raise ValueError(f"selfplay.opponents: {error}") from None
    chosen_device(config.selfplay.device, option="selfplay.device")


def _require_opponents(config: TrainConfig, policy: str) -> None:
    """Raises ValueError if the policy cannot play with the opponents, or if one of them is the policy itself at another
    temperature, which no update can learn from."""
    selfplay, vocabulary = config.selfplay, vocabulary_of(policy)
    specs, shares = parse_mixture(Iteration(config, 0, policy).players)
    players = tuple(spec.text for spec in specs)
    SelfPlay(vocabulary=vocabulary, players=players, shares=shares, explore=selfplay.explore)
    for spec in specs[1:]:
        if not (path := spec.weights):
            continue
        require_scoring(read_card(path)["stage"], path)
        if (num_seats := vocabulary_of(path).num_seats) != vocabulary.num_seats:
            raise ValueError(f"{path} is for {num_seats} players, and {policy} for {vocabulary.num_seats}")
        if spec.temperature not in (None, selfplay.temperature) and weights_hash(path) == weights_hash(policy):
            raise ValueError(
                f"{spec.text} has the weights of the policy, which plays at the temperature "
                f"{selfplay.temperature:g} (selfplay.temperature): give it the same, or none"
            )


def _require_update(config: TrainConfig, devices: Devices) -> None:
    """Raises ValueError if the devices cannot train with these settings, which the updates would report after hours."""
    assert config.init is not None
    require_compiler(config.run, is_gpu=devices.is_gpu)
    data, _ = chosen_batch(config, devices, is_resumed=False)
    network = initial_network(config, vocabulary_of(config.init), inherits=True).network
    freeze(network, config.optim.frozen)
    strategy_of(replace(config, data=data), devices, sum(parameter.numel() for parameter in network.parameters()))


def _num_done(out: Path, iterations: int) -> int:
    """Returns the number of complete iterations; raises ValueError if there are more than the given number."""
    done = len(list(out.glob(f"{ITERATION}*/{POLICY_NAME}")))
    if done > iterations:
        raise ValueError(
            f"selfplay.iterations={iterations}: {out} has {done} iterations already; the policy of an earlier one is "
            f"{out / ITERATION}NNN/{POLICY_NAME}"
        )
    return done


def _run(iteration: Iteration, out: Path, stop: StopRequest) -> None:
    """Runs one iteration up to its policy."""
    log = iteration.folder / "commands.txt"
    is_resumed, seconds = log.exists(), Counter[str]()

    def run(name: str, phase: Phase) -> None:
        start = time.monotonic()
        run_phase(phase, log, stop)
        seconds[name] += time.monotonic() - start  # type: ignore[assignment]

    for name, phase in iteration.fits():
        _announce(iteration, name)
        run(name, phase)
        if name == "games":
            _require_splits(iteration)
    gate = Gate({})
    while (share := gate.next_share) is not None:
        _announce(iteration, f"gain of {share:.0%} of the update")
        phase, report = iteration.measuring(share)
        run("gate", phase)
        gate = Gate({**gate.reports, share: json.loads(report.read_text(encoding="utf-8"))})
    row = _row(iteration, gate, {} if is_resumed else seconds)
    _log(iteration, out, row)
    print(gate.in_words(), flush=True)
    _write_policy(iteration, gate, row)


def _require_splits(iteration: Iteration) -> None:
    for split in SPLITS:
        if split not in splits_in(iteration.games):
            raise ValueError(
                f"{iteration.games}: none of the {iteration.config.selfplay.games} games is in the {split} split: "
                "start another run with more games (--selfplay.games)"
            )


def _log(iteration: Iteration, out: Path, row: Mapping[str, float]) -> None:
    """Adds a row to metrics.csv and to wandb, where all runs of the iterations are one group."""
    config, step = iteration.config, iteration.number + 1
    MetricsFile(out / METRICS_NAME, step - 1, keeps_validation=True).log_metrics(row, step)
    mode = wandb_mode(config)
    if mode != "disabled":
        lineage = read_weights(iteration.update).card["lineage"]
        logger = wandb_logger(config, mode, {"path": str(iteration.games)}, lineage, is_resumed=step > 1)
        logger.log_metrics(row, step)
        finish_wandb([logger], [])


def _announce(iteration: Iteration, what: str) -> None:
    print(f"iteration {iteration.number + 1} of {iteration.config.selfplay.iterations}: {what}", flush=True)


def _row(iteration: Iteration, gate: Gate, seconds: Mapping[str, float]) -> dict[str, float]:
    """Returns the metrics of an iteration. `seconds`: durations of its phases; empty if they were interrupted."""
    whole = gate.measured.get(1.0)
    update = read_card(iteration.update)
    games = iteration.config.selfplay.games
    assert games is not None
    before = read_card(iteration.policy)["iterations"][-1]["metrics"][AXIS] if iteration.number else 0
    row = {
        AXIS: float(before + update["samples"]),
        "iteration/share_taken": gate.chosen or 0.0,
        "iteration/gain_taken": 0.0 if gate.gain is None else gate.gain["value"],
        **({"iteration/games_per_second": games / seconds["games"]} if "games" in seconds else {}),
        **{f"iteration/seconds_{name}": value for name, value in seconds.items()},
    }
    if whole is not None:
        row |= {
            "iteration/gain_of_update": whole["gain"]["value"],
            "iteration/gain_of_update_low": whole["gain"]["low"],
            "iteration/gain_of_update_high": whole["gain"]["high"],
            "iteration/divergence_of_update": whole["divergence"]["value"],
        }
    row |= {f"iteration/update_{name}": value for name, value in update["metrics"].items()}
    return row


def _write_policy(iteration: Iteration, gate: Gate, row: Mapping[str, float]) -> None:
    """Writes the weights that play in the next iteration; the file shows that the iteration is complete."""
    weights = read_weights(iteration.policy if gate.chosen is None else iteration.candidate(gate.chosen))
    # no times: the games of the next iteration depend on the hash of this file
    metrics = {name: value for name, value in row.items() if "second" not in name}
    unit = gate.reports[1.0]["unit"]
    entry = {"iteration": iteration.number, "share": gate.chosen, "unit": unit, "metrics": metrics}
    card = {**weights.card, "iterations": [*read_card(iteration.policy).get("iterations", []), entry]}
    write_weights(iteration.result, weights.tensors, card)
