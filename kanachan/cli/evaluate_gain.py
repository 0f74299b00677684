"""kanachan-evaluate --gain: the gain of one policy over another, estimated from games that the other played."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from tqdm import tqdm

from annotate.runtime.json_output import plain, write_json
from kanachan.cli.options import check_json_option, given_option, parse_points, print_report
from kanachan.data.shard_folder import SELF_PLAY, shards_of
from kanachan.models.card import vocabulary_of
from kanachan.models.reference import shipped_name
from kanachan.objectives.stages import REWARD
from kanachan.policy_config import RANK_POINTS, UtilityKind, rank_points

if TYPE_CHECKING:
    from kanachan.evaluation.verdicts import GainVerdict
    from kanachan.reinforcement.gain import Gain, SeatRounds
    from kanachan.reinforcement.learner_seats import LearnerSeats
    from kanachan.reinforcement.returns import Utility

FORMAT_VERSION = 1
DESCRIPTION = """With --gain NEW OLD SHARDS: the gain per game of one seat that plays NEW instead of OLD, estimated
from self-play of OLD at a temperature (kanachan-selfplay). Each round is weighted by how much more probable its actions
are under NEW."""
_OPTIONS = ("utility", "points", "reward")
OF_DECISIONS = ("predictions", "limit", "compare", "baseline", "unseen")
"""options that have an effect only on metrics of decisions"""


def add_gain_options(parser: argparse.ArgumentParser) -> None:
    """Adds --gain and its options."""
    group = parser.add_argument_group("gain of a policy, from self-play of another policy")
    group.add_argument("--gain", action="store_true", help="WEIGHTS are NEW OLD; SHARDS are self-play of OLD")
    group.add_argument(
        "--utility",
        choices=get_args(UtilityKind),
        help="value of a game: points of the final rank, or grading points (default: ranks)",
    )
    group.add_argument(
        "--points",
        metavar="P,P,P[,P]",
        type=parse_points,
        help="points of each rank, with --utility ranks, such as 90,45,0,-135 (default: "
        f"{_listed(RANK_POINTS)}, for three players {_listed(rank_points(3))})",
    )
    group.add_argument(
        "--reward",
        metavar="WEIGHTS",
        help="reward predictor; the difference of its predictions after and before a round is the round's return "
        f"(default: {shipped_name(REWARD, 4)})",
    )


def _listed(points: tuple[float, ...]) -> str:
    return ",".join(f"{each:g}" for each in points)


def check_gain_options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Exits with an error of the parser if the options contradict each other."""
    if not arguments.gain:
        for name in _OPTIONS:
            if getattr(arguments, name) is not None:
                parser.error(f"--{name} needs --gain")
        return
    if len(arguments.weights) != 2:
        parser.error("--gain needs two WEIGHTS, NEW and OLD, and SHARDS behind them")
    option = given_option(arguments, OF_DECISIONS)
    if option is not None:
        parser.error(f"{option} does not go with --gain")


def evaluate_gain(arguments: argparse.Namespace) -> None:
    """Estimates the gain, prints it, and writes it to the file of --json."""
    new, old = arguments.weights
    shards_of(arguments.shards, arguments.split)
    check_json_option(arguments)
    # Heavy imports come only now, after the arguments have been found valid.
    from kanachan.data.shards import open_shards
    from kanachan.evaluation.verdicts import GainVerdict, verdict_on_gain
    from kanachan.reinforcement.gain import TooFar, gain_of
    from kanachan.reinforcement.learner_seats import LearnerSeats

    num_seats = vocabulary_of(arguments.weights[0]).num_seats
    utility, reward = _utility(arguments, num_seats), arguments.reward or shipped_name(REWARD, num_seats)
    shards = open_shards(arguments.shards, arguments.split, verify=True, behaviour=True)
    seats = LearnerSeats(shards, old)
    header = {
        "format_version": FORMAT_VERSION,
        "shards": arguments.shards,
        "split": arguments.split,
        "fingerprint": shards.vocabulary.fingerprint,
        "bootstrap": arguments.bootstrap,
        "new": new,
        "old": old,
        "player": seats.player,
        "temperature": seats.behaviour.temperature,
        "explore": seats.behaviour.explore,
        "utility": vars(utility),
        "unit": utility.unit,
        "reward": reward,
    }
    try:
        rounds = _measured(seats, utility, reward, arguments)
    except TooFar as error:
        # for programs that then try smaller steps
        if arguments.json is not None:
            verdict = GainVerdict("too_far", False, str(error))
            write_json(Path(arguments.json), plain({**header, "gain": None, "verdict": verdict._asdict()}))
        raise
    gain = gain_of(rounds, arguments.bootstrap)
    verdict = verdict_on_gain(gain.gain, utility.unit, gain.games)
    # for programs that choose a policy by the games of one half, and report its gain in the other half
    halves = dict(zip(("choosing", "reporting"), rounds.halves(), strict=True))
    in_halves = {name: _of_half(half, arguments.bootstrap) for name, half in halves.items()}
    text = _report(gain, verdict, utility.unit, seats, arguments)
    print_report(text, arguments.json, plain({**header, **vars(gain), "verdict": verdict._asdict(), **in_halves}))


