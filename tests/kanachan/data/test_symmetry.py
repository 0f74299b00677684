import numpy as np
import pytest

from annotate.annotation import Annotation, Observation
from annotate.blocks import Axis
from annotate.vocabulary import (
    CHI_TILES,
    FOUR_PLAYERS,
    HAND_SLOT_FIRST,
    THREE_PLAYERS,
    TILE_NAMES,
    Vocabulary,
    tile34_of,
)
from kanachan.data.columns import Columns, columns_of_annotations
from kanachan.data.symmetry import SeatRotation, seat_rotations, suit_permutations
from tests.support.random_annotations import random_annotations

V = FOUR_PLAYERS
TILE = {name: tile for tile, name in enumerate(TILE_NAMES)}


def situation(suits: str, dealer: int = 0, actor: int = 2, names: tuple[int, ...] = (0, 1, 2, 3)) -> Annotation:
    """Makes one situation with other letters for m, p and s, or with other `names` for the seats 0, 1, 2, 3. The
    actor's seat token is never rotated. The hand's second 5m is the second copy."""

    def tile(name: str) -> int:
        return TILE[name[0] + suits["mps".index(name[1])]] if name[1] in "mps" else TILE[name]

    def tile34(name: str) -> int:
        return tile34_of(tile(name))

    def chi(*tiles: str) -> int:
        return CHI_TILES.index(tuple(map(tile, tiles)))  # type: ignore[arg-type]

    def by_seat(values: list[int]) -> tuple[int, ...]:
        return tuple(values[names.index(name)] for name in range(4))

    sparse, events, action = V.sparse, V.progression, V.action
    return Annotation(
        game="g",
        **Observation(
            sparse=(
                sparse["room"].token(4),
                sparse["seat"].token(actor),
                sparse["round"].token(names[dealer]),
                sparse["dora"].token(0, tile("4s")),
                *(sparse["standing"].token(names[s], 10 + s) for s in range(4)),
                *(sparse["standing"].token(names[s], 16 + (3, 1, 0, 2)[s]) for s in range(4)),
                *(
                    sparse["hand"].token(HAND_SLOT_FIRST[tile(name)] + copy)
                    for name, copy in (("0m", 0), ("5m", 0), ("5m", 1), ("9p", 3), ("7z", 2))
                ),
                sparse["drawn"].token(tile("3s")),
            ),
            numeric=(1, 2, *by_seat([10000, 25000, 33000, 32000])),
            progression=(
                0,
                events["discard"].token(names[1], tile("0p"), 1, 0),
                events["chi"].token(names[2], chi("6p", "7p", "0p")),
                events["pon"].token(names[3], 1, tile("1z")),
                events["daiminkan"].token(names[0], 2, tile("9m")),
                events["ankan"].token(names[0], tile34("2s")),
                events["kakan"].token(names[3], tile("1z")),
            ),
            actions=(
                action["discard"].token(tile("5m"), 0, 1),
                action["discard"].token(tile("7z"), 1, 0),
                action["ankan"].token(tile34("5m")),
                action["ankan"].token(tile34("7z")),
                action["kakan"].token(tile("9p")),
                action["tsumo"].token(),
                action["skip"].token(),
                action["chi"].token(chi("1s", "2s", "3s")),
                action["pon"].token(0, tile("0m")),
                action["daiminkan"].token(2, tile("7z")),
                action["ron"].token(1),
            ),
        )._asdict(),
        chosen=3,
        results=(7, *by_seat([-8000, 8000, 0, 0]), *by_seat([3, 0, 1, 2]), 1, 30000, 15),
    )


def lists(columns: Columns, row: int = 0) -> tuple[list[list[int]], ...]:
    """A row's sparse features (sorted, as they are a set), events, actions, numbers and results."""
    tokens = [c.values[c.starts[row] : c.starts[row + 1]].tolist() for c in (columns.progression, columns.actions)]
    sparse = columns.sparse.values[columns.sparse.starts[row] : columns.sparse.starts[row + 1]]
    return sorted(sparse.tolist()), *tokens, columns.numeric[row].tolist(), columns.results[row].tolist()


