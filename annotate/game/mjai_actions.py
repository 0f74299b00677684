"""Converts between mjai events and the options of a turn."""

from annotate.game.decisions import Choice, choice_of
from annotate.game.engine.table import Turn
from annotate.game.progression import call_indices
from annotate.game.record import Event
from annotate.game.tiles import MJAI_NAMES, NAME_OF_ID, TILE_OF_ID, TILE_OF_MJAI
from annotate.vocabulary import Vocabulary

PASS = "none"
"""type of mjai's event for a pass"""
KITA = ("kita", "nukidora")
"""types of the event for a North set aside, in mjai and in other programs"""


def choice_of_event(turn: Turn, event: Event, vocabulary: Vocabulary, is_riichi: bool = False) -> Choice:
    """Returns the option of `turn` that matches an event of its seat. `is_riichi`: the dahai declares riichi. Raises
    ValueError if the action is not legal."""
    token = token_of_event(turn, event, vocabulary, is_riichi)
    moves = turn.options.get(token)
    if moves is None:
        raise ValueError(f"not a legal action of seat {turn.seat}: {event['type']}{_tile_of(event)}")
    if "consumed" not in event:
        return choice_of(turn, token)
    wanted = sorted(TILE_OF_MJAI[name] for name in event["consumed"])
    for move in moves:
        tiles = sorted(TILE_OF_ID[i] for i in move[0].consume_tiles)
        if tiles == wanted:
            return Choice(token, move)
    raise ValueError(f"seat {turn.seat} cannot {event['type']}{_tile_of(event)} with {' '.join(event['consumed'])}")


def _tile_of(event: Event) -> str:
    return f" {event['pai']}" if "pai" in event else ""


def token_of_event(turn: Turn, event: Event, vocabulary: Vocabulary, is_riichi: bool = False) -> int:
    """Returns the action token of an event at `turn`, even if it is not one of the options. Raises ValueError if the
    event has no token at this turn."""
    kind, block = event["type"], vocabulary.action.blocks
    if kind == "dahai":
        is_tsumogiri = event["tsumogiri"] and not turn.observation.forced_tedashi
        return block["discard"].token(TILE_OF_MJAI[event["pai"]], is_tsumogiri, is_riichi)
    if kind == PASS:
        return block["skip"].first
    if kind == "ryukyoku":
        return block["kyushu"].first
    if kind == "hora" and event["target"] == turn.seat:
        return block["tsumo"].first
    if "target" in event and event["target"] != turn.target:
        raise ValueError(f"seat {turn.seat} cannot {kind} a tile of seat {event['target']} now")
    if kind == "hora":
        return block["ron"].token((event["target"] - turn.seat - 1) % vocabulary.num_seats)
    kind = "kita" if kind in KITA else kind
    if kind not in block:
        raise ValueError(f"there is no {kind} in games of {vocabulary.num_seats} players")
    return block[kind].token(*call_indices(event, kind, turn.seat, vocabulary.num_seats))


def events_of_option(turn: Turn, token: int, vocabulary: Vocabulary) -> list[Event]:
    """Returns the mjai events that play an option of `turn`: one event, or `reach` and `dahai` for riichi."""
    name, at = vocabulary.action.describe(token)
    actor = {"actor": turn.seat}
    if name == "skip":
        return [{"type": PASS}]
    if name == "kyushu":
        return [{"type": "ryukyoku", **actor}]
    if name == "kita":
        return [{"type": name, **actor, "pai": "N"}]
    action = turn.options[token][0][0]
    if name == "discard":
        # mjai marks a discard of the drawn tile even if the token does not (see `annotate.game.engine.table`)
        pai = MJAI_NAMES[at["tile"]]
        is_drawn = bool(at["tsumogiri"]) or _only_as_drawn(turn, at["tile"])
        dahai = {"type": "dahai", **actor, "pai": pai, "tsumogiri": is_drawn}
        return [{"type": "reach", **actor}, dahai] if at["riichi"] else [dahai]
    if name in ("tsumo", "ron"):
        target = turn.seat if name == "tsumo" else turn.target
        return [{"type": "hora", **actor, "target": target, "pai": NAME_OF_ID[action.tile]}]
    consumed = [NAME_OF_ID[i] for i in action.consume_tiles]
    if name == "ankan":
        return [{"type": name, **actor, "consumed": consumed}]
    pai = NAME_OF_ID[action.tile]
    if name == "kakan":
        return [{"type": name, **actor, "pai": pai, "consumed": consumed[:3]}]
    return [{"type": name, **actor, "target": turn.target, "pai": pai, "consumed": consumed}]


def _only_as_drawn(turn: Turn, tile: int) -> bool:
    """Returns whether the hand holds `tile` only as the drawn tile, which the dealer's first token does not show."""
    return turn.drawn is not None and [i for i in turn.hand if TILE_OF_ID[i] == tile] == [turn.drawn]
