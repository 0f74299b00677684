"""Rounds made up for tests: chosen hands and draws, played by a short script.

Tiles are written as in the specification: "123m05p1z" is 1m 2m 3m, a red and an ordinary 5p, and East; "." is any tile.
A script is one move after another, "seat kind [tiles]" separated by ";": `0 discard 5m; 1 pon; 1 discard 9s; 2 ron`.
Kinds are cut (the drawn tile), discard (from the hand where possible), riichi, ankan, kakan, kita, tsumo, kyushu,
skip, chi (the hand's two tiles), pon, kan, ron. A seat without a move in the script cuts the drawn tile, and skips
every claim.
"""

import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from annotate.game.decisions import Choice, Decision, choice_of, play
from annotate.game.engine.table import Table, Turn
from annotate.game.features import ObservationEncoder
from annotate.game.record import Event, Game, Round, Rules, all_readable, places_dealt
from annotate.game.results import final_scores
from annotate.game.tiles import TILE_OF_ID, unseen_tiles
from annotate.records.mjai.reader import mjai_games
from annotate.vocabulary import CHI_TILES, FOUR_PLAYERS, THREE_PLAYERS, TILE_NAMES, Vocabulary, tile_of

V = FOUR_PLAYERS
V3 = THREE_PLAYERS
NUM_SEATS = V.num_seats
_CLAIMS = ("skip", "chi", "pon", "kan", "ron")

DULL = ("147m258p369s1234z", "258m369p147s1567z", "369m147p258s2345z", "147m258p369s2367z")
"""four hands without a pair or two neighbours: nothing can be called on the first tiles"""
DULL_3 = ("19m147p258s12345z", "19m258p147s12567z", "19m369p369s13467z")
"""three such hands for three players"""
FIRST_LIVE = 52  # place in the wall of the first tile drawn


def tiles(text: str) -> list[int | None]:
    """The specification's tiles 0 ... 36, None for "."."""
    found: list[int | None] = []
    for digits, suit, dots in re.findall(r"(\d+)([mpsz])|(\.+)", text):
        found += [TILE_NAMES.index(digit + suit) for digit in digits] + [None] * len(dots)
    return found


def wall_of_deal(
    hands: Sequence[str] = (),
    draws: str = "",
    *,
    oya: int = 0,
    dora: str = "",
    ura: str = "",
    rinshan: str = "",
    vocabulary: Vocabulary = V,
) -> list[int]:
    """A wall (physical tiles, in the order of the deal) that deals `hands` by seat and gives `draws` in turn, the
    indicators, and the tiles drawn after kans. Other places are filled at random, the same every time."""
    pool = unseen_tiles(vocabulary)
    num_seats, num_tiles = vocabulary.num_seats, vocabulary.num_tile_ids
    places: dict[int, int] = {}

    def put(place: int, tile: int | None) -> None:
        if tile is not None:
            assert pool[tile], f"too many {TILE_NAMES[tile]} for one wall"
            places[place] = pool[tile].pop(0)

    for seat, hand in enumerate(hands):
        for place, tile in zip(places_dealt(oya, num_seats)[seat], tiles(hand), strict=False):
            put(place, tile)
    for number, tile in enumerate(tiles(draws)):
        put(13 * num_seats + number, tile)
    indicator = num_tiles - 1 - vocabulary.num_rinshan
    for first, step, text in ((num_tiles - 1, 1, rinshan), (indicator, 2, dora), (indicator - 1, 2, ura)):
        for number, tile in enumerate(tiles(text)):
            put(first - step * number, tile)
    rest = [i for ids in pool for i in ids]
    random.Random(0).shuffle(rest)
    return [places[place] if place in places else rest.pop() for place in range(num_tiles)]


def start_of_round(
    oya: int = 0,
    wind: str = "E",
    honba: int = 0,
    kyotaku: int = 0,
    scores: Sequence[int] = (25000,) * NUM_SEATS,
) -> Event:
    return {
        "type": "start_kyoku",
        "bakaze": wind,
        "kyoku": oya + 1,
        "oya": oya,
        "honba": honba,
        "kyotaku": kyotaku,
        "scores": list(scores),
    }


def start_of_three(oya: int = 0, scores: Sequence[int] = (35000,) * 3, **more: Any) -> Event:
    return start_of_round(oya, scores=scores, **more)


def writer_of(
    room: int = 4, style: int = 1, grades: Sequence[int] = (14,) * NUM_SEATS, *, vocabulary: Vocabulary = V
) -> ObservationEncoder:
    return ObservationEncoder(vocabulary, room, style, tuple(grades[: vocabulary.num_seats]))


