"""A decision as a line of text: seven fields separated by tabs, whose elements are separated by commas.

Fields: 0 game, 1 sparse, 2 numeric, 3 progression, 4 possible actions, 5 index of the action taken, 6 results. An
optional eighth field, 7 hidden, has the tiles that only a player with perfect information would see.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from annotate.vocabulary import TABLE, VOCABULARIES, Vocabulary

FIELDS = ("game", "sparse", "numeric", "progression", "actions", "chosen", "results")
HIDDEN = "hidden"
_ALL_FIELDS = (*FIELDS, HIDDEN)
MOST_ACTIONS = 256
_LARGEST = 2**31 - 1


class Observation(NamedTuple):
    """A seat's view of the table and its possible actions, without its choice and the results."""

    sparse: tuple[int, ...]
    numeric: tuple[int, ...]
    progression: tuple[int, ...]
    actions: tuple[int, ...]
    """possible actions, in ascending order"""


class Annotation(NamedTuple):
    """A decision point of a game, the action taken, and the results of the round and the game."""

    game: str
    sparse: tuple[int, ...]
    numeric: tuple[int, ...]
    progression: tuple[int, ...]
    actions: tuple[int, ...]
    """possible actions, in ascending order"""
    chosen: int
    """index of the action taken among the actions"""
    results: tuple[int, ...]
    hidden: tuple[int, ...] | None = None

    @property
    def observation(self) -> Observation:
        return Observation(self.sparse, self.numeric, self.progression, self.actions)


def format_line(annotation: Annotation) -> str:
    """Returns the line of an annotation, without a line break."""
    body = "\t".join(",".join(map(str, field)) for field in annotation.observation)  # fields 1 to 4
    line = f"{annotation.game}\t{body}\t{annotation.chosen}\t{','.join(map(str, annotation.results))}"
    return line if annotation.hidden is None else f"{line}\t{','.join(map(str, annotation.hidden))}"


def parse_line(line: str, vocabulary: Vocabulary) -> Annotation:
    """Parses and checks one line. Raises ValueError, which names the field, the value and the expected value. The
    caller adds file and line number."""
    texts = _split(line)
    lists = {name: _integers(name, text) for name, text in zip(_ALL_FIELDS[1:], texts[1:], strict=False)}
    if not texts[0]:
        raise ValueError("field 0 (game) is empty")
    if len(lists["chosen"]) != 1:
        raise ValueError(f"field 5 (chosen) must be one integer, not {texts[5]!r}")
    annotation = Annotation(texts[0], **{**lists, "chosen": lists["chosen"][0]})  # type: ignore[arg-type]
    check(annotation, vocabulary)
    return annotation


def vocabulary_of_line(line: str) -> Vocabulary:
    """Returns the vocabulary of an annotation line, recognised by the number of elements in field 2. Raises ValueError
    if no vocabulary has that many. The caller adds file and line number."""
    return vocabulary_of_numbers(len(_integers("numeric", _split(line)[2])))


def _split(line: str) -> list[str]:
    texts = line.rstrip("\r\n").split("\t")
    if len(texts) not in (len(FIELDS), len(_ALL_FIELDS)):
        raise ValueError(f"{len(FIELDS)} tab-separated fields expected, {len(texts)} found")
    return texts


def vocabulary_of_numbers(num_numbers: int) -> Vocabulary:
    """Returns the vocabulary whose decisions have `num_numbers` numbers. Raises ValueError if there is none."""
    for vocabulary in VOCABULARIES.values():
        if len(vocabulary.numeric) == num_numbers:
            return vocabulary
    lengths = " or ".join(str(len(vocabulary.numeric)) for vocabulary in VOCABULARIES.values())
    raise ValueError(f"field 2 (numeric) must have {lengths} elements, not {num_numbers}")


def check(annotation: Annotation, vocabulary: Vocabulary) -> None:
    """Raises ValueError if a value is outside what `vocabulary` allows."""
    observation = annotation.observation
    check_observation(observation, vocabulary)
    if not 0 <= annotation.chosen < len(observation.actions):
        raise ValueError(
            f"field 5 (chosen) is {annotation.chosen}, outside the {len(observation.actions)} possible actions"
        )
    _check_length(6, "results", annotation.results, len(vocabulary.results))
    _check_numbers(6, "results", annotation.results)
    _check_results(annotation.results, vocabulary)
    if annotation.hidden is not None:
        _check_hidden(annotation.hidden, vocabulary)


