"""When Mahjong Soul's server asked a player to choose, and what the player pressed on another player's tile."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.message import Message

from annotate.game.record import Event
from annotate.records.majsoul.tiles import in_range, tiles_of

# types of OptionalOperation
_CALLS = {2: "chi", 3: "pon", 5: "daiminkan"}

# types of GameUserInput: a choice in the player's own turn, and a reaction to another player's tile
_OWN_TURN, _CLAIM_OR_PASS = 2, 3


@dataclass(slots=True)
class Offer:
    """What one seat may choose at one moment, to which its player may still react."""

    after: int
    """index of the event to react to: the seat's own draw or call, or another's discard or kan"""
    seat: int
    call_of_button: dict[tuple[int, int], Event] | None
    """the calls of another player's tile, by type and index of their buttons; None in the seat's own turn"""
    is_answered: bool = False
    """whether the player sent a choice; if not, the server made it, or another player's claim came first"""
    pressed: Event | None = None
    """the call that was pressed, or an event of type "none"; None if it is neither, or not recorded"""

    def press(self, step: Message) -> None:
        """Records a GameUserInput of this seat. Only the first reaction to another player's tile counts."""
        is_claim = self.call_of_button is not None
        self.is_answered |= step.type == (_CLAIM_OR_PASS if is_claim else _OWN_TURN)
        if step.type != _CLAIM_OR_PASS or self.call_of_button is None or self.pressed is not None:
            return
        button = (step.cpg.type, step.cpg.index)
        self.pressed = {"type": "none"} if step.cpg.cancel_operation else self.call_of_button.get(button)


def offers_of(lists: Iterable[Message], after: int, claimed: Event | None, num_seats: int) -> list[Offer]:
    """Returns the offers in OptionalOperationList messages; ValueError if there is no such seat or tile. `after`: index
    of the event to react to; `claimed`: that event, if it is another player's discard or kan."""
    offers = []
    for offered in lists:
        if offered.operation_list:  # a player in riichi without a choice is sent an empty list
            seat = in_range(offered.seat, "seat", num_seats - 1)
            offers.append(Offer(after, seat, None if claimed is None else dict(_calls(offered, claimed))))
    return offers


def _calls(offered: Message, claimed: Event) -> Iterator[tuple[tuple[int, int], Event]]:
    for operation in offered.operation_list:
        if operation.type in _CALLS and claimed["type"] == "dahai":
            for index, names in enumerate(operation.combination):
                call = {"type": _CALLS[operation.type], "actor": offered.seat, "target": claimed["actor"]}
                yield (operation.type, index), {**call, "pai": claimed["pai"], "consumed": tiles_of(names.split("|"))}
