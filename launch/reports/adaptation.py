"""Compares a network that is adapted to the round that begins with the same network unadapted.

python launch/reports/adaptation.py WEIGHTS -n 100 --rollouts 1000 -o adaptation.json
python launch/reports/adaptation.py WEIGHTS --pool 1.json 2.json

Each deal is of a first round (East 1, 25,000 points each), seen from one of the seats. The network is adapted to what
this seat sees; then both play the same fresh deals, in which its hand is the same, in that seat: they take the actions
of the highest score, and three copies of the unadapted network sample theirs. The measure is the change of the seat's
score in the round.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from tqdm import tqdm

from annotate.game.deals import SeenDeal, wall_with
from annotate.game.record import Event, Rules
from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM, DEFAULT_RULES
from annotate.game.tiles import MJAI_NAMES
from annotate.runtime.json_output import write_json
from annotate.runtime.terminal import require_positive, run_cleanly
from annotate.vocabulary import Vocabulary
from kanachan.evaluation.bootstrap import FEWEST_GAMES, Estimate, ratio_estimates
from kanachan.inference.policy import NetworkPolicy, Policy, chosen_device
from kanachan.play.adaptation import AdaptationConfig, Adapter, seed_of
from kanachan.play.agent import Opening, SeededSampler
from kanachan.play.policy_agent import CachedPolicy, PolicyAgent
from kanachan.play.round_games import PlayedRound, play_rounds

_HELP = {
    "rollouts": "deals played to adapt to one",
    "temperature": "of the roll-outs, and of the other seats afterwards",
    "steps": "of policy gradient",
    "learning_rate": "of the steps",
    "points": "of expected return that are worth one nat of divergence from the unadapted policy in a round",
    "low_rank": "of what is added to the matrices",
    "seed": "of deals and roll-outs",
}
_FIRST: Event = {"type": "start_kyoku", "bakaze": "E", "kyoku": 1, "oya": 0, "honba": 0, "kyotaku": 0}
_SCORE = 25_000


@dataclass(frozen=True, slots=True)
class DealResult:
    """The adaptation to one deal, measured."""

    seat: int
    hand: tuple[int, ...]
    """the 13 tiles dealt, 0 ... 36"""
    differences: list[int]
    """by fresh deal: points of the adapted network less those of the unadapted one"""
    unadapted: list[int]
    """by fresh deal: the points of the unadapted network"""
    nats: float
    """mean divergence from the unadapted policy over the decisions of the roll-outs"""
    seconds: float
    """of the adaptation"""
    cpu_seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/adaptation.py",
        description="Adapts imitation weights to random deals (WEIGHTS!adapt=K of kanachan-arena) and compares them "
        "with the unadapted weights on fresh deals of the same hand.",
    )
    parser.add_argument("weights", help="weights of imitation, or reference")
    parser.add_argument("-n", "--deals", type=int, default=100, help="deals to adapt to (default: %(default)s)")
    parser.add_argument(
        "--tests", type=int, default=100, help="fresh deals of each hand, played by both (default: %(default)s)"
    )
    for field in fields(AdaptationConfig):
        name, default = field.name, 1000 if field.name == "rollouts" else field.default
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(default), default=default, help=f"{_HELP[name]} (default: %(default)s)")
    parser.add_argument("--rules", choices=get_args(Rules), default=DEFAULT_RULES, help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto (default: %(default)s)")
    parser.add_argument(
        "--pool",
        type=Path,
        nargs="+",
        metavar="JSON",
        help="results of earlier runs with the same settings and different seeds: summarises their deals together, and "
        "plays none",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="JSON", help="file for the results")
    arguments = parser.parse_args()
    require_positive(parser, arguments, "deals", "tests")
    return run_cleanly(parser.prog, lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> None:
    if arguments.pool is not None:
        results, settings = pooled(arguments.pool, arguments.weights)
    else:
        results, settings = _measured(arguments)
    summary = summarised(results)
    print(in_words(summary, settings))
    if arguments.output is not None:
        deals = [asdict(result) for result in results]
        write_json(arguments.output, {"settings": settings, "summary": summary, "deals": deals})


def pooled(paths: Sequence[Path], weights: str) -> tuple[list[DealResult], dict[str, Any]]:
    """Reads the deals of several results, and their settings, without the seed.

    Raises:
        ValueError: a file is something else, is of other weights or settings, or of the same seed as
            another one; names it.
    """
    results: list[DealResult] = []
    of_seed: dict[int, Path] = {}
    common: dict[str, Any] | None = None
    for path in paths:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            settings = dict(content["settings"])
            seed = settings.pop("seed")
            results += [DealResult(**deal) for deal in content["deals"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"--pool {path}: no result of this program: {error}") from None
        common = settings if common is None else common
        for name, value in {**common, "weights": weights}.items():
            if settings.get(name) != value:
                raise ValueError(f"--pool {path}: {name} is {settings.get(name)}, not {value}")
        if seed in of_seed:
            raise ValueError(f"--pool {path}: seed {seed}, as in {of_seed[seed]}: the same deals")
        of_seed[seed] = path
    assert common is not None
    return results, common


def _measured(arguments: argparse.Namespace) -> tuple[list[DealResult], dict[str, Any]]:
    config = AdaptationConfig(**{field.name: getattr(arguments, field.name) for field in fields(AdaptationConfig)})
    torch.set_num_threads(1)
    policy = Policy.load(arguments.weights, chosen_device(arguments.device))
    results = measure(policy, config, arguments.deals, arguments.tests, arguments.rules)
    return results, {"weights": arguments.weights, "rules": arguments.rules, "tests": arguments.tests, **asdict(config)}


def measure(
    policy: NetworkPolicy, config: AdaptationConfig, deals: int, tests: int, rules: Rules = DEFAULT_RULES
) -> list[DealResult]:
    """Adapts the policy to each of some deals and plays fresh deals of the same hand.

    Raises:
        ValueError: the weights have no probabilities.
    """
    adapter = Adapter(policy, config)
    return [
        _measure_deal(policy, adapter, *random_deal(policy.vocabulary, n, config, rules), tests)
        for n in tqdm(range(deals), unit="deal", disable=None)
    ]


def random_deal(
    vocabulary: Vocabulary, number: int, config: AdaptationConfig, rules: Rules
) -> tuple[Opening, SeenDeal]:
    """Returns the start of a first round, and what one of the seats sees of its deal."""
    wall = wall_with({}, vocabulary, random.Random(f"{config.seed}/{number}"))
    deal = SeenDeal.of_wall(wall, _FIRST["oya"], number % vocabulary.num_seats, vocabulary)
    scores, grades = [_SCORE] * vocabulary.num_seats, (DEFAULT_GRADE,) * vocabulary.num_seats
    start = {**_FIRST, "scores": scores, "dora_marker": MJAI_NAMES[deal.indicator]}
    return Opening(rules, 1, DEFAULT_ROOM, grades, start), deal


def _measure_deal(policy: NetworkPolicy, adapter: Adapter, opening: Opening, deal: SeenDeal, tests: int) -> DealResult:
    start, cpu_start = time.perf_counter(), time.process_time()
    adapted = adapter.adapt(opening, deal)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    seed = seed_of(opening, deal, adapter.config.seed)
    sampler = SeededSampler(seed, "tests")
    others = PolicyAgent(CachedPolicy([policy]), sampler, adapter.config.temperature)
    seats = tuple("A" if seat == deal.seat else "B" for seat in range(policy.vocabulary.num_seats))

    def played(own: NetworkPolicy) -> list[PlayedRound | None]:
        walls = deal.walls(tests, f"tests/{seed}", policy.vocabulary)
        players = {"A": PolicyAgent(CachedPolicy([own]), sampler), "B": others}
        return play_rounds(opening, walls, players, seats, policy.vocabulary)

    pairs = zip(played(adapter.adapted(adapted.additions)), played(policy), strict=True)
    deltas = [
        (ours.delta[deal.seat], its.delta[deal.seat]) for ours, its in pairs if ours is not None and its is not None
    ]
    return DealResult(
        seat=deal.seat,
        hand=deal.hand,
        differences=[ours - its for ours, its in deltas],
        unadapted=[its for _, its in deltas],
        nats=adapted.nats,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
    )


def summarised(results: list[DealResult]) -> dict[str, Any]:
    """Summarises the deals; intervals are 95 %, by resampling deals."""
    number_B = np.repeat(np.arange(len(results)), [len(result.differences) for result in results])
    difference_B = np.concatenate([result.differences for result in results]).astype(np.float64)
    sum_D = np.array([sum(result.differences) for result in results])
    decided_D = sum_D != 0
    of_deals: dict[str, Estimate] = {}
    if decided_D.any():
        columns = {"better": ((sum_D > 0).astype(np.float64), decided_D)}
        of_deals = ratio_estimates(np.arange(len(results)), columns)
    points = ratio_estimates(number_B, {"points": (difference_B, np.ones(len(difference_B), bool))})["points"]
    return {
        "deals": len(results),
        "better": int((sum_D > 0).sum()),
        "worse": int((sum_D < 0).sum()),
        "better_share": of_deals["better"][:3] if of_deals else None,
        "points": points[:3],
        "unadapted_points": float(np.mean(np.concatenate([result.unadapted for result in results]))),
        "rounds": len(difference_B),
        "different_rounds": int((difference_B != 0).sum()),
        "nats": float(np.mean([result.nats for result in results])),
        "seconds_per_adaptation": float(np.mean([result.seconds for result in results])),
        "cpu_seconds_per_adaptation": float(np.mean([result.cpu_seconds for result in results])),
    }


def in_words(summary: dict[str, Any], settings: dict[str, Any]) -> str:
    """Returns the summary as lines for people."""
    value, low, high = summary["points"]
    lines = [
        f"{settings['weights']}, {settings['rollouts']} roll-outs, {settings['steps']} steps: {summary['deals']} "
        f"deals, {summary['rounds']} pairs of rounds, of which {summary['different_rounds']} ended otherwise",
        f"points of the adapted network less the unadapted one's: {value:+.0f} [{low:.0f}, {high:.0f}] a round "
        f"(unadapted {summary['unadapted_points']:+.0f})",
        f"adapted better in {summary['better']} deals, worse in {summary['worse']}, the same in "
        f"{summary['deals'] - summary['better'] - summary['worse']}",
    ]
    if summary["better_share"] is not None:
        share, low, high = (100 * part for part in summary["better_share"])
        interval = f" [{low:.0f}, {high:.0f}]" if low < high else ""  # all alike tell nothing of the spread
        lines[-1] += f": better in {share:.0f} %{interval} of those that differ"
    lines.append(
        f"divergence {summary['nats']:.4f} nats a decision; {summary['seconds_per_adaptation']:.1f} s an adaptation "
        f"({summary['cpu_seconds_per_adaptation']:.1f} s of a core)"
    )
    if summary["deals"] < FEWEST_GAMES:
        lines.append("few deals: the intervals are not reliable")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
