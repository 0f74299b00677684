"""Benchmark of kanachan-selfplay: games written to shards, next to the arena and to the engine alone."""

import itertools
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from estimates import Estimate, in_turns
from plain_engine import plain_engine
from playing import Choices, Recording, Repeating

from annotate.runtime.signals import StopRequest
from annotate.runtime.workers import num_cores
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.pack_options import Packing
from kanachan.data.played_games import PlayedGames
from kanachan.play.agent import GameKey, SeededSampler
from kanachan.play.agent_factory import make_agent
from kanachan.play.agent_spec import parse_agent
from kanachan.play.backends import BackendName
from kanachan.play.journal import Journal
from kanachan.play.match import PLAYERS, Match
from kanachan.play.match_games import match_games
from kanachan.play.match_runner import MatchRunner
from kanachan.play.roller import Roller
from kanachan.play.selfplay import SelfPlay
from kanachan.play.selfplay_run import Execution, run_selfplay
from kanachan.play.workers import ExecutionConfig

_PLAYER = "reference@0.7"
_SETTINGS = SelfPlay(vocabulary=FOUR_PLAYERS, players=(_PLAYER,), shares=(1.0,), style=0)
_MATCH = Match(players=(_PLAYER, _PLAYER), style=0)


@dataclass
class _Counts:
    """Decisions and games of the last run of each way to play."""

    decisions: dict[str, int] = field(default_factory=dict)
    games: dict[str, int] = field(default_factory=dict)


def measure_selfplay(num_games: int, repeats: int, work: Path) -> list[Estimate]:
    """Measures games of the shipped imitation written to shards, by back end and number of processes, next to the arena
    with as many processes. Of the first, the engine alone is measured too, with the choices of the arena's players
    read from a list. All are whole runs, with the start of the processes and the last games, whose batches are not
    full."""
    cores = num_cores()
    backends: list[tuple[BackendName, int]] = [("inline", 1)]
    backends += [("processes", cores)] if cores > 1 else []
    backends += [("ray", cores)] if find_spec("ray") else []
    return [_measure(name, workers, num_games, repeats, work) for name, workers in backends]


def _measure(backend: BackendName, workers: int, num_games: int, repeats: int, work: Path) -> Estimate:
    counts, numbers = _Counts(), itertools.count()
    folders = (work / f"selfplay-{backend}-{number}" for number in numbers)
    execution = Execution(backend=backend, workers=workers)
    written = partial(_write, execution, num_games, folders, counts)
    ours, plain = in_turns(written, partial(_play_match, workers, num_games, counts), repeats)
    speeds = {name: counts.decisions[name] / seconds for name, seconds in (("selfplay", ours), ("arena", plain))}
    more = {"games/s": counts.games["selfplay"] / ours, "arena games/s": counts.games["arena"] / plain}
    if backend == "inline":
        alone = partial(_repeat_choices, _choices(num_games), num_games, counts)
        seconds, _ = in_turns(alone, lambda: None, repeats)
        more["decisions/s of the engine alone"] = counts.decisions["engine"] / seconds
    return Estimate(
        part="selfplay",
        what=f"self-play to shards, {backend}, {workers} {'process' if workers == 1 else 'processes'}",
        unit="decisions/s",
        ours=speeds["selfplay"],
        plain=f"the arena, {workers} {'process' if workers == 1 else 'processes'}, which writes nothing",
        plainly=speeds["arena"],
        more=more,
    )


def _write(execution: Execution, num_games: int, folders: "itertools.Iterator[Path]", counts: _Counts) -> None:
    played = PlayedGames(next(folders), num_games, _SETTINGS.as_json(), "benchmark", Packing(), _SETTINGS.vocabulary)
    with played.opened():
        run_selfplay(Roller(selfplay=_SETTINGS), played, execution, lambda _: None, StopRequest())
        counts.decisions["selfplay"], counts.games["selfplay"] = played.num_decisions, num_games
        played.publish()


def _play_match(processes: int, num_games: int, counts: _Counts) -> None:
    runner = MatchRunner(_MATCH, num_games, Journal(None, _MATCH), ExecutionConfig(processes=processes))
    run = runner.run(lambda _: None, StopRequest())
    if run.error is not None:
        raise run.error
    counts.decisions["arena"], counts.games["arena"] = run.num_decisions, len(run.results)


def _choices(num_games: int) -> Choices:
    """Returns the choices of the network in some games of the match."""
    choices: Choices = {}
    spec = parse_agent(_PLAYER)
    players = {
        letter: Recording(make_agent(spec, SeededSampler(0, letter), FOUR_PLAYERS), choices) for letter in PLAYERS
    }
    _advance(players, num_games)
    return choices


def _repeat_choices(choices: Choices, num_games: int, counts: _Counts) -> None:
    players = {letter: Repeating(choices, None) for letter in PLAYERS}
    with plain_engine():
        _advance(players, num_games)
    counts.decisions["engine"] = sum(player.num_chosen for player in players.values())


def _advance(players: "dict[str, Recording] | dict[str, Repeating]", num_games: int) -> None:
    running = match_games(_MATCH, {**players})
    for number in range(num_games):
        running.begin(GameKey(*divmod(number, FOUR_PLAYERS.num_seats)))
    while len(running):
        running.advance()
