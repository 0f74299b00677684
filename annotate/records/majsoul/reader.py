"""Reads Mahjong Soul's game records: the captured response message, or the JSON that tools make of it.

Id, room, length, grades by seat, final scores and changes of the grading points are those of the record. Games of
friends' rooms and contests are read if they are played by the rules of ranked games; they have no room.
"""

from typing import Any

from google.protobuf.message import Message

from annotate.game.origin import MJSOUL_LOG, Origin, Player, players_of
from annotate.game.record import LARGEST_SCORE, Game, require_a_round, require_gain_of_first
from annotate.records.majsoul.capture import Recording, SecondFile, no_second_file, open_capture, open_capture_json
from annotate.records.majsoul.rounds import read_rounds
from annotate.records.majsoul.rules import grade, kind_of_game
from annotate.records.majsoul.tiles import in_range
from annotate.vocabulary import vocabulary_of_seats


def read_majsoul(data: bytes, second_file: SecondFile = no_second_file) -> Game:
    """Reads a captured message, with the frame's header of three bytes or without; `second_file` reads the game if the
    message holds only its address. Raises ValueError for anything else, and for a game that is not supported."""
    return _game(open_capture(data, second_file))


def read_majsoul_json(document: Any, second_file: SecondFile = no_second_file) -> Game:
    """Reads the JSON of a captured message, already parsed, as `read_majsoul` does."""
    return _game(open_capture_json(document, second_file))


def _game(recording: Recording) -> Game:
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
    rounds, lost, incomplete = read_rounds(recording.steps, num_seats, {robot.seat for robot in head.robots})
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
