"""The printed integers of the specification."""

import pickle

import pytest

from annotate.blocks import Field
from annotate.vocabulary import (
    CHI_TILES,
    FOUR_PLAYERS,
    NUM_TILES,
    THREE_PLAYERS,
    TILE_NAMES,
    VOCABULARIES,
    Vocabulary,
    is_red,
    known_vocabularies,
    vocabulary_named,
    vocabulary_of_seats,
    vocabulary_with,
)
from tests.support.rounds import tiles

V = FOUR_PLAYERS
FIELDS = {"sparse": V.sparse, "progression": V.progression, "action": V.action}

PRINTED = """
    sparse room 0 4 | sparse style 5 6 | sparse seat 7 10 | sparse wind 11 13 | sparse round 14 17
    sparse dora 18 202 | sparse left 203 272 | sparse standing 273 352 | sparse hand 353 488 | sparse drawn 489 525
    progression begin 0 0 | progression discard 5 596 | progression chi 597 956 | progression pon 957 1400
    progression daiminkan 1401 1844 | progression ankan 1845 1980 | progression kakan 1981 2128
    action discard 0 147 | action ankan 148 181 | action kakan 182 218 | action tsumo 219 219 | action kyushu 220 220
    action skip 221 221 | action chi 222 311 | action pon 312 422 | action daiminkan 423 533 | action ron 534 536
"""

DOCUMENTED_FOR_THREE = """
    sparse room 0 4 | sparse style 5 6 | sparse seat 7 9 | sparse wind 10 12 | sparse round 13 15
    sparse dora 16 200 | sparse left 201 255 | sparse standing 256 312 | sparse hand 313 448 | sparse drawn 449 485
    progression begin 0 0 | progression discard 1 444 | progression pon 445 666 | progression daiminkan 667 888
    progression ankan 889 990 | progression kakan 991 1101 | progression kita 1102 1104
    action discard 0 147 | action ankan 148 181 | action kakan 182 218 | action kita 219 219 | action tsumo 220 220
    action kyushu 221 221 | action skip 222 222 | action pon 223 296 | action daiminkan 297 370 | action ron 371 372
    hidden hand 0 271 | hidden wall 272 308
"""


@pytest.mark.parametrize(("vocabulary", "table"), [(V, PRINTED), (THREE_PLAYERS, DOCUMENTED_FOR_THREE)])
def test_blocks_are_where_they_are_documented(vocabulary: Vocabulary, table: str) -> None:
    rows = [row.split() for line in table.strip().splitlines() for row in line.split("|")]
    for field, name, first, last in rows:
        block = getattr(vocabulary, field)[name]
        assert (block.first, block.first + block.size - 1) == (int(first), int(last)), (field, name)


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_every_token_belongs_to_one_block_and_is_rebuilt_from_its_description(field: Field) -> None:
    for token in range(field.size):
        name, values = field.describe(token)
        assert field[name].token(*values.values()) == token


def test_tiles_are_numbered_as_printed() -> None:
    assert tiles("0m9m0p9p0s9s1z7z") == [0, 9, 10, 19, 20, 29, 30, 36]
    assert len(TILE_NAMES) == NUM_TILES == 37
    assert [tile for tile in range(NUM_TILES) if is_red(tile)] == [0, 10, 20]


# The table is copied from the specification, so that the code's own way of writing it is checked.
CHOWS = """
    231 132 342 123 243 453 403 234 354 304 564 064 345 340 465 460
    675 670 456 406 576 076 786 567 067 687 897 678 798 789
""".split()


@pytest.mark.parametrize("suit", range(3))
def test_chows_are_numbered_as_printed(suit: int) -> None:
    printed = [tuple(10 * suit + int(digit) for digit in chow) for chow in CHOWS]
    assert list(CHI_TILES[30 * suit : 30 * suit + 30]) == printed


def test_the_fingerprints_of_the_vocabularies_are_unchanged() -> None:
    # a change here makes every shard and every weights file unreadable: see shards.py and checkpoint.py
    assert V.fingerprint == "5033eb78ab78f9bc"
    assert THREE_PLAYERS.fingerprint == "ade5443108c7ce08"


def test_a_vocabulary_is_found_by_its_name() -> None:
    assert {name: vocabulary.name for name, vocabulary in VOCABULARIES.items()} == {name: name for name in VOCABULARIES}
    assert vocabulary_named("kanachan-4p") is FOUR_PLAYERS
    assert [vocabulary_of_seats(number) for number in (3, 4)] == [THREE_PLAYERS, FOUR_PLAYERS]


def test_a_vocabulary_is_known_as_long_as_its_tokens_mean_the_same() -> None:
    assert vocabulary_with(V.name, V.fingerprint) is V
    assert vocabulary_with("kanachan-5p", V.fingerprint) is None
    assert vocabulary_with(V.name, "0123456789abcdef") is None
    assert vocabulary_with(None, None) is None
    assert known_vocabularies() == f"kanachan-4p {V.fingerprint}, kanachan-3p {THREE_PLAYERS.fingerprint}"


def test_a_vocabulary_is_pickled_as_its_name() -> None:
    pickled = pickle.dumps(FOUR_PLAYERS)
    assert pickle.loads(pickled) is FOUR_PLAYERS
    assert len(pickled) < 200
