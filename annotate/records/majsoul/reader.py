"""Reads Mahjong Soul's game records: the captured response message, or the JSON that tools make of it.

Id, room, length, grades by seat, final scores and changes of the grading points come from the record. Games of friends'
rooms and contests are read if they are played by the rules of ranked games; their `room` is None.
"""

from collections.abc import Collection, Iterable
from typing import Any

from google.protobuf.message import Message

from annotate.game.origin import MJSOUL_LOG, Origin, Player, players_of
from annotate.game.record import LARGEST_SCORE, Game, LostRound, Round, require_a_round, require_gain_of_first
from annotate.records.majsoul.capture import Recording
from annotate.records.majsoul.rounds import RoundReader, in_range
from annotate.records.majsoul.rules import grade, kind_of_game
from annotate.vocabulary import vocabulary_of_seats


def majsoul_game(recording: Recording) -> Game:
    """Reads the messages of a game. Raises ValueError for a game that is not supported."""
    head = recording.head
    if not head.uuid or not head.uuid.isprintable():
        raise ValueError(f"head.uuid, the game's id, must be a printable text, not {ascii(head.uuid)[:60]}")
    room, style, num_seats = kind_of_game(head.config, recording.unknown_rules)
    players = _by_seat(head.result.players, "head.result.players", num_seats) if head.result.players else None
    grades = None
    if room is not None:
        accounts = _by_seat(head.accounts, "head.accounts", num_seats)
        levels = [account.level3 if num_seats == 3 else account.level for account in accounts]
        grades = tuple(grade(level.id, num_seats) for level in levels)
    rounds, lost, incomplete = _read_rounds(recording.steps, num_seats, {robot.seat for robot in head.robots})
    require_a_round(rounds, lost)
    final_scores = deltas = None
    if players is not None:
        final_scores = tuple(_points(player.part_point_1, "part_point_1") for player in players)
        if room is not None:
            deltas = tuple(_points(player.grading_score, "grading_score") for player in players)
            require_gain_of_first(final_scores, deltas)
    return Game(
        vocabulary=vocabulary_of_seats(num_seats),
        id=head.uuid,
        rules=("mjsoul",),
        style=style,
        rounds=tuple(rounds),
        room=room,
        grades=grades,
        final_scores=final_scores,
        grading_deltas=deltas,
        incomplete=incomplete if players is not None or incomplete else "the result (head.result) is missing",
        origin=Origin(
            "mjsoul", head.uuid if MJSOUL_LOG.fullmatch(head.uuid) else None, None, _players(head, grades, num_seats)
        ),
        lost=tuple(lost),
    )


def _players(head: Message, grades: tuple[int, ...] | None, num_seats: int) -> tuple[Player, ...]:
    found = {account.seat: account for account in head.accounts}
    by_seat = [found.get(seat) for seat in range(num_seats)]
    names = [account and account.nickname for account in by_seat]
    numbers = [account and account.account_id or None for account in by_seat]
    return players_of(names, num_seats, grades, accounts=numbers)


def _by_seat(entries: Any, where: str, num_seats: int) -> list[Message]:
    by_seat = {entry.seat: entry for entry in entries}
    if len(entries) != num_seats or sorted(by_seat) != list(range(num_seats)):
        raise ValueError(f"{where}: one for each of {num_seats} seats expected, not {[e.seat for e in entries][:8]}")
    return [by_seat[seat] for seat in range(num_seats)]


def _points(value: int, name: str) -> int:
    in_range(abs(value), name, LARGEST_SCORE)
    return value


def _read_rounds(
    steps: Iterable[Message | ValueError], num_seats: int, robots: Collection[int]
) -> tuple[list[Round], list[LostRound], str | None]:
    """Reads the messages of a game in their order; `steps` has an error for an unreadable message. Returns the finished
    rounds, the lost rounds, and why the last round has not ended, None if it has.

    If the record has inputs of players, a choice without an input is the server's. `robots`: seats of computer players,
    which send no inputs.
    """
    reader = _Reader(num_seats)
    for number, step in enumerate(steps):
        if isinstance(step, ValueError):
            reader.lose(str(step))
        else:
            reader.read(f"message {number}, {step.DESCRIPTOR.name}", step)
    has_inputs = any(ended.has_inputs for ended in reader.ended)
    return [ended.round(has_inputs, robots) for ended in reader.ended], reader.lost, reader.incomplete


class _Reader:
    def __init__(self, num_seats: int) -> None:
        self._num_seats = num_seats
        self.ended: list[RoundReader] = []
        self.lost: list[LostRound] = []
        self._round: RoundReader | None = None
        """the last round, unless it is lost"""
        self._is_lost = False
        """whether messages are skipped until the next round"""

    def read(self, where: str, step: Message) -> None:
        """Reads a message; an impossible message costs its round."""
        name = step.DESCRIPTOR.name
        try:
            if name == "RecordNewRound":
                if self._round is not None and not self._round.is_over:
                    self.lose(f"{where}: a new round, but the last one has not ended")
                self._round, self._is_lost = None, False
                self._round = RoundReader(step, self._num_seats)
            elif not self._is_lost:
                self._read(name, step)
        except ValueError as error:
            self.lose(f"{where}: {error}")

    def _read(self, name: str, step: Message) -> None:
        if self._round is None:
            if name != "GameUserInput":  # players signal that they are ready
                raise ValueError("before the first round")
        elif name == "GameUserInput":
            self._round.press(step)
        elif self._round.is_over:
            raise ValueError("after the end of the round")
        else:
            self._round.read(name, step)
            if self._round.is_over:
                self.ended.append(self._round)

    def lose(self, problem: str) -> None:
        """Leaves out the round that is being read, or the messages after a finished round."""
        if self._is_lost:
            return
        name = None if self._round is None else self._round.name
        if self._round is not None and self._round.is_over:
            name, problem = None, f"after {name}: {problem}"
        self.lost.append(LostRound(len(self.ended), problem, name))
        self._round, self._is_lost = None, True

    @property
    def incomplete(self) -> str | None:
        """Why the last round has not ended; None if it has."""
        if self._round is None:
            return None if self.lost else "it holds no round"
        return None if self._round.is_over else f"the record stops in {self._round.name}"
