"""Benchmark of records to shards, in decision points a second, next to the rules engine alone on the same rounds.

Measures the given records and games simulated between rule-based agents.
"""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from estimates import Estimate, in_turns

import annotate.game.engine.table
from annotate.records.reading import Record, find_records, read_record
from annotate.replay.replay import annotate_game
from annotate.runtime.workers import num_cores
from annotate.simulation.simulate import simulate
from kanachan.cli.annotate import main as annotate_command

SIMULATED = "simulated, mjai"


class _RecordingEnv:
    """The engine with a list of all calls, so that they can be repeated without the rest of the program."""

    rounds: list[tuple[dict[str, Any], dict[str, Any], list[Any]]] = []

    def __init__(self, **settings: Any) -> None:
        object.__setattr__(self, "_env", _ENGINE(**settings))
        object.__setattr__(self, "_settings", settings)

    def reset(self, **start: Any) -> Any:
        object.__setattr__(self, "_steps", [])
        self.rounds.append((self._settings, start, self._steps))
        return self._env.reset(**start)

    def step(self, actions: Any) -> Any:
        self._steps.append(actions)
        return self._env.step(actions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._env, name, value)


_ENGINE = annotate.game.engine.table.RiichiEnv


def simulated_games(number: int, folder: Path) -> list[str]:
    """Simulates games of rule-based agents as mjai JSON lines and returns their files.

    Raises:
        ValueError: the games could not be simulated.
    """
    if simulate(["-n", str(number), "--seed", "1", "-o", str(folder)]):
        raise ValueError("the games could not be simulated")
    return find_records([str(folder)])


def measure_annotating(files: list[str], kind: str, repeats: int, work: Path) -> list[Estimate]:
    """Measures decision points a second: of `files`, and of simulated games where `files` are real ones."""
    estimates = [_measure(files, f"annotate ({kind})", repeats)]
    processes = num_cores()
    if processes > 1:
        one, all_cores = in_turns(_packing(files, 1), _packing(files, processes), repeats)
        estimates[0].more[f"times as quick on {processes} processes"] = one / all_cores
    if kind != SIMULATED:
        games = simulated_games(max(2, len(files) // 4), work / "simulated")
        estimates.append(_measure(games, f"annotate ({SIMULATED})", repeats))
    return estimates


def _measure(files: list[str], what: str, repeats: int) -> Estimate:
    num_decisions, step_alone = _engine_alone(files)
    ours, plain = in_turns(_packing(files, 1), step_alone, repeats)
    return Estimate(
        part="annotate",
        what=f"{what}, to shards, one core",
        unit="decisions/s",
        ours=num_decisions / ours,
        plain="the engine alone, stepped through the same rounds with the same actions",
        plainly=num_decisions / plain,
        more={"games/s": len(files) / ours},
    )


def _packing(files: list[str], processes: int) -> Callable[[], None]:
    """Returns a function that runs the whole command, from files to shards."""

    def run() -> None:
        report = io.StringIO()
        with TemporaryDirectory() as folder, redirect_stderr(report), redirect_stdout(report):
            status = annotate_command([*files, "--pack", f"{folder}/shards", "--processes", str(processes)])
        assert status == 0, report.getvalue()

    return run


def _engine_alone(files: list[str]) -> tuple[int, Callable[[], None]]:
    """Returns the number of decision points in `files`, and a function that repeats only the engine's steps."""
    _RecordingEnv.rounds = rounds = []
    annotate.game.engine.table.RiichiEnv = _RecordingEnv
    try:
        games = [game for path in files for game in read_record(Record(path, 0))]
        num_decisions = sum(len(annotate_game(game).annotations) for game in games)
    finally:
        annotate.game.engine.table.RiichiEnv = _ENGINE

    def step_alone() -> None:
        for settings, start, steps in rounds:
            env = _ENGINE(**settings)
            env.reset(**start)
            for actions in steps:
                env.step(actions)

    return num_decisions, step_alone
