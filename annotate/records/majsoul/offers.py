"""The options that Mahjong Soul's server offered a player, and the one that the player pressed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from google.protobuf.message import Message

from annotate.game.record import Offer, Option
from annotate.records.majsoul.tiles import in_range, tile_of, tiles_of

# types of OptionalOperation
_DISCARD, _RIICHI = 1, 7
_BY_TILES = {2: "chi", 3: "pon", 4: "ankan", 5: "daiminkan", 6: "kakan"}
_WITHOUT_TILES = {8: "hora", 9: "hora", 10: "ryukyoku", 11: "kita"}

# types of GameUserInput: a choice in the player's own turn, and a reaction to another player's tile
_OWN_TURN, _CLAIM_OR_PASS = 2, 3


@dataclass(slots=True)
class OfferDraft:
    """An offer to which the player may still react."""

    after: int
    seat: int
    by_button: dict[tuple[int, int], Option]
    """the option of each button, by type and index within the type"""
    is_claim: bool
    """whether it concerns another player's tile"""
    is_answered: bool = False
    """whether the player sent a choice; if not, the server made it, or another player's claim came first"""
    pressed: Option | None = None

    def press(self, step: Message) -> None:
        """Records a GameUserInput of this seat. Only the first reaction to another player's tile counts."""
        self.is_answered |= step.type == (_CLAIM_OR_PASS if self.is_claim else _OWN_TURN)
        if step.type != _CLAIM_OR_PASS or not self.is_claim or self.pressed is not None:
            return
        is_pass = step.cpg.cancel_operation
        self.pressed = Option("none") if is_pass else self.by_button.get((step.cpg.type, step.cpg.index))

    def finished(self) -> Offer:
        return Offer(self.after, self.seat, tuple(self.by_button.values()), self.pressed)


def offers_of(lists: Iterable[Message], after: int, is_claim: bool, num_seats: int) -> list[OfferDraft]:
    """Returns the offers in OptionalOperationList messages; ValueError if there is no such seat or tile. `after`: index
    of the event to react to; see Offer; `is_claim`: whether that event is another player's discard or kan."""
    offers = []
    for offered in lists:
        buttons = _buttons(tuple([(each.type, tuple(each.combination)) for each in offered.operation_list]))
        if buttons:  # a player in riichi without a choice is sent an empty list
            offers.append(OfferDraft(after, in_range(offered.seat, "seat", num_seats - 1), buttons, is_claim))
    return offers


@lru_cache(maxsize=10_000)
def _buttons(operations: tuple[tuple[int, tuple[str, ...]], ...]) -> dict[tuple[int, int], Option]:
    """Returns the option of each button. Most lists of operations, as type and combinations, come again and again."""
    return {button: option for kind, combinations in operations for button, option in _options(kind, combinations)}


def _options(kind: int, combinations: tuple[str, ...]) -> Iterator[tuple[tuple[int, int], Option]]:
    if kind == _DISCARD:
        yield (kind, 0), Option("dahai", tuple(tiles_of(combinations)))
    elif kind == _RIICHI:
        for index, name in enumerate(combinations):
            yield (kind, index), Option("reach", (tile_of(name),))
    elif kind in _BY_TILES:
        for index, names in enumerate(combinations):
            yield (kind, index), Option(_BY_TILES[kind], tuple(tiles_of(names.split("|"))))
    else:
        yield (kind, 0), Option(_WITHOUT_TILES.get(kind, f"operation {kind}"))
