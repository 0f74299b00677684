"""Reads mjai JSON lines: one event per line, any number of games per file, each from start_game to end_game.

Other programs' dialects are normalised: fields that are not needed are dropped, the others get their usual names.
The moves are not checked here, but by replaying.
"""

from collections.abc import Iterator

from annotate.game.record import Event, Game, Unreadable
from annotate.records.mjai.dialects import events_of_line, parts_of
from annotate.records.mjai.draft import EVENTS, Draft
from annotate.records.mjai.events import kind_of_event


def mjai_games(text: str, name: str) -> Iterator[Game | Unreadable]:
    """Reads the games of a file, in their order; `name` is the file's without folders and suffixes. Raises ValueError
    if there is no game.

    A fault within a round costs only that round; after a wholly unreadable game, lines up to the next start_game are
    skipped. An error message of the server ends a game; other messages are skipped, and reported if unknown.

    The id of a game is start_game's `kanachan.id`, else its `id` if this is a text, else `name` and a checksum of the
    game's lines, so that no two games share an id. If start_game does not state the style, it follows from the end:
    East only if nobody is below 0 points, the last round is E4 ... S3 (with three players E3 ... S2), where a longer
    game cannot end, and all rounds are possible in an East game; else East and South.
    """
    reader = _Reader(name)
    for part, number, is_unended in parts_of(text):
        if part.strip():
            yield from reader.read_line(part, number, is_unended=is_unended)
    yield from reader.end_game()
    if not reader.has_read:
        raise ValueError("no start_game")


class _Reader:
    """Reads the lines of a file and yields its games."""

    def __init__(self, name: str) -> None:
        self.has_read = False
        """whether there was a game, or a problem"""
        self._name = name
        self._draft: Draft | None = None
        self._is_lost = False
        """whether the next lines belong to a game with a problem"""
        self._is_cut_off = False

    def read_line(self, line: str, number: int, *, is_unended: bool) -> Iterator[Game | Unreadable]:
        """Reads a line; `is_unended`: the line ends with the file, without a line feed."""
        try:
            events = events_of_line(line)
        except ValueError as error:
            # a file that is still being written, or was cut off, ends in the middle of a line
            self._is_cut_off = is_unended and self._draft is not None and self._draft.end is None
            if not self._is_cut_off:
                if self._draft is not None:
                    self._draft.finish_draw()
                yield from self._lose(f"line {number}: {error}")
            return
        for event in events:
            yield from self._read_event(event, line, number)

    def _read_event(self, event: Event, line: str, number: int) -> Iterator[Game | Unreadable]:
        if event["type"] == "start_game":
            yield from self.end_game()
            self._is_lost = False
        is_outside = self._draft is None or self._draft.end is not None
        if self._is_lost or (is_outside and kind_of_event(event) not in EVENTS):
            return
        try:
            self._add(event, line, number)
        except ValueError as error:
            yield from self._lose(f"line {number}: {event['type']}: {error}")

    def _add(self, event: Event, line: str, number: int) -> None:
        if event["type"] == "start_game":
            self._draft = Draft.of_start(event, line, number)
        elif self._draft is None:
            raise ValueError("before any start_game")
        else:
            self._draft.add(event, line, number)

    def end_game(self) -> Iterator[Game | Unreadable]:
        """Yields the game that is being read, if there is one."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        self.has_read = True
        if draft.lost and not draft.rounds:
            yield Unreadable(draft.lost[0].problem)
            return
        try:
            yield draft.game(self._name, is_cut_off=self._is_cut_off)
        except ValueError as error:
            yield Unreadable(f"the game from line {draft.line}: {error}")

    def _lose(self, problem: str) -> Iterator[Game | Unreadable]:
        """Leaves out the round that is being read; outside of any game, or after its end, yields a problem."""
        if self._is_lost:
            return
        if self._draft is not None and self._draft.end is None:
            self._draft.lose_round(problem)
            return
        yield from self.end_game()
        self.has_read = self._is_lost = True
        yield Unreadable(problem)
