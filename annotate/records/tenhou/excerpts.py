"""Joins games whose rounds are separate objects of a file, as in addresses of a viewer."""

from collections.abc import Iterable
from dataclasses import replace

from annotate.game.record import Game, Round, Unreadable


def joined(games: Iterable[Game | Unreadable]) -> list[Game | Unreadable]:
    """Joins the games of a file that have the same id and header and no round in common. A joined game has their rounds
    in the order of play, at the place of the first."""
    found: list[list[Game] | Unreadable] = []
    parts_of: dict[str, list[Game]] = {}
    places_of: dict[str, set[tuple[int, int]]] = {}
    for game in games:
        if isinstance(game, Unreadable):
            found.append(game)
            continue
        parts, places = parts_of.get(game.id), set(map(_place, game.rounds))
        if parts is not None and _is_of(parts[0], game) and not places & places_of[game.id]:
            parts.append(game)
            places_of[game.id] |= places
            continue
        found.append(own := [game])
        if parts is None:
            parts_of[game.id], places_of[game.id] = own, places
    return [parts if isinstance(parts, Unreadable) else _together(parts) for parts in found]


def _place(recorded: Round) -> tuple[int, int]:
    """Returns what grows from round to round: wind and number, honba."""
    start = recorded.events[0]
    return 4 * "ESWN".index(start["bakaze"]) + start["kyoku"], start["honba"]


def _is_of(one: Game, other: Game) -> bool:
    return replace(one, rounds=(), incomplete=None) == replace(other, rounds=(), incomplete=None)


def _together(parts: list[Game]) -> Game:
    if len(parts) == 1:
        return parts[0]
    last = max(parts, key=lambda part: _place(part.rounds[-1]))
    rounds = sorted((recorded for part in parts for recorded in part.rounds), key=_place)
    return replace(last, rounds=tuple(rounds))
