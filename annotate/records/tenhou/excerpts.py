"""Joins games whose rounds are separate objects in a file, as in addresses of a viewer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from annotate.game.grading import ranks_of
from annotate.game.record import ENOUGH, Game, Round, Unreadable
from annotate.game.results import dealer_stays, final_scores, is_aborted, leftover_deposits, scores_after
from annotate.game.round_start import start_of


def joined(games: Iterable[Game | Unreadable]) -> list[Game | Unreadable]:
    """Joins the games of a file that have the same id and header and no round in common: the joined game has all rounds
    in the order of play, at the place of the first game. Then joins successive games of the same players and rules if
    the second follows from the first."""
    return _chained(_of_ids(games))


def _chained(games: Iterable[Game | Unreadable]) -> list[Game | Unreadable]:
    chained: list[Game | Unreadable] = []
    for game in games:
        before = chained[-1] if chained else None
        if isinstance(before, Game) and isinstance(game, Game) and _follows(before, game):
            rounds = (*before.rounds, *game.rounds)
            scores = game.final_scores or final_scores_of_whole(rounds, game.style)
            why = None if scores else game.incomplete
            chained[-1] = replace(game, id=before.id, rounds=rounds, final_scores=scores, incomplete=why)
        else:
            chained.append(game)
    return chained


def _follows(before: Game, game: Game) -> bool:
    if before.final_scores is not None or before.lost or game.lost or not before.rounds or not game.rounds:
        return False
    same = (before.origin.players, before.origin.rules, before.style, before.vocabulary, before.grades)
    if same != (game.origin.players, game.origin.rules, game.style, game.vocabulary, game.grades):
        return False
    last, start = before.rounds[-1].events, start_of(game.rounds[0].events)
    reached = scores_after(last[0]["scores"], last), leftover_deposits(last)
    return start_of(last).place < start.place and reached == (start.scores, start.deposits)


def final_scores_of_whole(rounds: Sequence[Round], style: int) -> tuple[int, ...] | None:
    """Returns the final scores of a game without recorded ones, None if its rounds are not a whole game."""
    if _place(rounds[0]) != (0, 0):
        return None
    last = rounds[-1].events
    num_seats = len(last[0]["scores"])
    scores = final_scores(last)
    is_last = start_of(last).number >= num_seats * (style + 1) - 1
    is_dealer_first = ranks_of(scores)[last[0]["oya"]] == 0
    try:
        stays = dealer_stays(last)
    except (ValueError, LookupError, StopIteration, AssertionError):  # hands that cannot be; replaying names the move
        return None
    if is_aborted(last) or (stays and not is_dealer_first):  # a dealer who stays and is first may end it
        is_last = False
    return scores if min(scores) < 0 or (is_last and max(scores) >= ENOUGH[num_seats]) else None


def _of_ids(games: Iterable[Game | Unreadable]) -> list[Game | Unreadable]:
    groups: list[list[Game] | Unreadable] = []
    parts_of: dict[str, list[Game]] = {}
    for game in games:
        if isinstance(game, Unreadable):
            groups.append(game)
        elif game.id in parts_of and _may_join(parts_of[game.id], game):
            parts_of[game.id].append(game)
        else:
            groups.append(group := [game])
            parts_of.setdefault(game.id, group)
    return [group if isinstance(group, Unreadable) else _together(group) for group in groups]


def _place(recorded: Round) -> tuple[int, int]:
    return start_of(recorded.events).place


def _may_join(parts: Sequence[Game], game: Game) -> bool:
    """Returns whether a game has the same header as other parts, and no round in common with them."""
    places = {_place(recorded) for part in parts for recorded in part.rounds}
    is_same = replace(parts[0], rounds=(), incomplete=None) == replace(game, rounds=(), incomplete=None)
    return is_same and places.isdisjoint(map(_place, game.rounds))


def _together(parts: list[Game]) -> Game:
    if len(parts) == 1:
        return parts[0]
    last = max(parts, key=lambda part: _place(part.rounds[-1]))
    rounds = tuple(sorted((recorded for part in parts for recorded in part.rounds), key=_place))
    has_scores = last.final_scores is not None or any(part.lost for part in parts)
    scores = last.final_scores if has_scores else final_scores_of_whole(rounds, last.style)
    return replace(last, rounds=rounds, final_scores=scores, incomplete=None if scores else last.incomplete)
