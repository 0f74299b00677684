from collections import Counter
from typing import Any

import numpy as np
import pytest

from annotate.annotation import format_line
from annotate.simulation.simulate import simulate_game
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.config import DataConfig
from kanachan.data.batch import Batch, TokenLayout, batch_of_columns, collate
from kanachan.data.loader import EvalLoader, Share, TrainLoader
from kanachan.data.pack import pack
from kanachan.data.pack_options import Packing
from kanachan.data.sampler import EpochSampler
from kanachan.data.shards import Shards, open_shards
from tests.support.packed import packed

V = FOUR_PLAYERS
LAYOUT = TokenLayout(V)
ROWS, BATCH = 330, 32


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return open_shards(packed(tmp_path_factory.mktemp("data") / "shards", ROWS, rows_per_shard=100), "train")


def batches(shards: Shards, seed: int = 0, rank: int = 0, world: int = 1, **changes: Any) -> TrainLoader:
    config = DataConfig(**{"batch": BATCH, "micro_batch": 8, **changes})
    return TrainLoader(shards, config, seed, Share(rank, world))


def sequential(shards: Shards, batch: int, rank: int = 0, world: int = 1, limit: int | None = None) -> EvalLoader:
    share = Share(rank, world)
    return EvalLoader(shards, batch=batch, share=share, limit=limit, varlen=False, labeller=None)


def rows(batch: Batch) -> list[tuple[Any, ...]]:
    """Each row of a batch without its padding."""
    return [
        (
            tuple(table),
            tuple(tile[tile > 0].tolist()),
            tuple(batch.event_GE[group, :seen].tolist()),
            tuple(candidate[candidate > 0].tolist()),
            chosen,
            tuple(result),
            game,
        )
        for table, tile, group, seen, candidate, chosen, result, game in zip(
            batch.table_BS.tolist(),
            batch.tile_BT,
            batch.group_B.tolist(),
            batch.seen_B.tolist(),
            batch.candidate_BA,
            batch.chosen_B.tolist(),
            batch.result_BR.tolist(),
            batch.game_B.tolist(),
            strict=True,
        )
    ]


def all_rows(shards: Shards) -> Counter[tuple[Any, ...]]:
    return Counter(rows(batch_of_columns(shards.gather(np.arange(len(shards))), FOUR_PLAYERS)))


def epoch(loader: TrainLoader | EvalLoader) -> list[list[tuple[Any, ...]]]:
    return [rows(batch) for batch in loader]


@pytest.mark.parametrize("num_rows", [1, 7, 8, 64, 65, 500])
def test_an_epoch_orders_every_row_once(num_rows: int) -> None:
    order = EpochSampler(num_rows, seed=0, unit=4, block=8, blocks_per_window=4)
    for number in range(3):
        assert sorted(order.rows(number, 0, num_rows).tolist()) == list(range(num_rows))


def test_a_span_of_the_order_does_not_depend_on_earlier_queries() -> None:
    whole = EpochSampler(500, seed=3, unit=2, block=8, blocks_per_window=4).rows(2, 0, 500)
    order, rng = EpochSampler(500, seed=3, unit=2, block=8, blocks_per_window=4), np.random.default_rng(0)
    for first, last in np.sort(rng.integers(501, size=(100, 2)), axis=1).tolist():
        assert order.rows(2, first, last).tolist() == whole[first:last].tolist()
        order.rows(1, 0, 5)


