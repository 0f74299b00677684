"""A recorded game stepped through the engine again: every decision point of every seat, or the round that disagrees.

A round is trusted only if the engine, playing the record's actions on the record's wall, produces the record's events,
dora indicators, payments and scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from annotate.annotation import Annotation
from annotate.decisions import Choice, Decision, choice_of, is_hidden, play
from annotate.engine import TILE_OF_ID, TILE_OF_MJAI, Table, Turn, tenpai_at_end, wall_of
from annotate.features import SituationWriter
from annotate.grading import ranks_of
from annotate.records.record import Event, Game, Round, Rules
from annotate.results import EXHAUSTIVE, final_scores, round_delta, round_results
from annotate.vocabulary import CHI_OF_TILES, Vocabulary, tile34_of

DEFAULT_ROOM = 4  # Throne
DEFAULT_GRADE = 14  # 雀聖3

_CHOICES = ("dahai", "reach", "chi", "pon", "daiminkan", "ankan", "kakan", "hora", "ryukyoku")


class Disagreement(ValueError):
    """The record's round cannot be played as it is written, or ends otherwise than it says."""


@dataclass
class GameReport:
    """What became of one recorded game."""

    id: str
    annotations: list[Annotation] = field(default_factory=list)
    num_rounds: int = 0
    """rounds that replayed"""
    left_out: list[str] = field(default_factory=list)
    """"round: why" for each round left out"""
    num_unknown: int = 0
    """choices that the record cannot show, because another seat's call or ron came first"""
    notes: list[str] = field(default_factory=list)
    """assumptions made for want of better knowledge, such as a default room"""


def annotate_game(
    game: Game, vocabulary: Vocabulary, room: int = DEFAULT_ROOM, grade: int = DEFAULT_GRADE
) -> GameReport:
    """Replays a game and writes the annotation of every decision point.

    Args:
        room, grade: for games whose record does not tell.
    """
    report = GameReport(game.id)
    if game.incomplete is not None:
        report.left_out.append(game.incomplete)
    if not game.rounds:
        return report
    if game.room is None or game.grades is None:
        report.notes.append("room or grades unknown: defaults taken")
    room = game.room if game.room is not None else room
    grades = game.grades if game.grades is not None else (grade,) * vocabulary.num_seats
    writer = SituationWriter(vocabulary, room, game.style, grades)
    game_part = _end_of_game(game, report, len(grades))
    for recorded in game.rounds:
        try:
            decisions, round_part, num_unknown = _replay_under_any(recorded, game.rules, writer)
        except Disagreement as error:
            report.left_out.append(f"{recorded.name}: {error}")
            continue
        report.num_rounds += 1
        report.num_unknown += num_unknown
        report.annotations += [annotation_of(game.id, decision, round_part, game_part) for decision in decisions]
    return report


def annotation_of(
    game_id: str, decision: Decision, round_part: Sequence[tuple[int, ...]], game_part: Sequence[tuple[int, ...]]
) -> Annotation:
    """Joins a decision with how its round and its game ended, by seat (see `round_part` and `game_part`)."""
    return Annotation(
        game=game_id,
        sparse=decision.sparse,
        numeric=decision.numeric,
        progression=decision.progression,
        actions=decision.actions,
        chosen=decision.chosen,
        results=round_part[decision.seat] + game_part[decision.seat],
    )


def round_part(events: Sequence[Event]) -> list[tuple[int, ...]]:
    """The first five results of each seat: round result and round deltas."""
    num_seats = len(events[0]["scores"])
    draw = events[-1]
    is_tenpai = [False] * num_seats
    if draw["type"] == "ryukyoku" and draw.get("reason") in EXHAUSTIVE:
        # payments tell who was tenpai, unless all or none were
        is_tenpai = [delta > 0 for delta in draw["deltas"]] if any(draw["deltas"]) else tenpai_at_end(events)
    delta = round_delta(events, num_seats)
    return [(result, *delta) for result in round_results(events, events[0]["oya"], is_tenpai)]


def game_part(scores: Sequence[int], grading_deltas: Sequence[int]) -> list[tuple[int, ...]]:
    """The last seven results of each seat: all ranks, its own rank, final score and change of grading points."""
    ranks = ranks_of(scores)
    return [(*ranks, ranks[seat], scores[seat], grading_deltas[seat]) for seat in range(len(scores))]


def _end_of_game(game: Game, report: GameReport, num_seats: int) -> list[tuple[int, ...]]:
    scores = game.final_scores
    if scores is None:
        report.notes.append("end of the game missing: ranks and scores are those after its last whole round")
        scores = final_scores(game.rounds[-1].events)
    deltas = game.grading_deltas
    if deltas is None:
        report.notes.append("change of grading points unknown: 0 written")
        deltas = (0,) * num_seats
    return game_part(scores, deltas)


