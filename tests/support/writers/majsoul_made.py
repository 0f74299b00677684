"""Games made up here, with the offers of Mahjong Soul's server to each seat, and the inputs of the players."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from annotate.game.decisions import Choice, Decision, choice_of, play
from annotate.game.engine.table import Table, Turn
from annotate.game.features import ObservationEncoder
from annotate.game.grading import mjsoul_delta, ranks_of
from annotate.game.record import Event, Game, Round, Rules
from annotate.game.record_writer import rounds_of
from annotate.game.results import final_scores
from annotate.game.tiles import TILE_OF_ID
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import CHI_TILES, TILE_NAMES, Vocabulary
from tests.support.rounds import Script, V, events_of_round, start_of_round, start_of_three, wall_of_deal, writer_of

_CLAIM_TYPES = {"chi": 2, "pon": 3, "daiminkan": 5, "ron": 9}

Json = dict[str, Any]


@dataclass
class Window:
    """A moment at which seats had to act: the offers to each, and its input."""

    is_claim: bool
    operations: list[Json]
    inputs: list[Json]


class Watch:
    """Chooses as another function does, and keeps the windows."""

    def __init__(self, choose: Callable[[list[Turn]], dict[int, Choice]], vocabulary: Vocabulary = V) -> None:
        self._choose, self._vocabulary = choose, vocabulary
        self.windows: list[Window] = []

    def __call__(self, turns: list[Turn]) -> dict[int, Choice]:
        choices = self._choose(turns)
        is_claim = turns[0].target is not None
        window = Window(is_claim, [], [])
        for turn in turns:
            operations = _operations(turn, self._vocabulary)
            window.operations.append({"seat": turn.seat, "operation_list": operations, "time_add": 20000})
            window.inputs.append(_input(turn, choices[turn.seat].token, operations, self._vocabulary))
        self.windows.append(window)
        return choices


@dataclass
class MadeGame:
    """A game with all that Mahjong Soul would record of it."""

    rounds: list[list[Event]]
    windows: list[Window]
    decisions: list[Decision]
    room: int = 3
    style: int = 1
    grades: Sequence[int] = (9, 10, 11, 15)
    id: str = "210815-00000000-made-up"
    rules: Rules = "mjsoul"
    vocabulary: Vocabulary = V

    @property
    def final_scores(self) -> tuple[int, ...]:
        return final_scores(self.rounds[-1])

    @property
    def grading_deltas(self) -> tuple[int, ...]:
        scores = self.final_scores
        standings = zip(ranks_of(scores), scores, self.grades, strict=True)
        return tuple(
            mjsoul_delta(rank, score, self.room, grade, self.style, len(scores)) for rank, score, grade in standings
        )

    @property
    def game(self) -> Game:
        """As the reader of mjai would have it."""
        return Game(
            vocabulary=self.vocabulary,
            id=self.id,
            rules=(self.rules,),
            style=self.style,
            rounds=tuple(Round(tuple(events)) for events in self.rounds),
            room=self.room,
            grades=tuple(self.grades),
            final_scores=self.final_scores,
            grading_deltas=self.grading_deltas,
        )


def simulated(seed: int, style: int = 0, rules: Rules = "mjsoul", vocabulary: Vocabulary = V) -> MadeGame:
    """A whole game of careless rule-based players, who set aside every North that they draw."""
    made = _simulated(seed, style, rules, vocabulary)
    return replace(made, rounds=deepcopy(made.rounds), windows=deepcopy(made.windows))


@cache
def _simulated(seed: int, style: int, rules: Rules, vocabulary: Vocabulary) -> MadeGame:
    num_seats = vocabulary.num_seats
    players = [RuleBasedAgent(TEMPERAMENTS[seat], seed * 4 + seat, vocabulary, 0.1) for seat in range(num_seats)]

    def choose(turns: list[Turn]) -> dict[int, Choice]:
        return {
            turn.seat: choice_of(turn, _kita(turn, vocabulary) or players[turn.seat].choose(turn)) for turn in turns
        }

    watch = Watch(choose, vocabulary)
    made = MadeGame([], [], [], style=style, rules=rules, vocabulary=vocabulary)
    made.grades = made.grades[:num_seats]
    table = Table.of_game(rules, style, seed, vocabulary)
    made.decisions = play(table, ObservationEncoder(vocabulary, made.room, style, tuple(made.grades)), watch)[0]
    made.rounds, made.windows = rounds_of(table.log()), watch.windows
    return made


def _kita(turn: Turn, vocabulary: Vocabulary) -> int | None:
    tokens = [vocabulary.action["kita"].first] if "kita" in vocabulary.action.blocks else []
    return next((token for token in tokens if token in turn.options), None)


def made_round(
    script: str = "", hands: Sequence[str] = (), draws: str = "", rules: Rules = "mjsoul", **more: Any
) -> MadeGame:
    """A game of one round; arguments as for rounds.play_round."""
    vocabulary = more.pop("vocabulary", V)
    start = more.pop("start", None) or (start_of_round() if vocabulary is V else start_of_three())
    scripted = Script(script, vocabulary)
    watch = Watch(scripted.choose, vocabulary)
    made = MadeGame([], [], [], rules=rules, vocabulary=vocabulary)
    made.grades = made.grades[: vocabulary.num_seats]
    wall = wall_of_deal(hands, draws, oya=start["oya"], vocabulary=vocabulary, **more)
    table = Table.of_round(rules, start, wall, vocabulary, logs_events=True)
    made.decisions = play(table, writer_of(made.room, made.style, made.grades, vocabulary=vocabulary), watch)[0]
    assert not scripted.moves, f"not played: {scripted.moves}"
    made.rounds, made.windows = [events_of_round(table.log())], watch.windows
    return made


def _operations(turn: Turn, vocabulary: Vocabulary) -> list[Json]:
    """OptionalOperation messages: for claims, with the possible calls of another player's tile; for a seat's own turn,
    one message stands for all options."""
    described = [(*vocabulary.action.describe(token), moves) for token, moves in turn.options.items()]
    if turn.target is None:
        has_choice = not turn.observation.riichi_declared[turn.seat] or any(k != "discard" for k, *_ in described)
        return [{"type": 1}] if has_choice else []
    kinds: dict[int, list[str]] = {}
    for kind, values, moves in described:
        if kind == "chi":
            kinds.setdefault(2, []).append("|".join(TILE_NAMES[tile] for tile in CHI_TILES[values["chi"]][:2]))
        elif kind != "skip":
            used = ["|".join(TILE_NAMES[TILE_OF_ID[i]] for i in action.consume_tiles) for action, _ in moves]
            kinds.setdefault(_CLAIM_TYPES[kind], []).extend(used if kind != "ron" else [])
    return [{"type": kind, **({"combination": names} if names else {})} for kind, names in sorted(kinds.items())]


def _input(turn: Turn, token: int, operations: list[Json], vocabulary: Vocabulary) -> Json:
    """GameUserInput."""
    kind, values = vocabulary.action.describe(token)
    if turn.target is None:
        tile = {"tile": TILE_NAMES[values["tile"]]} if "tile" in values else {}
        return {"seat": turn.seat, "type": 2, "operation": {"type": 1, "timeuse": 3, **tile}}
    if kind == "skip":
        return {"seat": turn.seat, "type": 3, "cpg": {"cancel_operation": True, "timeuse": 1}}
    index = 0
    if kind == "chi":
        combinations = next(operation["combination"] for operation in operations if operation["type"] == 2)
        index = combinations.index("|".join(TILE_NAMES[tile] for tile in CHI_TILES[values["chi"]][:2]))
    return {"seat": turn.seat, "type": 3, "cpg": {"type": _CLAIM_TYPES[kind], "index": index, "timeuse": 2}}
