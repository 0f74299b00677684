"""A recorded game stepped through the engine again: every decision point of every seat, or the round that disagrees.

A round is trusted only if the engine, playing the record's actions on the record's wall, produces the record's events,
dora indicators, payments and scores.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotate.agreement import Disagreement, agreed_events, in_words
from annotate.annotation import Annotation
from annotate.continuity import Course
from annotate.decisions import CLAIMS, Choice, Decision, choice_of, is_hidden, play
from annotate.engine import MJAI_NAMES, TILE_OF_ID, TILE_OF_MJAI, Table, Turn, tenpai_at_end
from annotate.features import SituationWriter
from annotate.grading import ranks_of
from annotate.records.record import Event, Game, Round, Rules
from annotate.results import EXHAUSTIVE, final_scores, round_delta, round_results
from annotate.vocabulary import CHI_OF_TILES, Vocabulary, tile34_of
from annotate.walls import wall_of
from annotate.witness import Witness

DEFAULT_ROOM = 4  # Throne
DEFAULT_GRADE = 14  # 雀聖3

_CHOICES = ("dahai", "reach", "chi", "pon", "daiminkan", "ankan", "kakan", "hora", "ryukyoku")
_OPENING = ("tsumo", "chi", "pon")
"""after these a seat must discard or declare"""


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
    differences: list[str] = field(default_factory=list)
    """"round: what" where options that the record lists are not those of the engine; the round is kept"""
    notes: list[str] = field(default_factory=list)
    """assumptions made for want of better knowledge, such as a default room"""


class Replayed(NamedTuple):
    """A round that was played again and found to be as recorded."""

    decisions: list[Decision]
    """the decision points"""
    results: list[tuple[int, ...]]
    """the round's part of the results, by seat"""
    num_unknown: int
    """choices left out because the record cannot show them"""
    differences: list[str]
    """where options that the record lists are not those of the engine"""