def _replay_under_any(
    recorded: Round, rules: Sequence[Rules], writer: SituationWriter
) -> tuple[list[Decision], list[tuple[int, ...]], int]:
    first: Disagreement | None = None
    for rule in rules:
        try:
            return replay_round(recorded, rule, writer)
        except Disagreement as error:
            first = first or error
    assert first is not None, "a game has at least one rule set"
    raise first


def replay_round(
    recorded: Round, rules: Rules, writer: SituationWriter
) -> tuple[list[Decision], list[tuple[int, ...]], int]:
    """Plays one recorded round again.

    Returns:
        The decision points, the round's part of the results by seat, and the number of choices left out because
        the record cannot show them.

    Raises:
        Disagreement: with the first difference between the record and the engine.
    """
    events = recorded.events
    try:
        table = Table.of_round(rules, events[0], wall_of(events), writer.vocabulary)
        script = _Script(events, table)
        decisions, num_unknown = play(table, writer, script.choose)
    except Disagreement:
        raise
    except (ValueError, OverflowError) as error:  # the engine counts honba in a byte
        raise Disagreement(str(error)) from error
    script.check_finished()
    played = [event for event in table.log() if event["type"] not in _NOT_COMPARED]
    _compare([event for event in events if event["type"] not in _NOT_COMPARED], played)
    # the engine's own events: not every dialect gives the reason of a draw
    return decisions, round_part([events[0], *played]), num_unknown


class _Script:
    """Chooses what the record chose."""

    def __init__(self, events: Sequence[Event], table: Table) -> None:
        self._choices = [event for event in events if event["type"] in _CHOICES]
        self._robbed_kakan = [a for a, b in pairwise(events) if a["type"] == "kakan" and b["type"] == "hora"]
        self._next = 0
        self._table = table
        self._vocabulary = table.vocabulary

    def choose(self, turns: list[Turn]) -> dict[int, Choice]:
        if turns[0].target is None:
            assert len(turns) == 1, turns
            return {turns[0].seat: self._own_turn(turns[0])}
        return self._claims(turns)

    def check_finished(self) -> None:
        rest = self._choices[self._next :]
        if rest and rest[0]["type"] != "ryukyoku":
            raise Disagreement(f"the round is over, but the record goes on with {_in_words(rest[0])}")

    def _peek(self) -> Event:
        if self._next == len(self._choices):
            raise Disagreement("the record ends before the round is over")
        return self._choices[self._next]

    def _own_turn(self, turn: Turn) -> Choice:
        event = self._peek()
        self._next += 1
        action = self._vocabulary.action
        kind = event["type"]
        if kind == "ryukyoku":
            return self._choice(turn, action["kyushu"].first, event)
        if event["actor"] != turn.seat:
            raise Disagreement(f"seat {turn.seat} is to act, but the record goes on with {_in_words(event)}")
        if kind == "dahai":
            return self._discard(turn, event, is_riichi=False)
        if kind == "reach":
            discard = self._peek()
            self._next += 1
            if discard["type"] != "dahai" or discard["actor"] != turn.seat:
                raise Disagreement(f"riichi is followed by {_in_words(discard)}")
            return self._discard(turn, discard, is_riichi=True)
        if kind == "ankan":
            return self._choice(turn, action["ankan"].token(tile34_of(TILE_OF_MJAI[event["consumed"][0]])), event)
        if kind == "kakan":
            if event in self._robbed_kakan:
                self._table.withhold_dora()
            return self._choice(turn, action["kakan"].token(TILE_OF_MJAI[event["pai"]]), event)
        if kind == "hora" and event["target"] == turn.seat:
            return self._choice(turn, action["tsumo"].first, event)
        raise Disagreement(f"seat {turn.seat} is to act, but the record goes on with {_in_words(event)}")

    def _discard(self, turn: Turn, event: Event, is_riichi: bool) -> Choice:
        is_tsumogiri = event["tsumogiri"] and not turn.observation.forced_tedashi
        token = self._vocabulary.action["discard"].token(TILE_OF_MJAI[event["pai"]], int(is_tsumogiri), int(is_riichi))
        return self._choice(turn, token, event)

    def _claims(self, turns: list[Turn]) -> dict[int, Choice]:
        claims, outcome = self._next_claims(turns)
        self._next += len(claims)
        if outcome == "ryukyoku":
            # three winners abort the round; before any other end all was passed
            is_triple = self._peek().get("reason") in ("sanchaho", "triple_ron", "ron3")
            outcome = "ron" if is_triple else "pass"
            if is_triple:
                claims = {turn.seat: {"type": "hora", "target": turns[0].target} for turn in turns}
        choices: dict[int, Choice] = {}
        skip = self._vocabulary.action["skip"].first
        for turn in turns:
            claim = claims.pop(turn.seat, None)
            if claim is not None and self._token_of_claim(turn, claim) in turn.options:
                choices[turn.seat] = self._choice(turn, self._token_of_claim(turn, claim), claim)
            elif claim is not None and outcome != "ron":
                raise Disagreement(f"not a legal action: {_in_words(claim)}")
            else:
                is_known = not is_hidden(turn.options, outcome, None, self._vocabulary)
                choices[turn.seat] = Choice(skip, turn.options[skip][0], is_known)
        if claims:
            raise Disagreement(f"not a legal action: {_in_words(next(iter(claims.values())))}")
        return choices

    def _next_claims(self, turns: list[Turn]) -> tuple[dict[int, Event], str]:
        """The claims of the tile in question that the record goes on with, and what became of it."""
        claims: dict[int, Event] = {}
        for event in self._choices[self._next :]:
            kind = event["type"]
            if kind == "ryukyoku" and not claims:
                return {}, kind
            if kind not in ("hora", "chi", "pon", "daiminkan") or event["target"] != turns[0].target:
                break
            if kind == "hora" and event["actor"] == event["target"]:
                break
            claims[event["actor"]] = event
            if kind != "hora":
                return claims, kind
        return claims, "ron" if claims else "pass"

    def _token_of_claim(self, turn: Turn, event: Event) -> int:
        action = self._vocabulary.action
        relative_seat = (event["target"] - turn.seat - 1) % self._vocabulary.num_seats
        if event["type"] == "hora":
            return action["ron"].token(relative_seat)
        tile = TILE_OF_MJAI[event["pai"]]
        if event["type"] == "chi":
            consumed = frozenset(TILE_OF_MJAI[name] for name in event["consumed"])
            if (consumed, tile) not in CHI_OF_TILES:
                raise Disagreement(f"no sequence: {_in_words(event)}")
            return action["chi"].token(CHI_OF_TILES[consumed, tile])
        return action[event["type"]].token(relative_seat, tile)

    def _choice(self, turn: Turn, token: int, event: Event) -> Choice:
        moves = turn.options.get(token)
        if moves is None:
            raise Disagreement(f"not a legal action: {_in_words(event)}")
        if len(moves) > 1 and "consumed" in event:
            wanted = sorted(TILE_OF_MJAI[name] for name in event["consumed"])
            for move in moves:
                if sorted(TILE_OF_ID[i] for i in move[0].consume_tiles) == wanted:
                    return Choice(token, move)
        return choice_of(turn, token)


