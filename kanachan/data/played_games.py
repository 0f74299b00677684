"""Games of self-play as shards: encodes the rows of each game, and collects them in a folder until all games are there.

Games may arrive in any order. Rows are sorted by keys at the end, so that the shards depend only on the games.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from annotate.runtime.journal import RESTART, Journal
from annotate.vocabulary import Vocabulary
from kanachan.config import SPLITS
from kanachan.data.pack_options import Packing, Tally
from kanachan.data.shard_folder import SELF_PLAY
from kanachan.data.shard_writer import ShardOutput
from kanachan.data.shards import OPTIONAL

_JOURNAL = ".kanachan-selfplay.part/journal"
_GAMES_FORMAT = 2
"""format of the walls of games and the columns of their rows; runs with another format are not resumed"""
_SHARE_BETWEEN_SAVES = 0.01
"""minimum time between saves, as a share of the run time so far"""


class PlayedGame(NamedTuple):
    """A game of self-play as rows, or the reason why it has none."""

    rows: bytes
    """rows encoded by `kanachan.data.shard_writer.encode_rows`; empty if there are none"""
    failure: str | None = None


class PlayedGames:
    """The games of a run of self-play, numbered from 0, in a folder of unpublished shards. `settings`: JSON values of
    everything that determines the games; `description`: text for the shards."""

    def __init__(
        self,
        folder: Path,
        num_games: int,
        settings: Mapping[str, Any],
        description: str,
        packing: Packing,
        vocabulary: Vocabulary,
    ) -> None:
        self.folder, self.num_games = folder, num_games
        self.packing, self._vocabulary, self._description = packing, vocabulary, description
        self._settings = {
            **settings,
            "vocabulary": vocabulary.name,
            "fractions": list(packing.fractions),
            "rows per shard": packing.rows_per_shard,
            "version": version("kanachan"),
            "format": _GAMES_FORMAT,
        }
        self.failures: dict[int, str] = {}
        """reasons why games have no rows, by the games' numbers"""
        self.held: set[int] = set()
        """numbers of the games in the folder"""
        self.num_decisions = 0
        """number of decisions in the folder"""
        self._new: dict[int, str | None] = {}
        """games that are not saved yet, by number, with their failure, if any"""
        self._saved: dict[str, Any] | None = None
        self._begun = time.monotonic()

    @contextmanager
    def opened(self, *, force: bool = False, restart: bool = False) -> Iterator[None]:
        """Prepares the folder and finds the games of an interrupted run, which `restart` discards; on exit saves the
        remaining games. Raises ValueError if there are shards (unless `force` replaces them), if an interrupted run had
        other settings, or if another process uses the folder."""
        self._output = ShardOutput(
            self.folder,
            _JOURNAL,
            self.packing,
            [self._description],
            self._vocabulary,
            optional=OPTIONAL,
            force=force,
            restart=restart,
        )
        journal = Journal(self._output.journal, self._settings, restart=restart)
        with closing(self._output), closing(journal) as self._journal:
            for entry in self._journal.entries():
                self._note({int(number): failure for number, failure in entry["games"].items()}, entry["output"])
            if self.held and max(self.held) >= self.num_games:
                raise ValueError(f"{self.folder}: an interrupted run has played more games (games); {RESTART}")
            self._output.begin(self._saved)
            try:
                yield
            finally:
                with suppress(OSError):  # already raised if the disk is full
                    self.write()
                if self.is_empty:
                    self._end()

    def _note(self, games: dict[int, str | None], saved: dict[str, Any]) -> None:
        self.held |= games.keys()
        self.failures |= {number: failure for number, failure in games.items() if failure is not None}
        self._saved, self.num_decisions = saved, sum(saved["rows"].values())

    def _end(self) -> None:
        self._journal.remove()
        self._output.discard()

    @property
    def missing(self) -> list[int]:
        """Numbers of the games that are not in the folder."""
        return [number for number in range(self.num_games) if number not in self.held]

    @property
    def is_empty(self) -> bool:
        """Whether no game has been added, in this run or before."""
        return not self.held and not self._new

    def add(self, number: int, game: PlayedGame) -> None:
        """Adds a game, which is saved a little later, together with others."""
        if not self._new:
            # each save takes longer than the one before: long runs save less often
            wait = max(ShardOutput.seconds_between_saves, _SHARE_BETWEEN_SAVES * (time.monotonic() - self._begun))
            self._next_save = time.monotonic() + wait
        try:
            self._output.write(game.rows)
        except OSError:  # rows could not be written; their games are played again
            self._new = {}
            raise
        self._new[number] = game.failure
        if time.monotonic() > self._next_save:
            self.write()

    def write(self) -> None:
        """Saves the games that are not saved yet. After an OSError, as on a full disk, they are played again."""
        new, self._new = self._new, {}
        if new:
            saved = self._output.save()
            self._journal.add({"games": new, "output": saved})
            self._note(new, saved)

    def publish(self) -> Tally:
        """Makes shards of all games, moves them into the folder, and removes all other files of the run."""
        self.write()
        assert not self.missing and self._saved is not None
        games = self._saved["games"]
        saved = {**self._saved, "games": {split: games[split] for split in SPLITS if games.get(split)}}  # in this order
        settings = {**self._settings, "games": self.num_games, "failures": len(self.failures)}
        tally = self._output.publish_shards(saved, {SELF_PLAY: [settings]})
        self._end()
        return tally