def annotate_game(
    game: Game,
    vocabulary: Vocabulary,
    room: int = DEFAULT_ROOM,
    grade: int = DEFAULT_GRADE,
    writes_hidden: bool = False,
) -> GameReport:
    """Replays a game and writes the annotation of every decision point.

    Args:
        room, grade: for games whose record does not tell.
        writes_hidden: adds the hidden field.
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
    if writes_hidden and any(recorded.wall is None for recorded in game.rounds):
        report.notes.append("wall unknown: the hidden field holds hands alone")
    writer = SituationWriter(vocabulary, room, game.style, grades, writes_hidden)
    game_part = _end_of_game(game, report, len(grades))
    course = Course(game.rounds, game.style)
    for recorded in game.rounds:
        try:
            with course.through(recorded):
                replayed = _replay_under_any(recorded, game.rules, writer)
        except Disagreement as error:
            report.left_out.append(f"{recorded.name}: {error}")
            continue
        report.num_rounds += 1
        report.num_unknown += replayed.num_unknown
        report.differences += [f"{recorded.name}: {text}" for text in replayed.differences]
        report.annotations += [
            annotation_of(game.id, decision, replayed.results, game_part) for decision in replayed.decisions
        ]
    if report.num_rounds == 0:
        return report
    try:
        course.end(game.final_scores or final_scores(game.rounds[-1].events))
    except Disagreement as error:
        return GameReport(game.id, left_out=[*report.left_out, f"the whole game: {error}"])
    report.left_out += course.missing
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
        hidden=decision.hidden,
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


def _replay_under_any(recorded: Round, rules: Sequence[Rules], writer: SituationWriter) -> Replayed:
    first: Disagreement | None = None
    for rule in rules:
        try:
            return replay_round(recorded, rule, writer)
        except Disagreement as error:
            first = first or error
    assert first is not None, "a game has at least one rule set"
    raise first


def replay_round(recorded: Round, rules: Rules, writer: SituationWriter) -> Replayed:
    """Plays one recorded round again.

    Raises:
        Disagreement: with the first difference between the record and the engine.
    """
    events = recorded.events
    try:
        table = Table.of_round(
            rules,
            events[0],
            wall_of(recorded),
            writer.vocabulary,
            is_wall_true=recorded.wall is not None,
            is_told=True,
        )
        script = Script(recorded, table)
        decisions, num_unknown = play(table, writer, script.choose)
    except Disagreement:
        raise
    except (ValueError, OverflowError) as error:  # the engine counts honba in a byte
        raise Disagreement(str(error)) from error
    script.check_finished()
    return Replayed(decisions, round_part(agreed_events(events, script.abort, table)), num_unknown, script.differences)


def _draw(tile: int | None) -> str:
    return "a call" if tile is None else f"drawing {MJAI_NAMES[tile]}"


class Script:
    """Chooses what the record chose."""

    def __init__(self, recorded: Round, table: Table) -> None:
        events = self._events = recorded.events
        self._places: list[int] = []
        self._openings: list[int] = []
        """for each choice: the place of the last draw or call before it"""
        self._dora: list[int] = []
        """the places of events that turn an indicator"""
        opening = 0
        for place, event in enumerate(events):
            kind = event["type"]
            if kind in _CHOICES:
                self._places.append(place)
                self._openings.append(opening)
            elif kind == "dora":
                self._dora.append(place)
            if kind in _OPENING:
                opening = place
        self._openings.append(opening)
        self._choices = [events[place] for place in self._places]
        self._next = 0
        self._told = 1
        """events that the table knows"""
        self._forced_tedashi: Event | None = None
        self._table = table
        self.abort: str | None = None
        """the reason of a draw that players chose or caused by their choices"""
        self._vocabulary = table.vocabulary
        self._discards = table.vocabulary.action["discard"]
        self._witness = Witness(recorded, table.vocabulary)

    @property
    def differences(self) -> list[str]:
        """Where options that the record lists are not those of the engine."""
        return self._witness.differences

    def choose(self, turns: list[Turn]) -> dict[int, Choice]:
        answered = self._answered = self._place_answered(turns)
        for event in self._events[self._told : answered + 1]:
            if event["type"] != "tsumo":  # nobody else sees it
                self._table.tell(event if event is not self._forced_tedashi else {**event, "tsumogiri": False})
        self._told = answered + 1
        self._check_seen(turns[0], answered)
        self._witness.compare(answered, turns)
        if turns[0].target is None:
            assert len(turns) == 1, turns
            return {turns[0].seat: self._own_turn(turns[0])}
        return self._claims(turns)

    def _place_answered(self, turns: list[Turn]) -> int:
        """The place of the event that the seats act on: a discard or kan, or the last tile drawn or called."""
        if turns[0].target is not None:
            return self._places[self._next - 1]
        return self._openings[self._next]

    def _check_seen(self, turn: Turn, answered: int) -> None:
        """Raises Disagreement if the record has another draw, or other indicators face up, than the engine."""
        if turn.target is None:
            event = self._events[answered]
            drawn = None if turn.drawn is None else TILE_OF_ID[turn.drawn]
            told = TILE_OF_MJAI[event["pai"]] if event["type"] == "tsumo" else None
            if event.get("actor") != turn.seat or told != drawn:
                raise Disagreement(f"seat {turn.seat} is to act after {_draw(drawn)}, not after {in_words(event)}")
        num_dora = 1 + bisect(self._dora, answered)
        if num_dora != len(turn.dora_indicators):
            event = self._events[answered]
            raise Disagreement(
                f"dora indicators after {in_words(event)}: record {num_dora}, engine {len(turn.dora_indicators)}"
            )

    def check_finished(self) -> None:
        self._witness.finish()
        rest = self._choices[self._next :]
        if rest and rest[0]["type"] == "ryukyoku" and not self._table.winners:
            del rest[0]  # the engine draws of itself
        if rest:
            raise Disagreement(f"the round is over, but the record goes on with {in_words(rest[0])}")

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
            self.abort = "kyushu_kyuhai"
            return self._choice(turn, action["kyushu"].first, event)
        if event["actor"] != turn.seat:
            raise Disagreement(f"seat {turn.seat} is to act, but the record goes on with {in_words(event)}")
        if kind == "dahai":
            return self._discard(turn, event, is_riichi=False)
        if kind == "reach":
            discard = self._peek()
            self._next += 1
            if discard["type"] != "dahai" or discard["actor"] != turn.seat:
                raise Disagreement(f"riichi is followed by {in_words(discard)}")
            return self._discard(turn, discard, is_riichi=True)
        if kind == "ankan":
            return self._choice(turn, action["ankan"].token(tile34_of(TILE_OF_MJAI[event["consumed"][0]])), event)
        if kind == "kakan":
            place = self._places[self._next - 1]
            if self._events[place + 1 : place + 2] and self._events[place + 1]["type"] == "hora":  # robbed
                self._table.withhold_dora()
            return self._choice(turn, action["kakan"].token(TILE_OF_MJAI[event["pai"]]), event)
        if kind == "hora" and event["target"] == turn.seat:
            return self._choice(turn, action["tsumo"].first, event)
        raise Disagreement(f"seat {turn.seat} is to act, but the record goes on with {in_words(event)}")

    def _discard(self, turn: Turn, event: Event, is_riichi: bool) -> Choice:
        is_tsumogiri = event["tsumogiri"]
        if is_tsumogiri and turn.observation.forced_tedashi:
            self._forced_tedashi, is_tsumogiri = event, False
        by_tile, by_tsumogiri, by_riichi = self._discards.strides
        token = self._discards.first + TILE_OF_MJAI[event["pai"]] * by_tile
        return self._choice(turn, token + is_tsumogiri * by_tsumogiri + is_riichi * by_riichi, event)

    def _claims(self, turns: list[Turn]) -> dict[int, Choice]:
        claims, outcome = self._next_claims(turns)
        self._next += len(claims)
        if outcome == "ryukyoku":
            # three winners abort the round; before any other end all was passed
            is_triple = self._peek().get("reason") in ("sanchaho", "triple_ron", "ron3")
            outcome = "ron" if is_triple else "pass"
            if is_triple:
                self.abort = "sanchaho"
                claims = {turn.seat: {"type": "hora", "target": turns[0].target} for turn in turns}
        choices: dict[int, Choice] = {}
        skip = self._vocabulary.action["skip"].first
        for turn in turns:
            claim = claims.pop(turn.seat, None)
            if claim is not None and self._token_of_claim(turn, claim) in turn.options:
                choices[turn.seat] = self._choice(turn, self._token_of_claim(turn, claim), claim)
            elif claim is not None and outcome != "ron":
                raise Disagreement(f"not a legal action: {in_words(claim)}")
            else:
                is_known = not is_hidden(turn.options, outcome, None, self._vocabulary)
                pressed = skip if is_known else self._pressed(turn)
                token = skip if pressed is None else pressed
                choices[turn.seat] = Choice(token, turn.options[skip][0], pressed is not None)
        if claims:
            raise Disagreement(f"not a legal action: {in_words(next(iter(claims.values())))}")
        return choices

    def _pressed(self, turn: Turn) -> int | None:
        """What the seat wanted, if the record says that although another seat came first."""
        event = self._witness.pressed(self._answered, turn.seat)
        if event is not None and event["type"] == "none":
            return self._vocabulary.action["skip"].first
        if event is None or event["type"] not in CLAIMS or event["pai"] is None:
            return None
        try:
            token = self._token_of_claim(turn, event)
        except Disagreement:
            return None  # its options differ from the engine's, which is told
        return token if token in turn.options else None

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
                raise Disagreement(f"no sequence: {in_words(event)}")
            return action["chi"].token(CHI_OF_TILES[consumed, tile])
        return action[event["type"]].token(relative_seat, tile)

    def _choice(self, turn: Turn, token: int, event: Event) -> Choice:
        moves = turn.options.get(token)
        if moves is None:
            raise Disagreement(f"not a legal action: {in_words(event)}")
        if "consumed" not in event:
            return choice_of(turn, token)
        wanted = sorted(TILE_OF_MJAI[name] for name in event["consumed"])
        for move in moves:
            if sorted(TILE_OF_ID[i] for i in move[0].consume_tiles) == wanted:
                return Choice(token, move)
        raise Disagreement(f"not with these tiles: {in_words(event)}")
