"""Annotations and actions as text for people.

Calls have mjai's names. Tiles are written as in the specification: 0 is a red five, 1z ... 7z are E S W N P F C.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from annotate.annotation import Annotation
from annotate.game.tiles import WIND_NAMES
from annotate.vocabulary import CHI_TILES, NUM_GRADES, TILE_NAMES, Vocabulary, tile_of, tile_of_slot

ROOMS = ("Bronze", "Silver", "Gold", "Jade", "Throne")
GRADES = (
    *(f"{name} {level}" for name in ("Novice", "Adept", "Expert", "Master", "Saint") for level in (1, 2, 3)),
    "Celestial",
)
STYLES = ("East only", "East and South")
PLACES = ("1st", "2nd", "3rd", "4th")
NOT_TENPAI, TENPAI, ABORTED = "exhaustive draw, not tenpai", "exhaustive draw, tenpai", "round aborted"


def _round_results(*others: str) -> tuple[str, ...]:
    return (
        "own tsumo",
        *(f"tsumo of the {who}" for who in others),
        *(f"own ron on the {who}" for who in others),
        *(f"dealt in to the {who}" for who in others),
        *(f"ron of the {winner} on the {other}" for winner in others for other in others if other != winner),
        NOT_TENPAI,
        TENPAI,
        ABORTED,
    )


ROUND_RESULTS = {
    4: _round_results("right seat", "seat across", "left seat"),
    3: _round_results("right seat", "left seat"),
}

Situation = defaultdict[str, list[dict[str, int]]]
"""sparse tokens by block; each token as the values of its factors"""


def describe_action(token: int, vocabulary: Vocabulary) -> str:
    """Describes an action, as in "discard 5p (just drawn)" or "pon 1z from across"."""
    name, values = vocabulary.action.describe(token)
    if name == "discard":
        return _discard(values)
    if name == "chi":
        return _chi(values["chi"])
    words = [name]
    if "tile34" in values:
        words.append(TILE_NAMES[tile_of(values["tile34"])])
    if "tile" in values:
        words.append(TILE_NAMES[values["tile"]])
    if "relative_seat" in values:
        words.append(f"from {vocabulary.relative_seats[values['relative_seat']]}")
    return " ".join(words)


def situation_of(annotation: Annotation, vocabulary: Vocabulary) -> tuple[Situation, dict[str, int]]:
    """Returns the decoded sparse tokens by block, and the numeric features by name."""
    sparse: Situation = defaultdict(list)
    for token in annotation.sparse:
        name, values = vocabulary.sparse.describe(token)
        sparse[name].append(values)
    return sparse, dict(zip(vocabulary.numeric, annotation.numeric, strict=True))


def describe(annotation: Annotation, vocabulary: Vocabulary, actions: Sequence[str] | None = None) -> str:
    """Describes a decision on several lines: the situation, the possible actions with the chosen one, the results.
    `actions`: lines to print for the possible actions, e.g. with predictions."""
    sparse, numeric = situation_of(annotation, vocabulary)
    seat = sparse["seat"][0]["seat"]
    if actions is None:
        actions = [
            f"{'->' if index == annotation.chosen else '  '} {describe_action(token, vocabulary)}"
            for index, token in enumerate(annotation.actions)
        ]
    done = _done(annotation.progression, vocabulary)
    melds = [event for event in done[seat] if event.startswith("[")]
    return "\n".join(
        [
            *_heading(annotation.game, sparse, numeric, vocabulary),
            *_seats(seat, sparse, numeric, vocabulary),
            "hand: " + "  ".join([_hand(sparse), *melds]),
            "so far (* just drawn, calls in brackets):",
            *(f"  seat {other}: {' '.join(events) or '-'}" for other, events in enumerate(done)),
            f"seat {seat} may:",
            *actions,
            *_results(annotation.results, vocabulary),
            *_hidden(annotation.hidden, seat, vocabulary),
        ]
    )


def _heading(game: str, sparse: Situation, numeric: dict[str, int], vocabulary: Vocabulary) -> list[str]:
    room, style = sparse["room"][0]["room"], sparse["style"][0]["style"]
    wind, dealer = sparse["wind"][0]["wind"], sparse["round"][0]["dealer"]
    left = vocabulary.num_live - 1 - sparse["left"][0]["drawn"]
    doras = " ".join(TILE_NAMES[values["tile"]] for values in sparse["dora"])
    return [
        f"game {game}, {ROOMS[room]} Room, {STYLES[style]}",
        f"{WIND_NAMES[wind]} {dealer + 1}, honba {numeric['honba']}, riichi deposits {numeric['deposits']}, "
        f"tiles left {left}",
        f"dora indicators: {doras}",
    ]


def _seats(actor: int, sparse: Situation, numeric: dict[str, int], vocabulary: Vocabulary) -> list[str]:
    dealer, lines = sparse["round"][0]["dealer"], []
    for seat in range(vocabulary.num_seats):
        grade, rank = (values["grade_or_rank"] for values in sparse["standing"] if values["seat"] == seat)
        mark, wind = ">" if seat == actor else " ", WIND_NAMES[(seat - dealer) % vocabulary.num_seats]
        place = PLACES[rank - NUM_GRADES]
        lines.append(f"{mark} seat {seat}  {wind:<5}  {numeric[f'score_{seat}']:>7,}  {place:<3}  {GRADES[grade]}")
    return lines


def _hand(sparse: Situation) -> str:
    tiles = [tile_of_slot(values["slot"]) for values in sparse["hand"]]
    drawn = "".join(f" + {TILE_NAMES[values['tile']]}" for values in sparse["drawn"])
    return _grouped(tiles) + drawn


def _grouped(tiles: Iterable[int]) -> str:
    """Returns tiles by suit, as in "23406m 456p 11z": a red five is listed among the fives."""
    numbers: dict[str, list[str]] = {}
    # a red five, 0, is listed just before ordinary fives
    for name in sorted((TILE_NAMES[tile] for tile in tiles), key=lambda name: name.replace("0", "4~")):
        numbers.setdefault(name[1], []).append(name[0])
    return " ".join("".join(numbers[suit]) + suit for suit in "mpsz" if suit in numbers)


def _done(progression: Sequence[int], vocabulary: Vocabulary) -> list[list[str]]:
    done: list[list[str]] = [[] for _ in range(vocabulary.num_seats)]
    for token in progression:
        name, values = vocabulary.progression.describe(token)
        if "seat" in values:
            done[values["seat"]].append(_event(name, values, vocabulary))
    return done


def _event(name: str, values: dict[str, int], vocabulary: Vocabulary) -> str:
    if name == "discard":
        riichi = "riichi:" if values["riichi"] else ""
        return riichi + TILE_NAMES[values["tile"]] + "*" * values["tsumogiri"]
    if name == "chi":
        return f"[{_chi(values['chi'])}]"
    if name == "kita":
        return f"[{name}]"
    tile = TILE_NAMES[values["tile"] if "tile" in values else tile_of(values["tile34"])]
    source = ""
    if "relative_seat" in values:
        source = f" from seat {(values['seat'] + values['relative_seat'] + 1) % vocabulary.num_seats}"
    return f"[{name} {tile}{source}]"


def _results(results: Sequence[int], vocabulary: Vocabulary) -> list[str]:
    named = vocabulary.named_results(results)
    seats = range(vocabulary.num_seats)
    deltas = ", ".join(f"seat {seat} {named[f'round_delta_{seat}']:+,}" for seat in seats)
    ranks = ", ".join(f"seat {seat} {PLACES[named[f'rank_{seat}']]}" for seat in seats)
    return [
        f"round: {ROUND_RESULTS[vocabulary.num_seats][named['round_result']]}; {deltas}",
        f"game: {PLACES[named['rank']]} with {named['score']:,} points, grading points {named['grading_delta']:+,}; "
        f"{ranks}",
    ]


def _hidden(hidden: Sequence[int] | None, seat: int, vocabulary: Vocabulary) -> list[str]:
    if hidden is None:
        return []
    hands: list[list[int]] = [[] for _ in range(vocabulary.num_seats - 1)]
    wall = []
    for token in hidden:
        name, values = vocabulary.hidden.describe(token)
        if name == "hand":
            hands[values["relative_seat"]].append(tile_of_slot(values["slot"]))
        else:
            wall.append(TILE_NAMES[values["tile"]])
    seats = [(seat + 1 + relative_seat) % vocabulary.num_seats for relative_seat in range(len(hands))]
    return [
        "hidden hands: "
        + "; ".join(f"seat {other} {_grouped(hand)}" for other, hand in zip(seats, hands, strict=True)),
        f"to be drawn: {' '.join(wall) or 'not known'}",
    ]


def _discard(values: dict[str, int]) -> str:
    riichi = "riichi, " if values["riichi"] else ""
    return f"{riichi}discard {TILE_NAMES[values['tile']]}{' (just drawn)' if values['tsumogiri'] else ''}"


def _chi(chi: int) -> str:
    first, second, called = CHI_TILES[chi]
    return f"chi {TILE_NAMES[called]} with {_grouped((first, second))}"
