"""Runs a match: plays the games that its journal lacks, and returns the results of all."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from annotate.game.record_writer import SUFFIX
from annotate.runtime.signals import StopRequest
from kanachan.play.agent import GameKey
from kanachan.play.game_results import result_of
from kanachan.play.journal import Journal
from kanachan.play.match import GameResult, Match, num_seatings
from kanachan.play.playing import Execution, GameStream, play_games


class MatchRun(NamedTuple):
    """The outcome of a run of a match."""

    results: list[GameResult]
    """of all games of the match that have ended, in the order of the games"""
    num_played: int
    """games that ended in this run; the others were in the journal"""
    num_decisions: int
    """decisions of the games that ended in this run"""
    seconds: float
    error: Exception | None
    """what ended the run before all games were played"""


class MatchRunner:
    """Plays the games of a match that its journal lacks.

    Args:
        num_games: rounded up to whole walls.
        journal: holds the results of earlier runs; new results are added.
    """

    def __init__(self, match: Match, num_games: int, journal: Journal, execution: Execution) -> None:
        self.match = match
        self.journal = journal
        self.execution = execution
        seatings = num_seatings(match.format)
        self.games = [GameKey(wall, s) for wall in range(-(-num_games // seatings)) for s in range(seatings)]
        """all games of the match, played or not"""

    @property
    def missing(self) -> list[GameKey]:
        """The games that are not in the journal yet."""
        return [game for game in self.games if game not in self.journal.results]

    @property
    def num_without_record(self) -> int:
        """How many games of the journal have no file in the folder for records; 0 without such a folder."""
        paths = map(self._record, self.journal.results)
        return sum(path is not None and not path.exists() for path in paths)

    def existing_record(self) -> Path | None:
        """Returns a record that exists of a game to be played, None if there is none."""
        paths = map(self._record, self.missing)
        return next((path for path in paths if path is not None and path.exists()), None)

    def _record(self, game: GameKey) -> Path | None:
        folder = self.execution.records
        return None if folder is None else folder / f"{self.match.game_id(game)}{SUFFIX}"

    def run(self, on_result: Callable[[GameResult], object], stop: StopRequest) -> MatchRun:
        """Plays the missing games until all have ended, a stop is requested or an error occurs; returns the error.

        Args:
            on_result: is called with the result of each game after the journal holds it.
        """
        missing, num_decisions, start = self.missing, 0, time.monotonic()
        stream = GameStream(series=self.match, finish=result_of, execution=self.execution)
        error: Exception | None = None
        try:
            with closing(play_games(stream, missing, stop)) as played:
                for _, result in played:
                    self.journal.add(result)
                    num_decisions += sum(result.decisions)
                    on_result(result)
        except Exception as caught:  # returned, so that the results until then are not lost
            error = caught
        ended = self.journal.results
        return MatchRun(
            results=[ended[game] for game in self.games if game in ended],
            num_played=sum(game in ended for game in missing),
            num_decisions=num_decisions,
            seconds=time.monotonic() - start,
            error=error,
        )