@dataclass
class Played:
    """A round that was played to its end."""

    decisions: list[Decision]
    events: list[Event]
    """as in a record, from start_kyoku to the last hora or ryukyoku"""

    def of(self, seat: int) -> list[Decision]:
        return [decision for decision in self.decisions if decision.seat == seat]

    def when(self, seat: int, option: str) -> Decision:
        """The first decision of `seat` that offers `option`."""
        return next(decision for decision in self.of(seat) if option in options(decision))

    def all(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def round(self) -> Round:
        return Round(tuple(self.events))


class Script:
    """Chooses the moves of a script."""

    def __init__(self, text: str, vocabulary: Vocabulary = V) -> None:
        self.vocabulary = vocabulary
        self.moves = [move.split() for move in text.split(";") if move.strip()]

    def choose(self, turns: list[Turn]) -> dict[int, Choice]:
        if turns[0].target is None:
            (turn,) = turns
            move = self.moves.pop(0)[1:] if self.moves and int(self.moves[0][0]) == turn.seat else ["cut"]
            return {turn.seat: choice_of(turn, _find(turn, move, self.vocabulary))}
        claims: dict[int, list[str]] = {}
        seats = {turn.seat for turn in turns}
        while self.moves and self.moves[0][1] in _CLAIMS:
            seat = int(self.moves[0][0])
            if seat not in seats or seat in claims:
                break
            claims[seat] = self.moves.pop(0)[1:]
        return {
            turn.seat: choice_of(turn, _find(turn, claims.get(turn.seat, ["skip"]), self.vocabulary)) for turn in turns
        }


def _find(turn: Turn, move: list[str], vocabulary: Vocabulary) -> int:
    """The action token of a move; after a call, "cut" is the first possible discard."""
    token_of = {words(token, vocabulary): token for token in turn.options}
    text = " ".join(move)
    if text == "cut":
        if turn.drawn is None:
            return next(iter(turn.options))
        drawn = TILE_NAMES[TILE_OF_ID[turn.drawn]]
        return token_of.get(f"cut {drawn}") or token_of[f"discard {drawn}"]
    for candidate in (text, text.replace("discard", "cut"), text.replace("riichi", "riichi-cut")):
        if candidate in token_of:
            return token_of[candidate]
    raise AssertionError(f"seat {turn.seat} cannot {text}; it can {sorted(token_of)}")


def words(action: int, vocabulary: Vocabulary = V) -> str:
    """An action token in the words of a script; discards of the drawn tile are "cut 5m", "riichi-cut 5m"."""
    kind, at = vocabulary.action.describe(action)
    if kind == "discard":
        name = ("discard", "cut", "riichi", "riichi-cut")[at["tsumogiri"] + 2 * at["riichi"]]
        return f"{name} {TILE_NAMES[at['tile']]}"
    if kind == "chi":
        first, second, _ = CHI_TILES[at["chi"]]
        return f"chi {first % 10}{TILE_NAMES[second]}"
    if kind == "ankan":
        return f"ankan {TILE_NAMES[tile_of(at['tile34'])]}"
    if kind == "kakan":
        return f"kakan {TILE_NAMES[at['tile']]}"
    return {"daiminkan": "kan"}.get(kind, kind)


def options(decision: Decision, vocabulary: Vocabulary = V) -> set[str]:
    return {words(token, vocabulary) for token in decision.observation.actions}


def choice(decision: Decision, vocabulary: Vocabulary = V) -> str:
    return words(decision.observation.actions[decision.chosen], vocabulary)


def sparse(decision: Decision, block: str) -> list[dict[str, int]]:
    """The values of the sparse tokens of one block, in order."""
    return [values for name, values in map(V.sparse.describe, decision.observation.sparse) if name == block]


def dora_of(decision: Decision) -> list[str]:
    return [TILE_NAMES[values["tile"]] for values in sparse(decision, "dora")]


def left_of(decision: Decision) -> int:
    return 69 - sparse(decision, "left")[0]["drawn"]


def situation(decision: Decision) -> tuple[Any, ...]:
    """All that the actor knows at the decision point."""
    return decision.seat, decision.observation


def play_wall(script: str, wall: Sequence[int], rules: Rules, start: Event, writer: ObservationEncoder) -> Played:
    table = Table.of_round(rules, start, wall, writer.vocabulary, logs_events=True)
    scripted = Script(script, writer.vocabulary)
    decisions = play(table, writer, scripted.choose).decisions
    assert not scripted.moves, f"not played: {scripted.moves}"
    return Played(decisions, events_of_round(table.log()))


def play_round(
    script: str = "",
    hands: Sequence[str] = (),
    draws: str = "",
    *,
    rules: Rules = "mjsoul",
    dora: str = "",
    ura: str = "",
    rinshan: str = "",
    writer: ObservationEncoder | None = None,
    start: Event | None = None,
) -> Played:
    """Plays one round to its end; see the top of the file for `script`."""
    start = start or start_of_round()
    writer = writer or writer_of()
    more = {"dora": dora, "ura": ura, "rinshan": rinshan}
    wall = wall_of_deal(hands, draws, oya=start["oya"], vocabulary=writer.vocabulary, **more)
    return play_wall(script, wall, rules, start, writer)


def play_three(
    script: str = "", hands: Sequence[str] = DULL_3, draws: str = "", *, start: Event | None = None, **more: Any
) -> Played:
    """Plays one round of three players; otherwise as `play_round`."""
    writer = writer_of(vocabulary=V3)
    return play_round(script, hands, draws, start=start or start_of_three(), writer=writer, **more)


def events_of_round(log: Sequence[Event]) -> list[Event]:
    """From start_kyoku to the last hora or ryukyoku."""
    return [event for event in log if event["type"] not in ("start_game", "end_kyoku", "end_game")]


def _end_of(last: Round) -> tuple[int, ...]:
    """The scores after a round; if its payments are damaged, the scores before it."""
    before, after = last.events[0], final_scores(last.events)
    is_whole = sum(after) == sum(before["scores"]) + 1000 * before["kyotaku"]
    return after if is_whole else final_scores([{**before, "kyotaku": 0}])


def game_of_events(events: Iterable[Event]) -> Game:
    """Reads a game from its mjai events."""
    (game,) = all_readable(mjai_games("".join(f"{json.dumps(event)}\n" for event in events), "name"))
    return game


def game_of(*rounds: Round, **changed: Any) -> Game:
    """Makes a record of rounds; `changed` are fields of `Game` with other values."""
    fields: dict[str, Any] = {
        "vocabulary": V,
        "id": "game-1",
        "rules": ("mjsoul",),
        "style": 1,
        "room": 3,
        "grades": (12, 11, 10, 9),
        "final_scores": _end_of(rounds[-1]) if rounds else None,
        "grading_deltas": (100, 50, -50, -100),
    }
    return Game(rounds=rounds, **(fields | changed))
