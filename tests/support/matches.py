"""Short matches of kanachan-arena, the files that they leave, the mjai program that takes part, and made-up results."""

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from annotate.game.record import Event
from kanachan.cli.arena import main
from kanachan.inference.choice import Action
from kanachan.play.agent import ActRequest, Agent, GameKey
from kanachan.play.match import Format, GameResult, num_seatings, players_by_seat
from tests.support.paths import PROGRAMS

SHORT = ["--style", "east", "--bootstrap", "50"]
_PROGRAM = PROGRAMS / "mjai_seat.py"
Requests = dict[tuple[GameKey, int, int], ActRequest]
"""by game, seat and number"""


class Watched:
    """A player whose requests and actions are recorded."""

    def __init__(self, player: Agent) -> None:
        self.player = player
        self.plays_forced, self.group = player.plays_forced, player.group
        self.requests: Requests = {}
        self.chosen: dict[tuple[GameKey, int, int], int] = {}

    def act(self, requests: Sequence[ActRequest]) -> list[Action]:
        actions = self.player.act(requests)
        for request, action in zip(requests, actions, strict=True):
            key = request.game, request.turn.seat, request.number
            self.requests[key], self.chosen[key] = request, action.token
        return actions

    def end(self, game: GameKey, seat: int, events: Sequence[Event]) -> None:
        self.player.end(game, seat, events)

    def close(self) -> None:
        self.player.close()


def arena(folder: Path, *options: str, players: Sequence[str] = ("rule:swift", "random"), games: int = 4) -> int:
    """Runs the command; its output goes into the folder."""
    arguments = [*players, "-n", str(games), *SHORT, "--json", str(folder / "result.json"), *options]
    if "--processes" not in options:
        arguments += ["--processes", "1"]
    return main(arguments)


def journal(folder: Path) -> list[Any]:
    """Returns the header of the journal, then the games in order."""
    header, *games = map(json.loads, (folder / "result.json.games").read_text().splitlines())
    return [header, *sorted(games, key=lambda game: (game["wall"], game["seating"]))]


def result_of(folder: Path) -> dict[str, Any]:
    """Returns the content of the file of --json."""
    return json.loads((folder / "result.json").read_text())


def left_of(session: int) -> list[str]:
    """Returns the processes of the arena's session, without zombies, and its programs."""
    listed = subprocess.run(["ps", "-wweo", "sess=,stat=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [a for s, stat, a in lines if "Z" not in stat and (s == str(session) or "mjai_seat.py" in a)]


def mjai(habit: str = "fair") -> str:
    """Returns the specification of the mjai program with one of its habits."""
    return f"mjai:{sys.executable} {_PROGRAM} {habit}"


def random_results(seed: int, walls: int = 30, format_: Format = "1v3") -> list[GameResult]:
    """Returns random results of games in which one A plays."""
    rng = np.random.default_rng(seed)
    results = []
    num_seats = num_seatings(format_)
    for wall, seating in product(range(walls), range(num_seats)):
        counts = {name: rng.integers(0, 4, num_seats).tolist() for name in ("wins", "deal_ins", "calls", "riichis")}
        results.append(
            GameResult(
                wall=wall,
                seating=seating,
                players="".join(players_by_seat(format_, GameKey(wall, seating))),
                ranks=rng.permutation(num_seats).tolist(),
                scores=[25_000] * num_seats,
                grading_deltas=rng.integers(-100, 100, num_seats).tolist(),
                rounds=int(rng.integers(4, 14)),
                draws=0,
                won_points=[1000 * wins for wins in counts["wins"]],
                decisions=[60] * num_seats,
                **counts,
            )
        )
    return results
