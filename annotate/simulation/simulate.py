"""Simulates whole games between rule-based players: mjai JSON lines, one game per file.

A game depends only on (seed, index) and the settings, so the files do not depend on the number of processes, and an
interrupted run resumes where it stopped.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from annotate.annotation import Annotation
from annotate.game.decisions import Choice, annotation_of, choice_of, play
from annotate.game.engine.table import Table, Turn
from annotate.game.features import ObservationEncoder
from annotate.game.grading import mjsoul_deltas, mjsoul_rooms, require_mjsoul_points
from annotate.game.record import Event, Rules
from annotate.game.record_writer import SUFFIX, recorded_events, rounds_of, write_record
from annotate.game.results import game_part, round_part
from annotate.game.settings import DEFAULT_RULES, NUM_ROOMS, STYLES, id_of_made, table_seed
from annotate.runtime.files import reading_text, require_folder
from annotate.runtime.in_order import in_order
from annotate.simulation.rule_agent import TEMPERAMENTS, RuleBasedAgent
from annotate.vocabulary import Vocabulary

_GRADES_PER_ROOM = 3  # grades of the players in a room: 0 ... 2 in the lowest room
_MOST_CARELESS = 0.12  # probability that the lowest grade discards its second choice; 0 for the highest grade
_NUM_GRADES = NUM_ROOMS * _GRADES_PER_ROOM


@dataclass(frozen=True, slots=True)
class SimulatedGame:
    id: str
    events: list[Event]
    """mjai, from start_game (with the settings under "kanachan") to end_game (with the final scores). start_kyoku has
    the undealt tiles under "kanachan", in the order of the wall"""
    annotations: list[Annotation]
    """in the order of play, including choices that a record does not show; empty if not requested"""


def game_id(vocabulary: Vocabulary, seed: int, index: int, style: int, rules: Rules, room: int | None) -> str:
    """Returns the id of a game, such as `sim-0-000001`, or with unusual settings `sim-east-room4-0-000001`."""
    settings = "" if style == STYLES.index("south") else f"{STYLES[style]}-"
    settings += "" if rules == DEFAULT_RULES else f"{rules}-"
    settings += "" if room is None else f"room{room}-"
    return id_of_made("sim", vocabulary, f"{settings}{seed}-{index:06}")


def simulate_game(
    vocabulary: Vocabulary,
    seed: int,
    index: int = 0,
    *,
    style: int = 1,
    rules: Rules = DEFAULT_RULES,
    room: int | None = None,
    grades: Sequence[int] | None = None,
    annotated: bool = True,
) -> SimulatedGame:
    """Plays game number `index` of `seed`. If None, the room (0 Bronze ... 4 Throne) and the grades by seat (0 ... 15,
    from the room's grades) are drawn; lower grades play more carelessly. `annotated`: whether to write annotations.
    """
    id_ = game_id(vocabulary, seed, index, style, rules, room)
    rng = random.Random(f"{seed}/{index}")
    # a given setting must not change the draws of other settings
    drawn_room = rng.choice(mjsoul_rooms(style, vocabulary.num_seats))
    places = [rng.randrange(_GRADES_PER_ROOM) for _ in range(vocabulary.num_seats)]
    room = drawn_room if room is None else room
    grades = [room * _GRADES_PER_ROOM + place for place in places] if grades is None else list(grades)
    players = _players(rng, grades, vocabulary)
    table = Table.of_game(rules, style, table_seed(seed, index), vocabulary)
    encoder = ObservationEncoder(vocabulary, room, style, tuple(grades), seats=None if annotated else ())

    def choose(turns: list[Turn]) -> dict[int, Choice]:
        return {turn.seat: choice_of(turn, players[turn.seat].choose(turn)) for turn in turns}

    decisions = play(table, encoder, choose).decisions
    scores = table.scores
    deltas = list(mjsoul_deltas(scores, room, grades, style))
    header = {"id": id_, "rules": rules, "style": style, "room": room, "grades": grades}
    events = recorded_events(table, {**header, "grading_deltas": deltas})
    round_parts = [round_part(events_of_round) for events_of_round in rounds_of(events)]
    part = game_part(scores, deltas)
    return SimulatedGame(
        id=id_,
        events=events,
        annotations=[annotation_of(id_, each, round_parts[each.round_index], part) for each in decisions],
    )


def _players(rng: random.Random, grades: Sequence[int], vocabulary: Vocabulary) -> list[RuleBasedAgent]:
    temperaments = rng.sample(TEMPERAMENTS, len(grades))
    return [
        RuleBasedAgent(
            temperament, rng.getrandbits(32), vocabulary, _MOST_CARELESS * max(0, 1 - grade / (_NUM_GRADES - 1))
        )
        for temperament, grade in zip(temperaments, grades, strict=True)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    vocabulary: Vocabulary
    folder: str
    num_games: int
    seed: int
    style: int = 1
    rules: Rules = DEFAULT_RULES
    room: int | None = None
    """drawn for each game if None"""
    num_processes: int = 1

    def __post_init__(self) -> None:
        require_folder(self.folder)
        if self.seed < 0:
            raise ValueError(f"the seed must not be negative: {self.seed}")
        if self.room is not None:
            require_mjsoul_points(self.room, self.style, self.vocabulary.num_seats)


def run(options: Options) -> Counter[str]:
    """Simulates games into `options.folder` and keeps existing files. Returns counts: games, kept, rounds. Raises
    ValueError if a file is damaged, and the OSErrors of `in_order`."""
    counts = Counter[str]()
    task = partial(_simulate_one, options)
    with closing(in_order(task, range(options.num_games), options.num_processes)) as results:
        for one in tqdm(results, total=options.num_games, unit="game", disable=None, smoothing=0.05):
            counts += one
    return counts


def _simulate_one(options: Options, index: int) -> Counter[str]:
    """Writes the record of one game unless it exists; returns its counts."""
    kind: dict[str, Any] = {"style": options.style, "rules": options.rules, "room": options.room}
    id_ = game_id(options.vocabulary, options.seed, index, **kind)
    path = Path(options.folder, f"{id_}{SUFFIX}")
    if path.exists():
        try:
            with reading_text(str(path)) as lines:
                recorded = [json.loads(line) for line in lines]
            if not recorded:
                raise ValueError("it is empty")
        except ValueError as error:
            raise ValueError(f"{path}: damaged: delete it to simulate it again ({error})") from None
        return Counter(games=1, kept=1, rounds=len(rounds_of(recorded)))
    game = simulate_game(options.vocabulary, options.seed, index, **kind, annotated=False)
    write_record(str(path), game.events)
    return Counter(games=1, rounds=len(rounds_of(game.events)))