def test_the_order_stays_within_windows_so_that_reading_is_local() -> None:
    order = EpochSampler(10_000, seed=0, unit=5, block=10, blocks_per_window=20).rows(0, 0, 200)
    assert len({row // 10 for row in order.tolist()}) == 20


def test_neighbours_decide_how_many_rounds_are_in_a_batch(shards: Shards) -> None:
    rounds = {}
    for neighbours in (1, 16):
        batch = next(iter(batches(shards, micro_batch=BATCH, neighbours=neighbours)))
        row_of = {row: i for i, row in enumerate(rows(batch_of_columns(shards.gather(np.arange(ROWS)), FOUR_PLAYERS)))}
        places = sorted(row_of[row] for row in rows(batch))
        rounds[neighbours] = 1 + sum(b - a > 1 for a, b in zip(places, places[1:], strict=False))
    assert rounds[16] <= 2 + 1 and rounds[1] > 2 * rounds[16]


def test_an_epoch_yields_each_row_once_except_a_few_that_differ_between_epochs(shards: Shards) -> None:
    loader = batches(shards)
    one, other = (Counter(sum(epoch(loader), [])) for _ in range(2))
    assert one.total() == ROWS // BATCH * BATCH
    assert one <= all_rows(shards) and one != other
    assert (one & other).total() > ROWS / 2


def test_a_step_is_split_into_micro_batches_by_length(shards: Shards) -> None:
    for step in np.array([int(b.seen_B.max()) for b in batches(shards)]).reshape(-1, BATCH // 8):
        assert (np.diff(step) >= 0).all()


def test_the_length_of_the_loader_is_its_number_of_batches(shards: Shards) -> None:
    assert len(batches(shards)) == len(epoch(batches(shards))) == ROWS // BATCH * (BATCH // 8)
    assert len(batches(shards, world=2)) == len(epoch(batches(shards, world=2))) == ROWS // BATCH * (BATCH // 16)


def test_the_same_seed_gives_the_same_batches_and_another_seed_gives_others(shards: Shards) -> None:
    first, second, other = epoch(batches(shards)), epoch(batches(shards)), epoch(batches(shards, seed=1))
    assert first == second
    assert first != other


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    """The decisions of two games, as they were played."""
    folder = tmp_path_factory.mktemp("played")
    lines = [format_line(a) for number in range(2) for a in simulate_game(V, 5, number, style=0).annotations]
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in lines))
    pack([str(folder / "lines.txt")], folder / "shards", Packing(fractions=(1.0, 0.0, 0.0)))
    return open_shards(folder / "shards", "train")


def test_decisions_of_a_seat_in_a_round_share_their_events(played: Shards) -> None:
    as_packed = collate(played.gather(np.arange(len(played))), LAYOUT)
    assert len(played) / len(as_packed.event_GE) > 6
    loaded = list(batches(played, batch=128, micro_batch=64))
    assert sum(map(len, loaded)) / sum(len(batch.event_GE) for batch in loaded) > 5


def test_ranks_together_yield_the_batches_of_one_rank(shards: Shards) -> None:
    alone = epoch(batches(shards))
    ranks = [epoch(batches(shards, world=2, rank=rank)) for rank in (0, 1)]
    assert [batch for pair in zip(*ranks, strict=True) for batch in pair] == alone


@pytest.mark.parametrize("steps", [0, 1, 7, 10, 13, 20])
def test_a_run_is_resumed_after_the_step_of_its_state(shards: Shards, steps: int) -> None:
    straight = batches(shards)
    run = [batch for _ in range(3) for batch in epoch(straight)]
    started, seen = batches(shards), 0
    while seen < steps * 4:
        for _ in started:
            seen += 1
            if seen == steps * 4:
                break

    resumed = batches(shards)
    resumed.load_state_dict(started.state_dict())

    assert started.state_dict()["step"] == steps
    rest = [batch for _ in range(3) for batch in epoch(resumed)]
    assert rest[: len(run) - steps * 4] == run[steps * 4 :]


def test_a_step_that_was_not_finished_does_not_count(shards: Shards) -> None:
    loader = batches(shards)
    batch = iter(loader)
    for expected in (0, 0, 0, 1, 1):
        next(batch)
        assert loader.state_dict()["step"] == expected


@pytest.mark.parametrize("changes", [{"batch": 64}, {"seed": 1}])
def test_a_state_with_another_batch_size_or_seed_is_refused(shards: Shards, changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        batches(shards, **changes).load_state_dict(batches(shards).state_dict())


def test_fewer_rows_than_a_batch_are_an_error(shards: Shards) -> None:
    with pytest.raises(ValueError, match="330 decisions, fewer than one batch of data.batch=512"):
        batches(shards, batch=512)
    assert len(epoch(batches(shards, batch=330, micro_batch=330))) == 1


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("batch", [7, 64, 1000])
def test_a_sequential_pass_yields_every_row_once(shards: Shards, world: int, batch: int) -> None:
    loaders = [sequential(shards, batch, rank, world) for rank in range(world)]
    seen = [epoch(loader) for loader in loaders]
    assert sum((Counter(sum(batches, [])) for batches in seen), Counter()) == all_rows(shards)
    assert {len(batches) for batches in seen} == {len(loaders[0])}
    assert max(len(b) for batches in seen for b in batches) <= batch
    assert epoch(loaders[0]) == seen[0]


@pytest.mark.parametrize(("num_rows", "world"), [(3, 2), (7, 2), (8, 3)])
def test_rows_that_ranks_cannot_share_equally_make_no_empty_batch(shards: Shards, num_rows: int, world: int) -> None:
    seen = [epoch(sequential(shards, 1, rank, world, limit=num_rows)) for rank in range(world)]
    assert {len(batches) for batches in seen} == {num_rows // world}
    assert all(batch for batches in seen for batch in batches)
    assert sum(len(batch) for batches in seen for batch in batches) == num_rows


def test_a_limited_pass_yields_the_first_rows_whatever_their_length(shards: Shards) -> None:
    seen = epoch(sequential(shards, 16, limit=100))
    assert Counter(sum(seen, [])) == Counter(rows(batch_of_columns(shards.gather(np.arange(100)), FOUR_PLAYERS)))


def test_a_sequential_pass_yields_rows_of_similar_length_together(shards: Shards) -> None:
    longest = [int(b.seen_B.max()) for b in sequential(shards, 16)]
    assert len(longest) > 16
    assert longest[:16] == sorted(longest[:16]) and longest[0] < longest[15] / 4