@pytest.mark.parametrize("which", range(6))
def test_permuting_suits_gives_the_annotation_of_the_permuted_tiles(which: int) -> None:
    suits = "".join("mps"[suit] for suit in V.suit_orders[which])
    columns = columns_of_annotations([situation("mps")], V)

    permuted = suit_permutations(V).apply(columns, np.array([which]))

    assert lists(permuted) == lists(columns_of_annotations([situation(suits)], V))
    assert permuted.chosen.tolist() == [3]


@pytest.mark.parametrize(
    ("actor", "names"),
    [(0, (0, 1, 2, 3)), (1, (3, 0, 1, 2)), (2, (2, 3, 0, 1)), (3, (1, 2, 3, 0))],  # written out by hand
)
def test_rotating_seats_gives_the_annotation_with_the_actor_as_seat_0(actor: int, names: tuple[int, ...]) -> None:
    columns = columns_of_annotations([situation("mps", dealer=3, actor=actor)], V)

    rotated = SeatRotation(V).actor_first(columns)

    assert lists(rotated) == lists(columns_of_annotations([situation("mps", dealer=3, actor=actor, names=names)], V))
    assert rotated.seat.tolist() == [0]


@pytest.mark.parametrize("field", ["sparse", "progression", "action"])
def test_suit_permutations_are_a_group_that_acts_on_tokens(field: str) -> None:
    tables = getattr(suit_permutations(V), field)
    assert (np.sort(tables, axis=1) == np.arange(tables.shape[1])).all()
    assert (tables[0] == np.arange(tables.shape[1])).all()
    for p, first in enumerate(V.suit_orders):
        for q, second in enumerate(V.suit_orders):
            both = V.suit_orders.index(tuple(second[suit] for suit in first))
            assert (tables[q][tables[p]] == tables[both]).all()


@pytest.mark.parametrize("field", ["sparse", "progression", "action"])
def test_four_rotations_by_one_seat_are_the_identity(field: str) -> None:
    tables = getattr(seat_rotations(V), field).astype(int)
    once = tables[1]
    assert (tables[2] == once[once]).all()
    assert (once[tables[3]] == np.arange(len(once))).all()
    assert (tables[0] == np.arange(len(once))).all()


def test_each_row_is_permuted_by_its_own_permutation() -> None:
    annotations = random_annotations(60, seed=0)
    which = np.arange(60) % 6
    tables = suit_permutations(V)

    together = tables.apply(columns_of_annotations(annotations, V), which)

    for row, annotation in enumerate(annotations):
        alone = tables.apply(columns_of_annotations([annotation], V), which[row : row + 1])
        assert lists(together, row) == lists(alone)


def test_with_three_players_only_circles_and_bamboos_are_exchanged() -> None:
    tables, action = suit_permutations(THREE_PLAYERS), THREE_PLAYERS.action["discard"]
    assert tables.action.shape == (2, THREE_PLAYERS.action.size)
    moved = {name: int(tables.action[1, action.token(TILE[name], 1, 0)]) for name in ("9m", "0p", "3s", "4z")}
    expected = {"9m": "9m", "0p": "0s", "3s": "3p", "4z": "4z"}
    assert moved == {name: action.token(TILE[other], 1, 0) for name, other in expected.items()}


def test_kita_events_are_rotated_with_the_seats() -> None:
    tables, kita = seat_rotations(THREE_PLAYERS), THREE_PLAYERS.progression["kita"]
    assert [[int(tables.progression[shift, kita.token(seat)]) for seat in range(3)] for shift in range(3)] == [
        [kita.token((seat - shift) % 3) for seat in range(3)] for shift in range(3)
    ]


@pytest.mark.parametrize("vocabulary", [V, THREE_PLAYERS], ids=lambda vocabulary: vocabulary.name)
def test_hidden_hands_are_counted_from_the_actor_so_that_rotations_leave_them(vocabulary: Vocabulary) -> None:
    blocks = [*vocabulary.hidden.blocks.values(), *vocabulary.action.blocks.values()]
    assert all(factor.axis is not Axis.SEAT for block in blocks for factor in block.factors)
