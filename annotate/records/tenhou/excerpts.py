"""Games whose rounds stand one by one in a file, as a viewer's addresses hold them: put together again."""

from collections.abc import Iterable
from dataclasses import replace

from annotate.game.record import Game, Round, Unreadable


def joined(games: Iterable[Game | Unreadable]) -> list[Game | Unreadable]:
    """The games of a file, where those are one that have the same id, have no round in common and tell the same of the
    game besides. It has their rounds in the order of play, and stands where the first was."""
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
    """What grows from round to round: wind and number, honba."""
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
