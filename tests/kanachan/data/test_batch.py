import pytest
import torch

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.data.batch import Batch, TokenLayout, batch_of_annotations, batch_of_columns, collate
from kanachan.data.columns import columns_of_annotations, columns_of_observations, game_key
from kanachan.data.symmetry import SeatRotation
from tests.support.random_annotations import altered, random_annotations

V = FOUR_PLAYERS
LAYOUT = TokenLayout(V)
INPUTS = [name for name in Batch.__slots__ if name not in ("varlen", "labels", "paid_BS")]


def slow_row(annotation: Annotation) -> dict[str, list]:
    """A row without padding, worked out one token at a time."""
    tokens: dict[str, list[int]] = {}
    standing = [[0, 0] for _ in range(V.num_seats)]
    for token in annotation.sparse:
        name, values = V.sparse.describe(token)
        if name == "standing":
            standing[values["seat"]][values["grade_or_rank"] >= 16] = 1 + token
        else:
            tokens.setdefault(name, []).append(1 + token)
    return {
        "table": [tokens[name][0] for name in ("room", "style", "seat", "wind", "round", "left")],
        "standing": standing,
        "tile": [*tokens["dora"], *tokens.get("hand", []), *tokens.get("drawn", [])],
        "event": [1 + V.sparse.size + event for event in annotation.progression],
        "candidate": [1 + action for action in annotation.actions],
    }


def padded(rows: list[list[int]]) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [0] * (longest - len(row)) for row in rows]


def test_the_layout_gives_every_token_of_the_vocabulary_a_separate_row() -> None:
    assert (LAYOUT.sparse_first, LAYOUT.event_first) == (1, 527)
    assert (LAYOUT.num_tokens, LAYOUT.num_candidates) == (1 + 526 + 2129, 538)


def test_a_batch_equals_its_rows_padded_one_by_one() -> None:
    annotations = random_annotations(300, seed=1)
    rows = [slow_row(annotation) for annotation in annotations]

    batch = collate(columns_of_annotations(annotations, V), LAYOUT)

    assert batch.table_BS.tolist() == [row["table"] for row in rows]
    assert batch.standing_BP2.tolist() == [row["standing"] for row in rows]
    assert batch.tile_BT.tolist() == padded([row["tile"] for row in rows])
    assert batch.seen_B.tolist() == [len(row["event"]) for row in rows]
    for row, group, seen in zip(rows, batch.group_B.tolist(), batch.seen_B.tolist(), strict=True):
        assert batch.event_GE[group, :seen].tolist() == row["event"]
    assert batch.candidate_BA.tolist() == padded([row["candidate"] for row in rows])
    assert batch.numeric_BN.tolist() == [list(a.numeric) for a in annotations]
    assert batch.result_BR.tolist() == [list(a.results) for a in annotations]
    assert batch.chosen_B.tolist() == [a.chosen for a in annotations]


def test_rows_share_events_if_each_sees_all_events_of_the_row_before() -> None:
    (base,) = random_annotations(1, seed=4)
    events = base.progression
    progressions = [
        events[:2],
        events[:5],
        events[:5],
        events[:3],  # fewer than before: another group, although these are the first of the former
        (*events[:3], events[3] ^ 1),
        (*events[:3], events[3] ^ 1, *events[4:6]),
        events[:6],
    ]
    annotations = [altered(base, progression=progression) for progression in progressions]
    annotations.append(annotations[-1]._replace(game="another"))

    batch = collate(columns_of_annotations(annotations, V), LAYOUT)

    assert batch.group_B.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    first = 1 + V.sparse.size
    assert batch.event_GE[1].tolist() == [first + event for event in progressions[5]]


@pytest.mark.parametrize("name", ["room", "style", "wind", "round", "left", "standing"])
def test_a_situation_that_lacks_a_token_of_the_table_is_refused(name: str) -> None:
    (base,) = random_annotations(1, seed=4)
    token = next(token for token in base.sparse if V.sparse.block_of(token).name == name)
    lacking = altered(base, sparse=tuple(other for other in base.sparse if other != token))
    with pytest.raises(ValueError, match="must have one token each of room, style"):
        batch_of_annotations([lacking], V)


def test_the_seat_comes_from_the_sparse_features() -> None:
    annotations = random_annotations(50, seed=2)
    seats = [next(t - 7 for t in a.sparse if 7 <= t <= 10) for a in annotations]

    assert columns_of_annotations(annotations, V).seat.tolist() == seats
    assert not SeatRotation(V).actor_first(columns_of_annotations(annotations, V)).seat.any()


def test_the_game_is_the_start_of_the_hash_of_its_id() -> None:
    annotations = random_annotations(2, seed=0, games=2)

    keys = batch_of_annotations(annotations, V).game_B

    assert [key % 2**64 for key in keys.tolist()] == [game_key(a.game) for a in annotations]
    assert game_key("abc") == 0xBA7816BF8F01CFEA  # the one-block example of FIPS 180-2


def test_a_batch_of_observations_equals_one_of_annotations_except_for_labels() -> None:
    annotations = random_annotations(40, seed=6, games=40)
    columns = columns_of_observations([a.observation for a in annotations], V)
    seen = batch_of_columns(columns, V)
    whole = batch_of_annotations(annotations, V)
    assert seen.labels is None
    assert all(torch.equal(getattr(seen, name), getattr(whole, name)) for name in INPUTS)
