"""Games of self-play as shards: the rows of each, a folder that collects them, and their publication.

Games may arrive in any order. The folder holds them in chunks, each of which appears complete or not at all, so that
an interrupted run has lost only the games that were not in a chunk yet. Rows are sorted by keys in the end, so that
the shards depend on the games alone.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from annotate.annotation import Annotation
from annotate.game.results import GameSummary
from annotate.runtime.files import locking, replacing
from annotate.vocabulary import Vocabulary
from kanachan.config import SPLITS
from kanachan.data.columns import columns_of_played
from kanachan.data.external_sort import Merge, Runs, encode_game, keyed_schema
from kanachan.data.pack_options import Packing, Tally, require_folder
from kanachan.data.shard_file import FORMAT_VERSION
from kanachan.data.shard_folder import ROUNDS, names_in, require_no_shards
from kanachan.data.shards import publish_shards
from kanachan.data.work_folder import LOCK, clear_work, remove_work

_TEMPORARY = ".kanachan-selfplay.part"
_SETTINGS, _CHUNK, _GAMES = "settings.json", "chunk-", "games.json"
_SECONDS_BETWEEN_CHUNKS = 20.0
_MOST_BYTES_WAITING = 64 << 20
RESTART = "--restart discards what it has done and starts from scratch"


class PlayedGame(NamedTuple):
    """A game of self-play as rows, or the reason why there are none."""

    rows: bytes
    """as `encode_played` encodes them; empty if there are none"""
    failure: str | None = None


def encode_played(
    annotations: Sequence[Annotation],
    summary: GameSummary,
    log_probability: Sequence[float | None],
    value: Sequence[float | None],
    seed: int,
    vocabulary: Vocabulary,
) -> bytes:
    """Encodes the decisions of a game, with hidden field, and its rounds (`kanachan.data.external_sort.encode_game`);
    `seed`: of the order of rows."""
    if not annotations:
        return b""
    columns = columns_of_played(annotations, log_probability, value, vocabulary)
    return encode_game(columns, summary, seed, vocabulary)


@dataclass
class _Chunk:
    games: dict[int, PlayedGame] = field(default_factory=dict)
    num_bytes: int = 0
    since: float = field(default_factory=time.monotonic)


class PlayedGames:
    """The games of a run of self-play, numbered from 0, in a folder of shards that are not published yet. `settings`
    are JSON values, all that the games depend on; `description` is for the shards."""

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
        self._packing, self._vocabulary, self._description = packing, vocabulary, description
        self._settings = {
            **settings,
            "vocabulary": vocabulary.name,
            "fractions": list(packing.fractions),
            "rows per shard": packing.rows_per_shard,
            "version": version("kanachan"),
            "format": FORMAT_VERSION,
        }
        self._temporary = folder / _TEMPORARY
        self._chunk = _Chunk()
        self.failures: dict[int, str] = {}
        """why games are missing, by their numbers"""
        self.held: set[int] = set()
        """the numbers of the games that are in the folder"""

    @contextmanager
    def opened(self, *, force: bool = False, restart: bool = False) -> Iterator[None]:
        """Prepares the folder, and finds the games of an interrupted run, which `restart` discards; in the end writes
        the games that wait. Raises ValueError if there are shards, unless `force` replaces them, or an interrupted run
        had other settings, or another process is at work on the folder."""
        require_folder(self.folder / ROUNDS)
        is_resumed = (self._temporary / _SETTINGS).exists() and not restart
        if not force and not is_resumed:
            require_no_shards(self.folder)
        was_there = self.folder.exists()
        self._temporary.mkdir(parents=True, exist_ok=True)
        with locking(self._temporary / LOCK, f"{self.folder}: another process plays into this folder"):
            if is_resumed:
                self._check_settings()
            else:
                clear_work(self._temporary)
                with replacing(self._temporary / _SETTINGS) as path:
                    path.write_text(json.dumps({**self._settings, "games": self.num_games}), encoding="utf-8")
            self._find_chunks()
            try:
                yield
            finally:
                with suppress(OSError):  # which is raised already, if the disk is full
                    self.write()
                self._close(was_there)

    def _check_settings(self) -> None:
        path = self._temporary / _SETTINGS
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
            num_games = before.pop("games")
        except (ValueError, LookupError) as error:
            raise ValueError(f"{path}: damaged ({error}); {RESTART}") from None
        now = json.loads(json.dumps(self._settings))
        differing = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if num_games > self.num_games:
            differing, before["games"], now["games"] = ["games", *differing], num_games, self.num_games
        if differing:
            name = differing[0]
            raise ValueError(
                f"{self.folder}: an interrupted run had other settings ({name}: {before.get(name)}, now "
                f"{now.get(name)}): repeat the command that started it to resume it; {RESTART}"
            )

    def _find_chunks(self) -> None:
        self._runs = Runs(self._temporary, self._packing.rows_per_shard)
        for path in sorted(self._temporary.iterdir()):
            if path.name.startswith(_CHUNK) and (path / _GAMES).exists():
                self._add_chunk(path)
            elif path.is_dir():
                shutil.rmtree(path)
            elif path.name not in (_SETTINGS, LOCK):
                path.unlink()

    def _add_chunk(self, path: Path) -> None:
        try:
            content = json.loads((path / _GAMES).read_text(encoding="utf-8"))
            numbers, failures = set(content["games"]), {int(n): text for n, text in content["failures"].items()}
            self._runs.add_files(content["runs"], f"{path.name}/")
        except (ValueError, LookupError) as error:
            raise ValueError(f"{path / _GAMES}: damaged ({error}); {RESTART}") from None
        assert not numbers & self.held, path
        self.held |= numbers
        self.failures |= failures

    @property
    def missing(self) -> list[int]:
        """The numbers of the games that are not in the folder."""
        return [number for number in range(self.num_games) if number not in self.held]

    @property
    def is_empty(self) -> bool:
        """Whether no game has been added, in this run or before."""
        return not self.held and not self._chunk.games

    @property
    def num_decisions(self) -> int:
        """How many decisions are in the folder."""
        return self._runs.rows.total()

    def add(self, number: int, game: PlayedGame) -> None:
        """Adds a game, which is written with others a little later."""
        self._chunk.games[number] = game
        self._chunk.num_bytes += len(game.rows)
        is_late = time.monotonic() - self._chunk.since > _SECONDS_BETWEEN_CHUNKS
        if is_late or self._chunk.num_bytes > _MOST_BYTES_WAITING:
            self.write()

    def write(self) -> None:
        """Writes the games that wait, as a chunk; after an OSError, as on a full disk, they wait on."""
        games = self._chunk.games
        if not games:
            return
        path = self._temporary / f"{_CHUNK}{min(games):08}"
        part = path.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        made = keyed_schema(self._vocabulary, hidden=True, behaviour=True)
        with closing(Runs(part, rows_per_run=self._packing.rows_per_shard)) as runs:
            for number in sorted(games):
                if games[number].rows:
                    runs.add_game(games[number].rows, made, self._packing.fractions, self._vocabulary)
            runs.flush()
        content = {
            "games": sorted(games),
            "failures": {number: game.failure for number, game in games.items() if game.failure is not None},
            "runs": runs.as_json(),
        }
        with replacing(part / _GAMES) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")
        part.rename(path)
        self._chunk = _Chunk()
        self._add_chunk(path)

    def publish(self) -> Tally:
        """Makes shards of all games, moves them into the folder, and removes everything else of the run."""
        self.write()
        assert not self.missing
        games = self._runs.games
        self._runs.games = Counter({split: games[split] for split in SPLITS if games[split]})  # in a fixed order
        merge = Merge(self._runs, self._vocabulary, self._packing)
        settings = {**self._settings, "games": self.num_games, "failures": len(self.failures)}
        fractions, more = list(self._packing.fractions), {"self_play": settings}
        new = merge.write(self._temporary, [self._description], fractions, more)
        publish_shards(self._temporary, new, names_in(self.folder), self.folder)
        # without its settings the run counts as ended
        (self._temporary / _SETTINGS).unlink()
        clear_work(self._temporary)
        return merge.tally

    def _close(self, was_there: bool) -> None:
        """Removes the temporary folder if nothing is to be resumed, and the folder too if it is new and empty."""
        if self.is_empty or not (self._temporary / _SETTINGS).exists():
            remove_work(self._temporary, was_there=was_there)
