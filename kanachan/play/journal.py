"""The journal of a match, from which an interrupted match is resumed."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from kanachan.play.agent import GameKey
from kanachan.play.match import GameResult, Match


class Journal:
    """The results of games that have ended, a line each, so that an interrupted run can be resumed.

    Args:
        path: None: results are not written to a file.
        force: replace the file of an earlier run, once a game has ended.

    Raises:
        ValueError: the file is there but neither `resume` nor `force` is given, is damaged, or is of another match.
    """

    def __init__(self, path: Path | None, match: Match, *, resume: bool = False, force: bool = False) -> None:
        self.path = path
        self.results: dict[GameKey, GameResult] = {}
        self._header = json.dumps({"arena": 3, **asdict(match)})
        content = path.read_bytes() if path is not None and path.exists() else b""
        # the game of a line that was cut off is played again
        whole = content[: content.rfind(b"\n") + 1]
        is_empty = whole.count(b"\n") < 2  # a header alone is of a run that ended before its first game
        if path is None or force or is_empty:
            return
        if not resume:
            raise ValueError(
                f"{path}: the games of an earlier run: continue them with --resume, or start from scratch with --force"
            )
        first, *lines = whole.decode(errors="replace").splitlines()
        self._check(first)
        for number, line in enumerate(lines, start=2):
            try:
                result = GameResult(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise ValueError(f"{path}:{number}: damaged ({error}): start from scratch with --force") from None
            self.results[result.game] = result
        if len(whole) < len(content):
            os.truncate(path, len(whole))

    def _check(self, first: str) -> None:
        try:
            theirs, ours = json.loads(first), json.loads(self._header)
            differing = [name for name in ours if theirs[name] != ours[name]]
        except (ValueError, LookupError, TypeError):
            raise ValueError(f"{self.path}: not a journal of kanachan-arena") from None
        if differing:
            name = differing[0]
            raise ValueError(
                f"{self.path}: of another match: {name} is {theirs[name]} there, {ours[name]} here; "
                "continue it with its own settings, or start from scratch with --force"
            )

    def add(self, result: GameResult) -> None:
        """Appends a result to the file."""
        if self.path is not None:
            if not self.results:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.write_text(f"{self._header}\n", encoding="utf-8")
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
        self.results[result.game] = result
