"""Encodes a seat's view of the table at a decision point as fields of an annotation, for records, arena and bot."""

from collections.abc import Container, Iterable, Sequence

from annotate.annotation import Observation
from annotate.game.engine.table import Table, Turn
from annotate.game.grading import ranks_of
from annotate.game.tiles import TILE_OF_ID
from annotate.vocabulary import HAND_SLOT_FIRST, NUM_GRADES, Vocabulary


class ObservationEncoder:
    """Encodes the observations of one game; values that stay the same within the game are computed once. `seats`: seats
    whose decisions are collected; None: all."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        room: int,
        style: int,
        grades: tuple[int, ...],
        writes_hidden: bool = False,
        seats: Container[int] | None = None,
    ) -> None:
        sparse = vocabulary.sparse
        self.vocabulary = vocabulary
        self._writes_hidden = writes_hidden
        self.seats: Container[int] = range(vocabulary.num_seats) if seats is None else seats
        self._head = [sparse["room"].token(room), sparse["style"].token(style)]
        self._seat = sparse["seat"].first
        self._wind = sparse["wind"]
        self._dealer = sparse["round"].first
        self._dora = [sparse["dora"].token(position, 0) for position in range(5)]
        self._none_left = sparse["left"].first + sparse["left"].size - 1
        self._grades = [sparse["standing"].token(seat, grade) for seat, grade in enumerate(grades)]
        self._ranks = [sparse["standing"].token(seat, NUM_GRADES) for seat in range(vocabulary.num_seats)]
        self._round_tokens: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._standing: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._hand = sparse["hand"].first
        self._drawn = sparse["drawn"].first

    def observation(self, turn: Turn, progression: Sequence[int]) -> Observation:
        """Returns the observation of the seat of `turn` after the events of `progression`."""
        numeric = (turn.observation.honba, turn.observation.riichi_sticks, *turn.scores)
        return Observation(self._sparse(turn), numeric, tuple(progression), tuple(turn.options))

    def _sparse(self, turn: Turn) -> tuple[int, ...]:
        """Returns the tokens that describe the table from the seat of `turn`, ascending."""
        observation = turn.observation
        place = turn.seat, observation.round_wind, observation.oya
        round_tokens = self._round_tokens.get(place)
        if round_tokens is None:
            round_tokens = self._round_tokens[place] = self._tokens_of_round(*place)
        scores = tuple(turn.scores)
        standing = self._standing.get(scores)
        if standing is None:
            standing = self._standing[scores] = self._tokens_of_standing(scores)
        return (
            *round_tokens,
            *[first + TILE_OF_ID[i] for first, i in zip(self._dora, turn.dora_indicators, strict=False)],
            self._none_left - turn.left,
            *standing,
            *self._hand_tokens(turn),
        )

    def _tokens_of_round(self, seat: int, wind: int, dealer: int) -> tuple[int, ...]:
        if wind >= self._wind.size:
            raise ValueError(f"a round of wind {wind} is not in the specification (East, South, West)")
        return (*self._head, self._seat + seat, self._wind.first + wind, self._dealer + dealer)

    def _tokens_of_standing(self, scores: tuple[int, ...]) -> tuple[int, ...]:
        ranks = (first + place for first, place in zip(self._ranks, ranks_of(scores), strict=True))
        return tuple(token for pair in zip(self._grades, ranks, strict=True) for token in pair)

    def hidden(self, seat: int, table: Table) -> tuple[int, ...] | None:
        """Returns the tiles that `seat` cannot see: the other hands, next seat first, then the live wall in drawing
        order if the table has the true wall. None if the encoder does not write this field."""
        if not self._writes_hidden:
            return None
        field, hands = self.vocabulary.hidden, table.hands
        tokens: list[int] = []
        for relative_seat in range(len(hands) - 1):
            hand = hands[(seat + 1 + relative_seat) % len(hands)]
            tokens += _slots(hand, field["hand"].token(relative_seat, 0))
        if table.is_wall_true:
            tokens += [field["wall"].first + TILE_OF_ID[tile] for tile in table.live_wall]
        return tuple(tokens)

    def _hand_tokens(self, turn: Turn) -> list[int]:
        drawn = turn.drawn
        if drawn is None:
            return _slots(turn.hand, self._hand)
        held = _slots([tile for tile in turn.hand if tile != drawn], self._hand)
        held.append(self._drawn + TILE_OF_ID[drawn])
        return held


_SLOT_OF_ID = tuple(HAND_SLOT_FIRST[tile] for tile in TILE_OF_ID)
"""slot of the first copy of each physical tile's kind"""


def _slots(tiles: Iterable[int], first: int) -> list[int]:
    """Returns the tokens of concealed tiles (physical), ascending; `first` is the token of slot 0."""
    tokens = sorted([first + _SLOT_OF_ID[tile] for tile in tiles])
    last = -1
    for i, token in enumerate(tokens):
        if token <= last:  # the next copy
            token = tokens[i] = last + 1
        last = token
    return tokens
