"""The rounds of a replayed game, with all data that a review shows for each seat."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from annotate.annotation import Annotation
from annotate.game.record import Game, Round
from annotate.game.results import round_part, tenpai_by_seat
from annotate.game.tiles import WIND_NAMES, WINDS
from annotate.game.winning import Win
from annotate.replay.replay import ReplayResult
from annotate.vocabulary import Vocabulary
from annotate.words import ABORTED, NOT_TENPAI, ROUND_RESULTS, TENPAI
from kanachan.review.board import candidate_of, table_of
from kanachan.review.choices import Choices
from kanachan.review.course import Course
from kanachan.review.danger import DecisionDanger
from kanachan.review.ending import ending_of
from kanachan.review.hand_shape import HandShape
from kanachan.review.tile_names import kind_of_tile

Data = dict[str, Any]
_SHAPE = ("discard", "shanten", "ukeire", "ukeire_tiles", "furiten")
"""fields of the hand after an action that does not end the round"""


@dataclass
class ReviewedRound:
    """A round that could be replayed."""

    game: Game
    index: int
    """index of the round in the record, which also counts rounds that could not be replayed"""
    recorded: Round
    wins: list[Win]
    annotations: list[Annotation]
    """annotations of all seats"""

    def own(self, seat: int) -> list[Annotation]:
        return [a for a in self.annotations if value_of(a, self.game.vocabulary, "seat") == seat]

    @cached_property
    def course(self) -> Course:
        return Course(self.recorded, self.game.vocabulary)

    @cached_property
    def ending(self) -> Data:
        named = self.game.vocabulary.named_results(self.annotations[0].results)
        deltas = [named[f"round_delta_{seat}"] for seat in range(self.game.vocabulary.num_seats)]
        tenpai = None
        if self._words_of(named["round_result"]) in (NOT_TENPAI, TENPAI):
            tenpai = tenpai_by_seat(self.recorded.events)
        return ending_of(self.course, self.wins, deltas, tenpai)

    def _words_of(self, round_result: int) -> str:
        return ROUND_RESULTS[self.game.vocabulary.num_seats][round_result]

    def described(self, seat: int, first: int) -> Data:
        """Returns the round as data for a seat. `first`: the index of its first decision in the seat's game."""
        of_seat = self.own(seat)
        named = self.game.vocabulary.named_results((of_seat or self.annotations)[0].results)
        result = self._words_of(named["round_result"])
        if not of_seat and result != ABORTED:  # the annotation describes it from another seat's view
            result = self._words_of(round_part(self.recorded.events)[seat][0])
        wind, dealer, honba = _place_of(self.recorded)
        after = self.course.between(self.course.place_of(of_seat[-1]) if of_seat else 1, self.course.end)
        return {
            "name": f"{WIND_NAMES[wind]} {dealer + 1}-{honba}",
            "wind": wind,
            "dealer": dealer,
            "honba": honba,
            "first": first,
            "decisions": len(of_seat),
            "result": result,
            "deltas": self.ending["deltas"],
            "link": self.link(seat),
            "after": [e | {"reason": self.ending["reason"]} if e["type"] == "end" else e for e in after],
            "end": self.ending,
        }

    def decisions(self, seat: int, choices: Sequence[Choices], dangers: Sequence[DecisionDanger]) -> list[Data]:
        """Returns the data of each decision of a seat, except for the networks' answers."""
        described, place = [], 1
        for annotation, of_choice, danger in zip(self.own(seat), choices, dangers, strict=True):
            before, place = place, self.course.place_of(annotation)
            moment = self.course.moment(place)
            table = table_of(annotation, moment, self.game.vocabulary)
            shape = HandShape(table, moment.furiten_kinds[seat], self.game.vocabulary)
            hands = zip(moment.concealed, moment.drawn, strict=True)
            described.append(
                {
                    "table": asdict(table),
                    "since": self.course.between(before, place),
                    "hands": [{"tiles": tiles, "drawn": drawn} for tiles, drawn in hands],
                    "shanten": shape.shanten,
                    "waits": shape.waiting.tiles if shape.waiting else [],
                    "furiten": shape.is_furiten,
                    "win": danger.win[seat],
                    "opponents": [
                        {"seat": other, "win": danger.win[other], "tenpai": danger.tenpai[other]}
                        for other in ((seat + step) % len(danger.win) for step in range(1, len(danger.win)))
                    ],
                    "candidates": self._candidates(of_choice, shape, danger),
                }
            )
        return described

    def link(self, seat: int) -> str | None:
        """Returns the URL of the replay of this round as seen from a seat."""
        is_whole = _place_of(self.game.rounds[0]) == (0, 0, 0)
        return self.game.origin.link(seat, self.index if is_whole else None)

    def _candidates(self, choices: Choices, shape: HandShape, danger: DecisionDanger) -> list[Data]:
        candidates = []
        for token in choices.annotation.actions:
            data = candidate_of(token, self.game.vocabulary) | dict.fromkeys(_SHAPE)
            kind, tiles = data["kind"], data["tiles"]
            is_discard = kind in ("discard", "riichi")
            data["danger"] = danger.deal_in[kind_of_tile(tiles[0])] if is_discard else None
            after = shape.after_action(kind, tiles)
            if after is not None:
                accepted, data["discard"] = after
                data["shanten"] = accepted.shanten
                data["ukeire"] = sum(accepted.left.values())
                data["ukeire_tiles"] = accepted.tiles
                if is_discard and accepted.shanten == 0:
                    data["furiten"] = shape.is_furiten_after(tiles[0], accepted)
            candidates.append(data)
        return candidates


def chosen_rounds(rounds: Sequence[ReviewedRound], names: str) -> list[ReviewedRound]:
    """Returns the rounds named in a list such as E1,S3.1: East 1 with any honba, and South 3 with one honba. Raises
    ValueError, which lists all rounds, if there is no such round."""
    wanted = [name.strip().upper() for name in names.split(",")]
    by_name = {}
    for reviewed in rounds:
        wind, dealer, honba = _place_of(reviewed.recorded)
        by_name[f"{tuple(WINDS)[wind]}{dealer + 1}.{honba}"] = reviewed
    for name in wanted:
        if not any(name in (known, known.partition(".")[0]) for known in by_name):
            raise ValueError(f"--rounds {names}: no round {name}; there are {','.join(by_name)}")
    return [reviewed for known, reviewed in by_name.items() if {known, known.partition(".")[0]} & {*wanted}]


def reviewed_rounds(game: Game, report: ReplayResult) -> list[ReviewedRound]:
    """Returns the rounds of a game that could be replayed and contain a decision of any seat."""
    reviewed = []
    for place, annotations, wins in report.rounds:
        if annotations:
            num_lost = sum(lost.place <= place for lost in game.lost)
            reviewed.append(ReviewedRound(game, place + num_lost, game.rounds[place], wins, annotations))
    return reviewed


def _place_of(recorded: Round) -> tuple[int, int, int]:
    """Returns the wind, dealer and honba of a round."""
    start = recorded.events[0]
    return WINDS[start["bakaze"]], start["oya"], start["honba"]


def value_of(annotation: Annotation, vocabulary: Vocabulary, name: str) -> int:
    """Returns the value of a sparse block that has exactly one token in every situation."""
    block = vocabulary.sparse[name]
    return next(token for token in annotation.sparse if block.first <= token < block.first + block.size) - block.first
