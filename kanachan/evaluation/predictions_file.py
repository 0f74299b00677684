"""Reads evaluation decisions from annotation lines, and the action probabilities that any program has predicted.

The file of probabilities has one line per annotation line, in the same order: a probability for every possible action,
in the order of field 4, separated by commas. The annotation line itself and a tab may precede them, as in the output of
kanachan-predict. Files may be compressed, according to their suffix (.gz, .zst).

Shapes: B decisions, A candidates.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import torch
from numpy.typing import NDArray

from annotate.annotation import Annotation, parse_line
from annotate.runtime.files import reading_text
from annotate.vocabulary import Vocabulary
from kanachan.data.batch import TokenLayout, collate
from kanachan.data.columns import columns_of_annotations, game_key, round_keys
from kanachan.data.text import read_blocks
from kanachan.evaluation.decision_metrics import DecisionMeter, concatenated
from kanachan.evaluation.evaluator import Predictions
from kanachan.evaluation.held_out import HeldOut
from kanachan.evaluation.separate_questions import AnswerMeter
from kanachan.inference.reward_predictor import RewardPredictor
from kanachan.models.learned_games import LearnedGames, any_learned

SUM_TOLERANCE = 1e-3
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Lines:
    """Annotation lines to evaluate on."""

    path: str
    texts: list[str]
    """the lines in the order of the file"""
    annotations: list[Annotation]
    order: NDArray[np.int64]
    """the index of the line of each row of `held_out`"""
    held_out: HeldOut
    is_limited: bool
    """whether the file may have more lines, which are not evaluated"""


def held_out_lines(
    path: str,
    baseline: RewardPredictor,
    limit: int | None,
    replicates: int,
    without: Sequence[LearnedGames],
) -> Lines:
    """Reads the decisions of the first `limit` annotation lines, except for the games `without`. Points of the
    round have no baseline, as it needs a train split. Raises ValueError if the file is missing, empty or damaged, or if
    a line is not an annotation ("file:line: …")."""
    vocabulary = baseline.vocabulary
    texts: list[str] = []
    annotations: list[Annotation] = []
    is_left_out: dict[str, bool] = {}
    num_kept = 0
    for number, line in _lines_of(path):
        if num_kept == limit:
            break
        text, annotation = parsed_line(path, number, line, vocabulary)
        texts.append(text)
        annotations.append(annotation)
        if (game := annotation.game) not in is_left_out:
            is_left_out[game] = bool(any_learned(without, np.array([game_key(game)], np.uint64))[0])
        num_kept += not is_left_out[game]
    if not texts:
        raise ValueError(f"{path}: empty; annotation lines are expected, one per decision")
    columns = columns_of_annotations(annotations, vocabulary)
    # decisions of a seat in a round are adjacent: a network computes their shared events only once
    order = np.lexsort((columns.progression.lengths, round_keys(columns, vocabulary)))
    game_X = np.unique(columns.game)
    order = order[~any_learned(without, columns.game[order])]
    if not len(order):
        raise ValueError(f"{path}: all games are left out")
    columns = columns_of_annotations([annotations[row] for row in order], vocabulary)
    held_out = HeldOut(columns, None, vocabulary, replicates, baseline, game_X)
    return Lines(path, texts, annotations, order, held_out, is_limited=num_kept == limit)


def _lines_of(path: str) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file with their numbers, from 1."""
    for first_line, block in read_blocks(path, lambda _: None):
        yield from enumerate(block.split(b"\n")[:-1], first_line)


def parsed_line(name: str, number: int, line: bytes, vocabulary: Vocabulary) -> tuple[str, Annotation]:
    """Decodes and parses a line. Raises ValueError ("name:number: …") if it is not an annotation."""
    try:
        text = line.decode()
        return text, parse_line(text, vocabulary)
    except ValueError as error:
        raise ValueError(f"{name}:{number}: {error}") from None


def predictions_in(path: str, lines: Lines) -> Predictions:
    """Reads the probabilities of a file for annotation lines. Raises ValueError, naming the file and the line, if a
    line is missing, is of another decision, or does not have one probability for every possible action."""
    probabilities = list(_probabilities(path, lines))
    columns, vocabulary = lines.held_out.columns, lines.held_out.vocabulary
    meter, answer_meter, layout = DecisionMeter(vocabulary), AnswerMeter(vocabulary), TokenLayout(vocabulary)
    parts, answers = [], []
    for first in range(0, len(columns), _ROWS_AT_ONCE):
        batch = collate(columns.rows(first, first + _ROWS_AT_ONCE), layout)
        score_BA = torch.full(batch.candidate_BA.shape, -math.inf)
        for row, line in enumerate(lines.order[first : first + _ROWS_AT_ONCE]):
            probability_A = torch.tensor(probabilities[line], dtype=torch.float64)
            score_BA[row, : len(probability_A)] = probability_A.log().float()
        parts.append(meter.rows(score_BA, batch))
        answers.append(answer_meter.rows(score_BA, batch))
    return Predictions(concatenated(parts), {}, concatenated(answers))


def _probabilities(path: str, lines: Lines) -> Iterator[list[float]]:
    with reading_text(path) as file:
        texts = (text.rstrip("\r\n") for text in file)
        for number, (text, line) in enumerate(zip_longest(texts, lines.texts), 1):
            if line is None and lines.is_limited:
                return
            if line is None:
                raise ValueError(f"{path}:{number}: more lines than the {len(lines.texts)} of {lines.path}")
            if text is None:
                raise ValueError(f"{path}: ends after line {number - 1}; {len(lines.texts)} of {lines.path} are read")
            before, _, numbers = text.rpartition("\t")
            if before and before != line:
                raise ValueError(
                    f"{path}:{number}: before the probabilities is not line {number} of {lines.path}; all of its lines "
                    "are needed, as kanachan-predict writes them without --unseen"
                )
            try:
                yield _checked(numbers, lines.annotations[number - 1])
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None


def _checked(text: str, annotation: Annotation) -> list[float]:
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"not probabilities separated by commas: {text[:60]!r}") from None
    if len(numbers) != len(annotation.actions):
        raise ValueError(
            f"{len(numbers)} probabilities, but the decision has {len(annotation.actions)} possible actions"
        )
    for number in numbers:
        if not 0 <= number <= 1 + SUM_TOLERANCE:  # NaN is neither
            raise ValueError(f"{number} is not a probability")
    if abs(math.fsum(numbers) - 1) > SUM_TOLERANCE:
        raise ValueError(f"the probabilities add up to {math.fsum(numbers):.6g}, not to 1")
    if numbers[annotation.chosen] == 0:
        raise ValueError(
            "the action taken has probability 0, which makes the negative log-likelihood infinite: give every possible "
            "action a little, such as 1e-6"
        )
    return numbers
