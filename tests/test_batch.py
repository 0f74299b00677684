import torch
from decisions import random_annotations

from annotate.annotation import Annotation
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.batch import Batch, TokenLayout, batch_of_annotations, collate
from kanachan.columns import columns_of_annotations, game_key

V = FOUR_PLAYERS
LAYOUT = TokenLayout(V)


def slow_rows(annotations: list[Annotation]) -> list[dict[str, list[int]]]:
    """Each row without padding, worked out one token at a time."""
    return [
        {
            "token": [1, 2, 3, 4, 5, 6, 7, *(8 + t for t in a.sparse), *(8 + 526 + t for t in a.progression)],
            "position": [0] * (7 + len(a.sparse)) + list(range(1, len(a.progression) + 1)),
            "candidate": [1 + action for action in a.actions],
        }
        for a in annotations
    ]


def padded(rows: list[list[int]]) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [0] * (longest - len(row)) for row in rows]


def test_the_layout_gives_every_token_of_the_vocabulary_a_row_of_its_own() -> None:
    assert (LAYOUT.numeric_first, LAYOUT.sparse_first, LAYOUT.progression_first) == (2, 8, 534)
    assert (LAYOUT.num_tokens, LAYOUT.num_candidates) == (2 + 6 + 526 + 2129, 538)


def test_a_batch_equals_its_rows_padded_one_by_one() -> None:
    annotations = random_annotations(300, seed=1)
    rows = slow_rows(annotations)

    batch = batch_of_annotations(annotations, V)

    assert batch.token_BT.tolist() == padded([row["token"] for row in rows])
    assert batch.position_BT.tolist() == padded([row["position"] for row in rows])
    assert batch.candidate_BA.tolist() == padded([row["candidate"] for row in rows])
    assert batch.numeric_BN.tolist() == [list(a.numeric) for a in annotations]
    assert batch.result_BR.tolist() == [list(a.results) for a in annotations]
    assert batch.chosen_B.tolist() == [a.chosen for a in annotations]


def test_the_seat_is_the_one_that_the_sparse_features_name() -> None:
    annotations = random_annotations(50, seed=2)
    seats = [next(t - 7 for t in a.sparse if 7 <= t <= 10) for a in annotations]

    assert batch_of_annotations(annotations, V).seat_B.tolist() == seats
    assert not batch_of_annotations(annotations, V, actor_first=True).seat_B.any()


def test_the_game_is_the_start_of_the_hash_of_its_id() -> None:
    annotations = random_annotations(2, seed=0, games=2)

    keys = batch_of_annotations(annotations, V).game_B

    assert [key % 2**64 for key in keys.tolist()] == [game_key(a.game) for a in annotations]
    assert game_key("abc") == 0xBA7816BF8F01CFEA  # FIPS 180-2, the example of one block


def test_types_are_those_the_network_reads() -> None:
    batch = batch_of_annotations(random_annotations(3, seed=0), V)
    dtypes = {name: getattr(batch, name).dtype for name in Batch.__slots__}
    assert dtypes == {
        "token_BT": torch.int32,
        "position_BT": torch.int32,
        "numeric_BN": torch.float32,
        "candidate_BA": torch.int32,
        "chosen_B": torch.int64,
        "result_BR": torch.int32,
        "seat_B": torch.int64,
        "game_B": torch.int64,
    }


def test_a_batch_moves_to_a_device_whole() -> None:
    batch = batch_of_annotations(random_annotations(3, seed=0), V).to("meta")
    assert {getattr(batch, name).device.type for name in Batch.__slots__} == {"meta"}


def test_no_rows_make_an_empty_batch() -> None:
    batch = collate(columns_of_annotations([], V), LAYOUT)
    assert len(batch) == 0
    assert batch.numeric_BN.shape == (0, 6)


def test_slices_of_columns_are_the_columns_of_slices() -> None:
    annotations = random_annotations(30, seed=3)
    part = collate(columns_of_annotations(annotations, V).rows(10, 20), LAYOUT)
    alone = batch_of_annotations(annotations[10:20], V)
    assert all(torch.equal(getattr(part, name), getattr(alone, name)) for name in Batch.__slots__)
