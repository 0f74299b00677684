"""Plays a table to its end with the choices of a record, a rule-based player or a model; collects decision points."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from annotate.annotation import Annotation, Observation
from annotate.game.engine.table import Table, Turn
from annotate.game.features import ObservationEncoder
from annotate.game.record import CLAIMS
from annotate.vocabulary import Vocabulary

KINDS = ("discard", "riichi", "ankan", "kakan", "kita", "tsumo", "kyushu", "skip", *CLAIMS, "ron")
"""kinds of chosen actions, with their names in reports"""


@dataclass(slots=True)
class Decision:
    """A decision point: a seat's observation and choice."""

    observation: Observation
    seat: int
    chosen: int
    """index into the observation's actions"""
    round_index: int
    is_preempted: bool
    """whether another seat's call or ron hid the choice: only a record of the pressed buttons shows it, not events"""
    hidden: tuple[int, ...] | None = None


class Choice(NamedTuple):
    """The action token and the move that a seat chooses."""

    token: int
    move: Any
    is_known: bool = True
    """False if a record cannot show the choice; the move is then a pass, and no decision point is collected"""
    is_automatic: bool = False
    """True if the server chose for a player who was away; no decision point is collected"""


class Play(NamedTuple):
    """The result of `play`: the decisions in order of play, and the number of skipped choices by reason."""

    decisions: list[Decision]
    num_unknown: int
    automatic: Counter[str]
    num_others: int


def annotation_of(
    game_id: str, decision: Decision, round_part: Sequence[tuple[int, ...]], game_part: Sequence[tuple[int, ...]]
) -> Annotation:
    """Joins a decision with the results of its round and its game, both by seat (`annotate.game.results`)."""
    results = round_part[decision.seat] + game_part[decision.seat]
    return Annotation(game_id, *decision.observation, decision.chosen, results, decision.hidden)


def decision_of(
    turn: Turn, token: int, observation: Observation, table: Table, encoder: ObservationEncoder
) -> Decision:
    """Returns the decision of an action, with the hidden tiles at the table now. `mark_preempted` adds whether another
    seat's action hid it."""
    return Decision(
        observation=observation,
        seat=turn.seat,
        chosen=observation.actions.index(token),
        round_index=table.round_index,
        is_preempted=False,
        hidden=encoder.hidden(turn.seat, table),
    )


def choice_of(turn: Turn, token: int) -> Choice:
    """Returns the choice of an option by its action token."""
    return Choice(token, turn.options[token][0])


def prefer(turn: Turn, choice: Choice) -> None:
    """Puts the choice's move first among the moves of its token, for callers that pass on only the token."""
    turn.options[choice.token].sort(key=lambda move: move is not choice.move)


def play(table: Table, writer: ObservationEncoder, choose: Callable[[list[Turn]], dict[int, Choice]]) -> Play:
    """Plays `table` to its end. `choose`: returns a choice for each seat that must act."""
    decisions: list[Decision] = []
    num_unknown, num_others, automatic = 0, 0, Counter[str]()
    while not table.done:
        turns = table.turns
        choices = choose(turns)
        window: list[tuple[Decision, Turn]] = []
        for turn in turns:
            choice = choices[turn.seat]
            if len(turn.options) < 2:
                continue  # a forced move is not a decision
            if turn.seat not in writer.seats:
                num_others += 1
                continue
            if not choice.is_known:
                num_unknown += 1
                continue
            if choice.is_automatic:
                automatic[kind_of(choice.token, writer.vocabulary)] += 1
                continue
            observation = writer.observation(turn, table.progression)
            decision = decision_of(turn, choice.token, observation, table, writer)
            decisions.append(decision)
            window.append((decision, turn))
        table.step({seat: choice.move for seat, choice in choices.items()})
        mark_preempted(window, [choice.token for choice in choices.values()], writer.vocabulary)
    return Play(decisions, num_unknown, automatic, num_others)


def mark_preempted(window: Sequence[tuple[Decision, Turn]], tokens: Iterable[int], vocabulary: Vocabulary) -> None:
    """Sets `is_preempted` of decisions taken at the same time. `tokens`: the actions of all seats at that time."""
    if not window or window[0][1].target is None:
        return
    kinds = {vocabulary.action.block_of(token).name for token in tokens}
    outcome = next((kind for kind in ("ron", "daiminkan", "pon", "chi") if kind in kinds), "pass")
    for decision, turn in window:
        taken = decision.observation.actions[decision.chosen]
        decision.is_preempted = is_hidden(turn.options, outcome, taken, vocabulary)


def is_hidden(options: Iterable[int], outcome: str, chosen: int | None, vocabulary: Vocabulary) -> bool:
    """Returns whether `outcome`, the claim that was carried out or "pass", hides the choice of a seat with `options`
    from a record. `chosen`: the seat's action if known; an action that was carried out is never hidden.

    Ron takes precedence over pon and kan, which take precedence over chi. A ron is never hidden, as several seats may
    win the same tile. A call before an aborted round is not hidden either: the tile that aborts it can only be won.
    """
    if outcome in ("pass", "chi"):
        return False
    if chosen is not None and vocabulary.action.block_of(chosen).name == outcome:
        return False
    hidden = ("chi",) if outcome in ("pon", "daiminkan") else CLAIMS
    return any(vocabulary.action.block_of(token).name in hidden for token in options)


def kind_of(token: int, vocabulary: Vocabulary) -> str:
    """Returns the kind of an action, one of `KINDS`: a discard with riichi is "riichi"."""
    name, values = vocabulary.action.describe(token)
    return "riichi" if values.get("riichi") else name


@cache
def kinds_of_actions(vocabulary: Vocabulary) -> list[str]:
    """Returns the kind of each action token."""
    return [kind_of(token, vocabulary) for token in range(vocabulary.action.size)]