_NOT_COMPARED = ("start_game", "start_kyoku", "end_kyoku", "end_game", "none")
_COMPARED_KEYS = ("type", "actor", "target", "pai", "tsumogiri", "dora_marker")


def _compare(recorded: Sequence[Event], played: Sequence[Event]) -> None:
    """Raises Disagreement at the first event that the record and the engine tell differently."""
    is_first_discard = True
    for index in range(max(len(recorded), len(played))):
        if index >= len(played):
            raise Disagreement(f"the engine's round ends before {_in_words(recorded[index])}")
        if index >= len(recorded):
            raise Disagreement(f"the engine goes on with {_in_words(played[index])}")
        ours, theirs = _essence(played[index]), _essence(recorded[index])
        if is_first_discard and theirs["type"] == "dahai":
            is_first_discard = False
            ours.pop("tsumogiri", None)  # the dealer's first discard has none of the two
            theirs.pop("tsumogiri")
        if ours != theirs:
            raise Disagreement(f"event {index}: record {_in_words(theirs)}, engine {_in_words(ours)}")


def _essence(event: Event) -> dict[str, Any]:
    essence = {key: event[key] for key in _COMPARED_KEYS if event.get(key) is not None}
    if event["type"] in ("hora", "ankan"):
        essence.pop("pai", None)  # not every dialect tells
    if "consumed" in event:
        essence["consumed"] = sorted(event["consumed"])
    if event["type"] in ("hora", "ryukyoku"):
        essence["deltas"] = list(event.get("deltas") or ())
    return essence


def _in_words(event: Event) -> str:
    values = ", ".join(f"{key} {value}" for key, value in event.items() if key != "type")
    return f"{event['type']} ({values})"
