"""Benchmark of the replies of kanachan-bot, next to its network alone on the same decisions."""

import gzip
import json
import time
from pathlib import Path

import numpy as np
import torch
from estimates import Estimate, in_turns

from annotate.game.features import ObservationEncoder
from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM
from annotate.records.reading import Record, find_records, read_record
from annotate.replay.replay import annotate_game
from annotate.simulation.simulate import simulate
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import ModelConfig, ObjectiveConfig
from kanachan.inference.policy import NetworkPolicy
from kanachan.objectives.networks import build_network
from kanachan.play.mjai_bot import MjaiBot
from kanachan.play.mjai_server import Bot

_SEAT = 0
_STYLE = 1  # East and South


def measure_answering(model: ModelConfig, repeats: int, work: Path) -> Estimate:
    """Measures replies a second of a fresh network to one seat's decisions in a simulated game, line in, line out, in
    one thread; and the latency of a reply."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network, objective = build_network("imitation", model, ObjectiveConfig(), FOUR_PLAYERS)
    policy = NetworkPolicy(network, objective, actor_first=True)
    (path,) = _simulated(work)
    lines = gzip.decompress(Path(path).read_bytes()).decode().splitlines()
    (game,) = read_record(Record(path, 0))
    own = FOUR_PLAYERS.sparse["seat"].token(_SEAT)
    decisions = [a for a in annotate_game(game).annotations if own in a.sparse]
    milliseconds: list[float] = []

    def reply() -> None:
        writer = ObservationEncoder(FOUR_PLAYERS, DEFAULT_ROOM, _STYLE, (DEFAULT_GRADE,) * FOUR_PLAYERS.num_seats)
        bot = Bot(MjaiBot(policy, _SEAT, "mjsoul", writer))
        milliseconds.clear()
        for line in lines:
            start = time.perf_counter()
            reply_line = json.dumps(bot.answer(line))
            if '"meta"' in reply_line:
                milliseconds.append(1000 * (time.perf_counter() - start))

    def evaluate() -> None:
        for decision in decisions:
            policy.predictions([decision])

    ours, plain = in_turns(reply, evaluate, repeats)
    median, most, slowest = np.quantile(milliseconds, (0.5, 0.95, 1.0))
    num_parameters = sum(p.numel() for p in network.parameters())
    return Estimate(
        part="bot",
        what=f"reply to an mjai table, {num_parameters:,} parameters",
        unit="decisions/s",
        ours=len(milliseconds) / ours,
        plain="the network alone: the same situations as annotations, one by one",
        plainly=len(decisions) / plain,
        more={
            "ms an answer, median": float(median),
            "ms an answer, 95 of 100 take less": float(most),
            "ms an answer, slowest": float(slowest),
        },
    )


def _simulated(work: Path) -> list[str]:
    folder = work / "game"
    if simulate(["-n", "1", "--seed", "1", "-o", str(folder)]):
        raise ValueError("the game could not be simulated")
    return find_records([str(folder)])
