"""Chooses the seats under review by number, by the name of a player, or all."""

from annotate.game.record import Game

ALL_SEATS = "all"


def chosen_seats(given: str | None, game: Game, record: str) -> list[int]:
    """Returns the seats that an option names: a number, the name of a player, or all, as where nothing is given. Raises
    ValueError: no player or several have that name; lists the seats."""
    seats = range(game.vocabulary.num_seats)
    if given in (None, ALL_SEATS):
        return list(seats)
    if given in map(str, seats):
        return [int(given)]
    names = [player.name or "" for player in game.origin.players]
    found = [seat for seat, name in enumerate(names) if name == given]
    found = found or [seat for seat, name in enumerate(names) if name.casefold() == given.casefold()]
    if len(found) != 1:
        problem = "several players have this name" if found else "not a seat, and no player has this name"
        listed = ", ".join(f"{seat} {name}".strip() for seat, name in enumerate(names or [""] * len(seats)))
        raise ValueError(f"{record}: --seat {given}: {problem}: {listed}, {ALL_SEATS}")
    return found
