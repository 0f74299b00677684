"""Compares the annotations of one round with the file, by a plain reading; see tests.fuzz.plain_reading."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from annotate.annotation import Annotation
from annotate.vocabulary import CHI_OF_TILES, HAND_SLOT_FIRST, NUM_TILES, TILE_NAMES, tile34_of
from tests.fuzz.plain_reading import SEATS, STICK, Move, RecordedRound, Tile, V

_FIRST = {name: block.first for name, block in V.sparse.blocks.items()}
_TILE_OF_SLOT = [max(tile for tile in range(NUM_TILES) if HAND_SLOT_FIRST[tile] <= slot) for slot in range(136)]
_TILES = {name: number for number, name in enumerate(TILE_NAMES)}
_CALLS = ("chi", "pon", "daiminkan")


@dataclass
class _Moment:
    """The table after some public events."""

    hands: list[list[Tile]]
    numbers: list[tuple[int, ...]]
    """honba, deposits, scores: before and after a riichi is paid"""
    drawn: tuple[int, Tile] | None = None
    """who drew, and which tile"""


def disagreement(recorded: RecordedRound, lines: Sequence[Annotation]) -> str | None:
    """Where a round's annotations differ from the file; None if nowhere."""
    if not recorded.is_whole:
        return None
    recorded.moves = list(_paid_in_time(recorded.moves))
    tokens, moments = _played(recorded)
    deltas = list(recorded.deltas)
    for move in recorded.moves:
        if move.kind == "paid":
            deltas[move.seat] -= STICK
    if recorded.after is not None and recorded.after != [a + b for a, b in zip(recorded.scores, deltas, strict=True)]:
        return f"after the round: {recorded.after}, by the payments {deltas} from {recorded.scores}"
    for line in lines:
        problem = _wrong(line, recorded, tokens, moments)
        if not problem and list(line.results[1:5]) != deltas:
            problem = f"deltas {line.results[1:5]}, recorded {deltas}"
        if problem:
            return f"after {len(line.progression) - 1} events: {problem}"
    return None


def _paid_in_time(moves: Sequence[Move]) -> Iterator[Move]:
    """The moves, with each riichi paid after its discard as the rules say, wherever the file records the payment."""
    paid = [move.seat for move in moves if move.kind == "paid"]
    due = -1
    for move in moves:
        if move.kind == "paid":
            continue
        if due in paid:
            paid.remove(due)
            yield Move("paid", due)
        yield move
        due = move.seat if move.kind == "discard" and move.is_riichi else -1
    yield from (Move("paid", seat) for seat in paid)


def _played(recorded: RecordedRound) -> tuple[list[int], list[_Moment]]:
    """The progression, and the table after each of its tokens."""
    tokens = [0]
    scores, deposits = list(recorded.scores), recorded.deposits
    moments = [_Moment([list(hand) for hand in recorded.hands], [(recorded.honba, deposits, *scores)])]
    for move in recorded.moves:
        if move.kind == "draw":
            moments[-1].drawn = move.seat, move.tile
            continue
        if move.kind == "paid":
            scores[move.seat] -= STICK
            deposits += 1
            moments[-1].numbers.append((recorded.honba, deposits, *scores))
            continue
        hands = [list(hand) for hand in moments[-1].hands]
        hand = hands[move.seat]
        drawn = moments[-1].drawn
        if drawn is not None:
            hands[drawn[0]].append(drawn[1])
        kind = move.tile.replace("0", "5")
        if move.kind == "ankan":
            hands[move.seat] = [tile for tile in hand if tile.replace("0", "5") != kind]
        for tile in (move.tile,) if move.kind in ("discard", "kakan") else move.used if move.kind in _CALLS else ():
            hand.remove(tile)
        tokens.append(_token(move, len(tokens) == 1))
        moments.append(_Moment(hands, [(recorded.honba, deposits, *scores)]))
    return tokens, moments


