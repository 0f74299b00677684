"""Annotations made up at random: valid, of realistic lengths, and consistent where a reader may rely on it."""

import random
from typing import Any

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS, HAND_SLOT_FIRST, NUM_GRADES, NUM_TILES, tile34_of

_V = FOUR_PLAYERS
_WALL = [tile for tile in range(NUM_TILES) for _ in range(HAND_SLOT_FIRST[tile + 1] - HAND_SLOT_FIRST[tile])]


def random_annotations(n: int, seed: int, games: int = 8) -> list[Annotation]:
    """`n` decisions of `games` games, game after game; the same for the same arguments.

    A decision has about 29 sparse features, 1 to 90 events, and 2 to about 20 candidates. Seats, grades and the end of
    the game are the same for all decisions of a game; ranks follow scores; hands are canonical sets of slots.
    """
    rng = random.Random(f"{seed}/{games}")
    headers = [_Game(rng, f"game-{seed}-{number}") for number in range(games)]
    return [headers[i * games // n].decision(rng) for i in range(n)]


def seat_of(annotation: Annotation) -> int:
    """The seat that decides."""
    block = _V.sparse["seat"]
    (seat,) = [token - block.first for token in annotation.sparse if block.first <= token < block.first + block.size]
    return seat


def altered(annotation: Annotation, **fields: Any) -> Annotation:
    """The annotation with other fields; these may also be fields of its observation."""
    return annotation._replace(**fields)


class _Game:
    def __init__(self, rng: random.Random, game: str) -> None:
        self.id = game
        self.room, self.style = rng.randrange(5), rng.randrange(2)
        self.grades = [rng.randrange(NUM_GRADES) for _ in range(_V.num_seats)]
        self.final_scores = _scores(rng, 0)
        self.ranks = _ranks(self.final_scores)
        self.grading_deltas = [rng.randrange(-300, 400) for _ in range(_V.num_seats)]

    def decision(self, rng: random.Random) -> Annotation:
        seat, deposits, is_own_turn = rng.randrange(_V.num_seats), rng.choice((0, 0, 0, 1, 2)), rng.random() < 0.7
        scores = _scores(rng, deposits)
        tiles = rng.sample(_WALL, 14 + 2)
        hand, drawn, doras = tiles[:13], tiles[13], tiles[14:]
        num_doras = 1 if rng.random() < 0.9 else 2
        sparse = {
            _V.sparse["room"].token(self.room),
            _V.sparse["style"].token(self.style),
            _V.sparse["seat"].token(seat),
            _V.sparse["wind"].token(rng.randrange(2)),
            _V.sparse["round"].token(rng.randrange(_V.num_seats)),
            _V.sparse["left"].token(rng.randrange(70)),
            *(_V.sparse["dora"].token(place, dora) for place, dora in enumerate(doras[:num_doras])),
            *(_V.sparse["standing"].token(s, grade) for s, grade in enumerate(self.grades)),
            *(_V.sparse["standing"].token(s, NUM_GRADES + rank) for s, rank in enumerate(_ranks(scores))),
            *(_V.sparse["hand"].token(HAND_SLOT_FIRST[t] + hand[:i].count(t)) for i, t in enumerate(hand)),
            *([_V.sparse["drawn"].token(drawn)] if is_own_turn else []),
        }
        actions = _own_turn(rng, hand, drawn) if is_own_turn else _reaction(rng)
        return Annotation(
            game=self.id,
            sparse=tuple(sorted(sparse)),
            numeric=(rng.choice((0, 0, 1, 2)), deposits, *scores),
            progression=_progression(rng),
            actions=actions,
            chosen=rng.randrange(len(actions)),
            results=(
                rng.randrange(_V.num_round_results),
                *_deltas(rng),
                *self.ranks,
                self.ranks[seat],
                self.final_scores[seat],
                self.grading_deltas[seat],
            ),
        )


def _own_turn(rng: random.Random, hand: list[int], drawn: int) -> tuple[int, ...]:
    discard = _V.action["discard"]
    actions = {discard.token(tile, 0, 0) for tile in hand} | {discard.token(drawn, 1, 0)}
    if rng.random() < 0.1:
        actions |= {discard.token(tile, 0, 1) for tile in rng.sample(hand, 2)}
    if rng.random() < 0.05:
        actions |= {_V.action["tsumo"].token(), _V.action["ankan"].token(tile34_of(rng.choice(hand)))}
    return tuple(sorted(actions))


def _reaction(rng: random.Random) -> tuple[int, ...]:
    source, tile = rng.randrange(_V.num_seats - 1), rng.randrange(NUM_TILES)
    possible = [
        _V.action["chi"].token(rng.randrange(90)),
        _V.action["pon"].token(source, tile),
        _V.action["daiminkan"].token(source, tile),
        _V.action["ron"].token(source),
    ]
    return tuple(sorted([_V.action["skip"].token(), *rng.sample(possible, rng.choice((1, 1, 1, 2)))]))


def _progression(rng: random.Random) -> tuple[int, ...]:
    events = [_V.progression["begin"].token()]
    for turn in range(min(rng.randrange(80), rng.randrange(90))):
        is_riichi = rng.random() < 0.01
        seat = turn % _V.num_seats
        events.append(_V.progression["discard"].token(seat, rng.randrange(NUM_TILES), rng.randrange(2), is_riichi))
        if rng.random() < 0.08:
            events.append(_V.progression["pon"].token(rng.randrange(4), rng.randrange(3), rng.randrange(NUM_TILES)))
        if rng.random() < 0.03:
            events.append(_V.progression["chi"].token(rng.randrange(4), rng.randrange(90)))
        if rng.random() < 0.01:
            events.append(_V.progression["kakan"].token(rng.randrange(4), rng.randrange(NUM_TILES)))
    return tuple(events[:90])


def _scores(rng: random.Random, deposits: int) -> list[int]:
    hundreds = [250 + rng.randrange(-150, 151) for _ in range(_V.num_seats - 1)]
    return [100 * h for h in (*hundreds, 1000 - 10 * deposits - sum(hundreds))]


def _ranks(scores: list[int]) -> list[int]:
    order = sorted(range(len(scores)), key=lambda seat: (-scores[seat], seat))
    return [order.index(seat) for seat in range(len(scores))]


def _deltas(rng: random.Random) -> list[int]:
    if rng.random() < 0.15:
        return [0] * _V.num_seats
    winner, loser = rng.sample(range(_V.num_seats), 2)
    points = rng.choice((1000, 1300, 2000, 2600, 3900, 5200, 7700, 8000, 12000))
    return [points * ((seat == winner) - (seat == loser)) for seat in range(_V.num_seats)]


def with_hidden(annotations: list[Annotation], seed: int) -> list[Annotation]:
    """The same decisions with a hidden field: three hands of 1 to 13 tiles, and in every other one some of the wall."""
    rng = random.Random(seed)
    return [annotation._replace(hidden=_hidden(rng, has_wall=i % 2 == 0)) for i, annotation in enumerate(annotations)]


def _hidden(rng: random.Random, has_wall: bool) -> tuple[int, ...]:
    tiles = rng.sample(_WALL, len(_WALL))
    tokens: list[int] = []
    for relative_seat in range(_V.num_seats - 1):
        hand = sorted(tiles.pop() for _ in range(rng.choice((1, 4, 7, 10, 13))))
        slots = [HAND_SLOT_FIRST[tile] + hand[:i].count(tile) for i, tile in enumerate(hand)]
        tokens += [_V.hidden["hand"].token(relative_seat, slot) for slot in slots]
    wall = [_V.hidden["wall"].token(tile) for tile in tiles[: rng.randrange(1, 70)]]
    return (*tokens, *wall) if has_wall else tuple(tokens)