def check_observation(observation: Observation, vocabulary: Vocabulary) -> None:
    """Raises ValueError if a value is outside what `vocabulary` allows."""
    num_numbers = len(observation.numeric)
    if num_numbers != len(vocabulary.numeric):
        raise ValueError(f"a decision of {vocabulary_of_numbers(num_numbers).name}; {vocabulary.name} is expected here")
    _check_tokens(1, "sparse", observation.sparse, vocabulary.sparse.size)
    _check_tokens(3, "progression", observation.progression, vocabulary.progression.size)
    _check_tokens(4, "actions", observation.actions, vocabulary.action.size)
    _check_numbers(2, "numeric", observation.numeric)
    if any(a >= b for a, b in pairwise(observation.sparse)):
        raise ValueError("field 1 (sparse) is not strictly ascending: a token is repeated or out of order")
    _check_places(observation.sparse, vocabulary)
    if not observation.progression or observation.progression[0] != vocabulary.progression["begin"].first:
        raise ValueError("field 3 (progression) does not start with the beginning of the round, 0")
    if len(observation.progression) > vocabulary.max_progression:
        raise ValueError(
            f"field 3 (progression) has {len(observation.progression)} events, more than {vocabulary.max_progression}"
        )
    if any(a >= b for a, b in pairwise(observation.actions)):
        raise ValueError("field 4 (actions) is not strictly ascending")
    if not 2 <= len(observation.actions) <= MOST_ACTIONS:
        raise ValueError(
            f"field 4 (actions) has {len(observation.actions)} elements: a decision has 2 to {MOST_ACTIONS}"
        )


def _check_places(sparse: tuple[int, ...], vocabulary: Vocabulary) -> None:
    places = [place for token in sparse if (place := vocabulary.place_of_sparse[token]) >= 0]
    if places == list(range(vocabulary.num_places)):
        return
    for name in ("seat", *TABLE):  # report a wrong seat before blocks that depend on it
        block = vocabulary.sparse[name]
        if sum(block.first <= token < block.first + block.size for token in sparse) != 1:
            raise ValueError(
                f"field 1 (sparse) must name one {name} ({block.first} ... {block.first + block.size - 1})"
            )
    raise ValueError("field 1 (sparse) must name one grade and one rank of every seat")


def _check_results(results: tuple[int, ...], vocabulary: Vocabulary) -> None:
    num_seats = vocabulary.num_seats
    last = vocabulary.num_round_results - 1
    if not 0 <= results[0] <= last:
        raise ValueError(f"field 6 (results), element 0: round result {results[0]} is not in 0 ... {last}")
    ranks = results[1 + num_seats : 1 + 2 * num_seats]
    if sorted(ranks) != list(range(num_seats)):
        raise ValueError(f"field 6 (results): the ranks {list(ranks)} are not a permutation of 0 ... {num_seats - 1}")
    if not 0 <= results[1 + 2 * num_seats] < num_seats:
        raise ValueError(f"field 6 (results): rank {results[1 + 2 * num_seats]} is not in 0 ... {num_seats - 1}")


def _check_hidden(hidden: tuple[int, ...], vocabulary: Vocabulary) -> None:
    _check_tokens(7, HIDDEN, hidden, vocabulary.hidden.size)
    wall = vocabulary.hidden["wall"].first
    if any(a >= b for a, b in pairwise(hidden) if b < wall):
        raise ValueError(
            f"field 7 ({HIDDEN}): the hands (0 ... {wall - 1}) must be strictly ascending, before the wall"
        )


def _check_tokens(number: int, name: str, tokens: tuple[int, ...], size: int) -> None:
    for position, token in enumerate(tokens):
        if not 0 <= token < size:
            raise ValueError(f"field {number} ({name}), element {position}: {token} is not in 0 ... {size - 1}")


def _check_numbers(number: int, name: str, values: tuple[int, ...]) -> None:
    for position, value in enumerate(values):
        if not -_LARGEST - 1 <= value <= _LARGEST:
            raise ValueError(f"field {number} ({name}), element {position}: {value} is beyond 32 bits")


def _check_length(number: int, name: str, values: tuple[int, ...], length: int) -> None:
    if len(values) != length:
        raise ValueError(f"field {number} ({name}) must have {length} elements, not {len(values)}")


_INTEGERS = re.compile("-?[0-9]+(?:,-?[0-9]+)*")


def _integers(name: str, text: str) -> tuple[int, ...]:
    if not _INTEGERS.fullmatch(text):  # int() would also accept " 5" and "1_0"
        number = _ALL_FIELDS.index(name)
        raise ValueError(f"field {number} ({name}) is not a comma-separated list of integers: {text[:80]!r}")
    return tuple(map(int, text.split(",")))