def _token(move: Move, is_first: bool) -> int:
    block, tile = V.progression[move.kind], _TILES[move.tile]
    if move.kind == "discard":
        return block.token(move.seat, tile, int(move.is_drawn and not is_first), int(move.is_riichi))
    if move.kind == "ankan":
        return block.token(move.seat, tile34_of(tile))
    if move.kind == "kakan":
        return block.token(move.seat, tile)
    if move.kind == "chi":
        return block.token(move.seat, CHI_OF_TILES[frozenset(_TILES[name] for name in move.used), tile])
    return block.token(move.seat, (move.target - move.seat - 1) % len(SEATS), tile)


def _wrong(line: Annotation, recorded: RecordedRound, tokens: Sequence[int], moments: Sequence[_Moment]) -> str | None:
    place = len(line.progression) - 1
    if list(line.progression) != list(tokens[: place + 1]):
        return f"progression {line.progression}, recorded {tokens}"
    moment = moments[place]
    if tuple(line.numeric) not in moment.numbers:
        return f"numbers {line.numeric}, recorded {moment.numbers}"
    sparse: dict[str, list[int]] = {}
    for token in line.sparse:
        name = V.sparse.block_of(token).name
        sparse.setdefault(name, []).append(token - _FIRST[name])
    seat = sparse["seat"][0]
    if (sparse["wind"], sparse["round"]) != ([recorded.wind], [recorded.dealer]):
        return f"wind and round {sparse['wind']}, {sparse['round']}, recorded {recorded.wind}, {recorded.dealer}"
    dora = [TILE_NAMES[value % NUM_TILES] for value in sparse["dora"]]
    if dora != recorded.dora[: len(dora)]:
        return f"dora {dora}, recorded {recorded.dora}"
    hand = sorted(TILE_NAMES[_TILE_OF_SLOT[slot]] for slot in sparse["hand"])
    if hand != sorted(moment.hands[seat]):
        return f"seat {seat}'s hand {hand}, recorded {sorted(moment.hands[seat])}"
    if "drawn" in sparse and moment.drawn != (seat, TILE_NAMES[sparse["drawn"][0]]):
        return f"seat {seat} draws {TILE_NAMES[sparse['drawn'][0]]}, recorded {moment.drawn}"
    return _wrong_choice(line, seat, recorded, tokens[place + 1 :], "drawn" in sparse)


def _wrong_choice(
    line: Annotation, seat: int, recorded: RecordedRound, rest: Sequence[int], has_drawn: bool
) -> str | None:
    action = line.actions[line.chosen]
    block = V.action.block_of(action)
    if block.name in V.progression.blocks:
        event = V.progression[block.name].token(seat, *block.indices(action))
        is_call = block.name in _CALLS
        # the pressed call may not have been carried out: another seat's claim was
        hidden = is_call and (recorded.winners or rest and V.progression.block_of(rest[0]).name in _CALLS)
        return None if rest and rest[0] == event or hidden else f"seat {seat} chose {action}, recorded {list(rest[:1])}"
    if block.name == "skip":
        is_win = not rest and recorded.winners.get(seat, seat) != seat
        is_call = bool(rest) and V.progression.describe(rest[0])[1]["seat"] == seat and not has_drawn
        is_call = is_call and V.progression.block_of(rest[0]).name in _CALLS
        return f"seat {seat} passes, recorded otherwise" if is_win or is_call else None
    if rest:
        return f"seat {seat} ends the round by {action}, which continues in the record"
    if block.name == "tsumo" and recorded.winners != {seat: seat}:
        return f"seat {seat} wins its own tile, recorded winners {recorded.winners}"
    if block.name == "ron" and recorded.winners and (seat not in recorded.winners or recorded.winners[seat] == seat):
        return f"seat {seat} wins another's tile, recorded winners {recorded.winners}"
    if block.name == "kyushu" and recorded.winners:
        return f"seat {seat} ends the round, recorded winners {recorded.winners}"
    return None