def _of_half(rounds: "SeatRounds", replicates: int) -> dict[str, Any] | None:
    """Estimates the gain from half of the games; returns None if the half is empty."""
    from kanachan.reinforcement.gain import gain_of

    if not len(rounds.game_R):
        return None
    gain = gain_of(rounds, replicates)
    return {"gain": gain.gain, "games": gain.games}


def _utility(arguments: argparse.Namespace, num_seats: int) -> "Utility":
    """Reads the options. Raises ValueError if they contradict each other."""
    from kanachan.reinforcement.returns import Utility

    utility = Utility(arguments.utility or "ranks", arguments.points or rank_points(num_seats))
    if arguments.points is not None and utility.kind != "ranks":
        raise ValueError(f"--points has no effect with --utility {utility.kind}; leave it out")
    return utility


def _measured(seats: "LearnerSeats", utility: "Utility", reward: str, arguments: argparse.Namespace) -> "SeatRounds":
    from kanachan.data.round_shards import open_rounds
    from kanachan.inference.policy import Policy
    from kanachan.inference.reward_predictor import RewardPredictor
    from kanachan.models.device import chosen_device
    from kanachan.reinforcement.gain import GainMeter, TooFar
    from kanachan.reinforcement.returns import RoundReturns

    shards, device = seats.shards, chosen_device(arguments.device)
    new, old = (Policy.load(path, device) for path in arguments.weights)
    _require_unseen(arguments.weights[0], new.card, seats)
    for path, policy in zip(arguments.weights, (new, old), strict=True):
        shards.require(policy.vocabulary, path)
    predictor = RewardPredictor.load(reward)
    shards.require(predictor.vocabulary, "the returns")
    rounds = open_rounds(shards.folder, shards.split, verify=True)
    of_rounds = RoundReturns(rounds, predictor, utility)
    meter = GainMeter(new, old, seats.behaviour, of_rounds.of)
    with tqdm(total=len(shards), unit="decision", unit_scale=True, disable=None) as bar:
        try:
            return meter.measure_all(shards, seats.are_of, bar.update)
        except ValueError as error:
            names = f"{arguments.weights[0]} against {arguments.weights[1]}"
            kind = TooFar if isinstance(error, TooFar) else ValueError
            raise kind(f"{names}: {error} (played as {seats.circumstances})") from None


def _require_unseen(name: str, card: Mapping[str, Any], seats: "LearnerSeats") -> None:
    """Raises ValueError if the policy `name`, or one that it started from, has learned from the games used to estimate
    its gain: games of the same self-play in the train split, or in another split if the shares of the splits differ."""
    shards = seats.shards
    runs = [card.get("data", {}), *card.get("lineage", [])]
    learned = [settings for run in runs for settings in run.get(SELF_PLAY, [])]
    for run, made in zip(seats.runs, shards.made[SELF_PLAY], strict=True):
        same = [other for other in learned if all(other.get(key) == value for key, value in run.as_json().items())]
        if any(shards.split == "train" or other["fractions"] != made["fractions"] for other in same):
            raise ValueError(
                f"{shards.folder}: {name} has learned from games of its {shards.split} split, which therefore cannot "
                "measure its gain: give --split test of its training shards, or games of another --seed"
            )


def _report(
    gain: "Gain", verdict: "GainVerdict", unit: str, seats: "LearnerSeats", arguments: argparse.Namespace
) -> str:
    from kanachan.evaluation.tables import table, with_interval

    new, old = arguments.weights
    left_out = f", {gain.left_out:,} of them left out because their continuation is not known" if gain.left_out else ""
    heading = (
        f"{arguments.split} split of {arguments.shards}: {gain.games:,} games, {gain.seats:,} seats of {old}, "
        f"{gain.rounds:,} rounds of these{left_out}, {gain.decisions:,} decisions\n"
        f"{new} instead of {old} in one seat, both at temperature {seats.behaviour.temperature:g}"
        + (f", exploration {seats.behaviour.explore:g}" if seats.behaviour.explore else "")
        + f"\n[brackets]: 95 % intervals from {arguments.bootstrap:,} resamples of whole games"
    )
    size = f"{gain.effective_size:,.0f} of {gain.rounds:,} ({100 * gain.effective_size / gain.rounds:.1f} %)"
    rows = [
        [f"gain in {unit}, per game", with_interval(gain.gain, 4, sign="+")],
        ["mean divergence, nats per decision", with_interval(gain.divergence, 5)],
        ["mean weight of a round (1 up to chance)", with_interval(gain.mean_weight, 4)],
        ["effective number of rounds", size],
        ["probabilities recomputed, mean difference in nats", f"{gain.disagreement:.1e}"],
    ]
    return f"{heading}\n\n{verdict.sentence}\n\n{table(['', 'value'], rows)}"
