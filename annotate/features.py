"""A seat's view of the table at a decision point, as the sparse and numeric fields. Records, arena and bot alike."""

from collections.abc import Iterable

from annotate.engine import TILE_OF_ID, Table, Turn
from annotate.grading import ranks_of
from annotate.vocabulary import HAND_SLOT_FIRST, NUM_GRADES, Vocabulary


class SituationWriter:
    """Writes the fields of one game's situations; what stays the same all game long is worked out once."""

    def __init__(
        self, vocabulary: Vocabulary, room: int, style: int, grades: tuple[int, ...], writes_hidden: bool = False
    ) -> None:
        sparse = vocabulary.sparse
        self.vocabulary = vocabulary
        self.writes_hidden = writes_hidden
        self._head = [sparse["room"].token(room), sparse["style"].token(style)]
        self._seat = sparse["seat"].first
        self._wind = sparse["wind"]
        self._dealer = sparse["round"].first
        self._dora = [sparse["dora"].token(position, 0) for position in range(5)]
        self._none_left = sparse["left"].first + sparse["left"].size - 1
        self._grades = [sparse["standing"].token(seat, grade) for seat, grade in enumerate(grades)]
        self._ranks = [sparse["standing"].token(seat, NUM_GRADES) for seat in range(vocabulary.num_seats)]
        self._hand = sparse["hand"].first
        self._drawn = sparse["drawn"].first

    def sparse(self, turn: Turn) -> tuple[int, ...]:
        """The set of tokens that describes the table from the seat of `turn`, ascending."""
        observation = turn.observation
        if observation.round_wind >= self._wind.size:
            raise ValueError(
                f"a round of wind {observation.round_wind} is not in the specification (East, South, West)"
            )
        tokens = [
            *self._head,
            self._seat + turn.seat,
            self._wind.first + observation.round_wind,
            self._dealer + observation.oya,
        ]
        tokens += [first + TILE_OF_ID[i] for first, i in zip(self._dora, turn.dora_indicators, strict=False)]
        tokens.append(self._none_left - turn.left)
        for grade, rank, place in zip(self._grades, self._ranks, ranks_of(observation.scores), strict=True):
            tokens += (grade, rank + place)
        return (*tokens, *self._hand_tokens(turn))

    def numeric(self, turn: Turn) -> tuple[int, ...]:
        """Honba, deposits and the seats' scores at the decision point."""
        observation = turn.observation
        return (observation.honba, observation.riichi_sticks, *observation.scores)

    def hidden(self, seat: int, table: Table) -> tuple[int, ...]:
        """What `seat` cannot see: the other hands, next seat first, then, if it is true, the live wall as drawn."""
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
            return _slots(turn.observation.hand, self._hand)
        held = _slots([tile for tile in turn.observation.hand if tile != drawn], self._hand)
        return [*held, self._drawn + TILE_OF_ID[drawn]]


_SLOT_OF_ID = tuple(HAND_SLOT_FIRST[tile] for tile in TILE_OF_ID)
"""of each physical tile: the slot of the first copy of its kind"""


def _slots(tiles: Iterable[int], first: int) -> list[int]:
    """The tokens of concealed tiles (physical), ascending; `first` is that of slot 0."""
    tokens: list[int] = []
    for tile in tiles:
        token = first + _SLOT_OF_ID[tile]
        while token in tokens:  # the next copy
            token += 1
        tokens.append(token)
    tokens.sort()
    return tokens
