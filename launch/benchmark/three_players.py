"""Benchmark of games of three players next to games of four: annotation, training and play, in decisions a second."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from estimates import Estimate, in_turns
from loading import batches_of
from training import STEPS, steps_of

from annotate.runtime.signals import StopRequest
from annotate.simulation.simulate import simulate
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.annotate import main as annotate_command
from kanachan.config import ModelConfig, ObjectiveConfig
from kanachan.data.shards import open_shards
from kanachan.models.reference import FIRST_STAGE, shipped_name
from kanachan.models.transformer import Network
from kanachan.objectives.networks import build_network
from kanachan.objectives.objective import Objective
from kanachan.play.journal import Journal
from kanachan.play.match import Format, Match
from kanachan.play.match_runner import MatchRunner
from kanachan.play.workers import ExecutionConfig
from kanachan.training.batch_sizes import DEFAULT_BATCH

_MICRO_BATCH = 64
_FORMATS: dict[int, Format] = {3: "1v2", 4: "1v3"}
_Counted = Callable[[], int]
"""does the work once and returns the number of decisions"""


@dataclass(frozen=True)
class _Games:
    """Simulated games of so many players, as records and as shards."""

    vocabulary: Vocabulary
    folder: Path

    @classmethod
    def simulated(cls, vocabulary: Vocabulary, number: int, work: Path) -> "_Games":
        games = cls(vocabulary, work / vocabulary.name)
        options = ["--players", str(vocabulary.num_seats), "--seed", "1", "-o", str(games.records)]
        habits = io.StringIO()
        with redirect_stderr(habits):
            status = simulate(["-n", str(number), *options])
        assert status == 0, habits.getvalue()
        games.pack(games.shards)
        return games

    @property
    def records(self) -> Path:
        return self.folder / "records"

    @property
    def shards(self) -> Path:
        return self.folder / "shards"

    @property
    def num_decisions(self) -> int:
        return len(open_shards(self.shards, "train"))

    def pack(self, shards: Path) -> None:
        """Writes the shards by the whole command, in one process."""
        report = io.StringIO()
        with redirect_stderr(report), redirect_stdout(report):
            command = [str(self.records), "--pack", str(shards), "--fractions", "1,0,0", "--processes", "1"]
            status = annotate_command(command)
        assert status == 0, report.getvalue()


def measure_three_players(model: ModelConfig, num_games: int, repeats: int, work: Path) -> list[Estimate]:
    """Measures games of three players against games of four, of the same sources in the same run: simulated games to
    shards, a training step on these, and games of the shipped imitations."""
    three, four = (_Games.simulated(vocabulary, num_games, work) for vocabulary in (THREE_PLAYERS, FOUR_PLAYERS))
    parameters = f"{sum(p.numel() for p in _network(model, THREE_PLAYERS)[0].parameters()):,} parameters"
    return [
        _measure("annotate (simulated, mjai), to shards", _annotating(three), _annotating(four), repeats),
        _measure(f"train, {parameters}", _training(three, model), _training(four, model), repeats),
        _measure("play, the shipped imitations", _playing(three, num_games), _playing(four, num_games), repeats),
    ]


def _measure(what: str, three: _Counted, four: _Counted, repeats: int) -> Estimate:
    num_three, num_four = three(), four()
    ours, plain = in_turns(three, four, repeats)
    return Estimate(
        part="three",
        what=f"three players: {what}",
        unit="decisions/s",
        ours=num_three / ours,
        plain="the same with four players",
        plainly=num_four / plain,
    )


def _annotating(games: _Games) -> _Counted:
    numbers = count()

    def annotate() -> int:
        games.pack(games.folder / f"again-{next(numbers)}")
        return games.num_decisions

    return annotate


def _network(model: ModelConfig, vocabulary: Vocabulary) -> tuple[Network, Objective]:
    return build_network("imitation", model, ObjectiveConfig(), vocabulary)


def _training(games: _Games, model: ModelConfig) -> _Counted:
    network, objective = _network(model, games.vocabulary)
    batch = DEFAULT_BATCH
    losses = (
        objective.loss(network(micro), micro)["loss"] * _MICRO_BATCH / batch
        for micro in batches_of(games.shards, batch, _MICRO_BATCH, actor_first=True)
    )
    train = steps_of(network, losses, batch // _MICRO_BATCH)

    def step() -> int:
        train()
        return STEPS * batch

    return step


def _playing(games: _Games, num_games: int) -> _Counted:
    player = shipped_name(FIRST_STAGE, games.vocabulary.num_seats)
    match = Match(players=(player, player), style=0, format=_FORMATS[games.vocabulary.num_seats])

    def play() -> int:
        runner = MatchRunner(match, num_games, Journal(None, match), ExecutionConfig(processes=1))
        run = runner.run(lambda _: None, StopRequest())
        if run.error is not None:
            raise run.error
        return run.num_decisions

    return play
