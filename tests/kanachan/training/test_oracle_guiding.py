"""Oracle guiding: hidden tokens that become fewer, and weights that are like any others."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import train
from kanachan.cli.evaluate import main as evaluate
from kanachan.config import DataConfig, ObjectiveConfig
from kanachan.data.batch import Batch, TokenLayout
from kanachan.data.columns import Columns, Ragged
from kanachan.data.loader import TrainLoader
from kanachan.data.shards import open_shards
from kanachan.models.weights import read_weights
from kanachan.training.data_source import Share
from kanachan.training.oracle_guiding import HiddenShare
from kanachan.training.shard_source import ShardSource
from tests.support.played_folders import played_folder
from tests.support.tiny_runs import pack_decisions, rows_of, run, same_weights

FIRST = TokenLayout(FOUR_PLAYERS).num_tokens
ALONE = Share(0, 1)
ORACLE = ("--objective.oracle", "1")


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played_folder(tmp_path_factory.mktemp("games") / "shards")


def batches(games: Path, *, share: Share = ALONE, varlen: bool = False) -> list[Batch]:
    """The micro-batches of 20 steps, of which the last five have no hidden tokens any more."""
    source = ShardSource(DataConfig(path=str(games), batch=8, micro_batch=4), 0, varlen=varlen, reads_hidden=True)
    source.guide(HiddenShare(ObjectiveConfig(oracle=1.0), 20))
    loaded = source.train_batches(share)
    return [batch for _, batch in zip(range(40 // share.world), loaded, strict=False)]


def hidden_per_decision(batch: Batch) -> float:
    return float((batch.tile_BT >= FIRST).sum()) / len(batch)


def test_the_share_of_hidden_tokens_falls_from_the_start_to_nothing(games: Path) -> None:
    share = HiddenShare(ObjectiveConfig(oracle=0.8, oracle_decay=0.5), 100)
    assert [share(step) for step in (0, 25, 50, 99)] == [0.8, 0.4, 0, 0]
    counts = [hidden_per_decision(batch) for batch in batches(games)]
    assert min(counts[:2]) > 40 and all(30 > count > 0 for count in counts[18:29])
    assert not any(counts[30:])


@pytest.mark.parametrize("varlen", [False, True])
def test_without_hidden_tokens_batches_are_those_of_an_ordinary_run(games: Path, varlen: bool) -> None:
    plain = ShardSource(DataConfig(path=str(games), batch=8, micro_batch=4), 0, varlen=varlen)
    expected = [batch for _, batch in zip(range(40), plain.train_batches(ALONE), strict=False)]
    found = batches(games, varlen=varlen)
    for ours, theirs in zip(found[30:], expected[30:], strict=True):
        assert torch.equal(ours.tile_BT, theirs.tile_BT) and torch.equal(ours.event_GE, theirs.event_GE)
        assert not varlen or (ours.varlen is not None and torch.equal(ours.varlen.tile_Y, theirs.varlen.tile_Y))  # type: ignore[union-attr]
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours.chosen_B, theirs.chosen_B)
        seen = [sorted(t for t in row.tolist() if 0 < t < FIRST) for row in ours.tile_BT]
        assert seen == [sorted(t for t in row.tolist() if t) for row in theirs.tile_BT]


def test_scrambling_hidden_tokens_changes_nothing_once_their_share_is_0(
    games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [batch.tile_BT for batch in batches(games)]
    hidden = TokenLayout.hidden

    def scrambled(layout: TokenLayout, columns: Columns) -> object:
        assert columns.hidden is not None
        turned = Ragged((columns.hidden.values + 7) % 408, columns.hidden.starts)
        return hidden(layout, replace(columns, hidden=turned))

    monkeypatch.setattr(TokenLayout, "hidden", scrambled)
    after = [batch.tile_BT for batch in batches(games)]
    assert [torch.equal(one, other) for one, other in zip(before, after, strict=True)] == [False] * 30 + [True] * 10


def test_ranks_share_the_hidden_tokens_of_one_process(games: Path) -> None:
    def rows(found: list[Batch]) -> list[list[int]]:
        return sorted(sorted(row.tolist())[-30:] for batch in found for row in batch.tile_BT)

    assert rows([b for rank in range(2) for b in batches(games, share=Share(rank, 2))]) == rows(batches(games))


def test_the_share_of_a_step_is_the_same_after_a_stop(games: Path) -> None:
    def loader() -> TrainLoader:
        return TrainLoader(
            open_shards(games, "train", hidden=True, behaviour=True),
            **{"batch": 8, "micro_batch": 4, "seed": 0, "exchange_suits": True, "actor_first": True},
            hidden_share=HiddenShare(ObjectiveConfig(oracle=1.0), 20),
        )

    def tiles(loaded: TrainLoader, count: int) -> list[Tensor]:
        return [batch.tile_BT for _, batch in zip(range(count), loaded, strict=False)]

    expected, stopped, resumed = tiles(loader(), 16), loader(), loader()
    tiles(stopped, 8)
    resumed.load_state_dict(stopped.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(tiles(resumed, 8), expected[8:], strict=True))


def test_the_weights_of_a_guided_run_are_like_any_others(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("imitation", games, tmp_path / "guided", *ORACLE, "--run.early_stopping", "9") == 0
    assert run("imitation", games, tmp_path / "plain") == 0
    guided, plain = read_weights(tmp_path / "guided"), read_weights(tmp_path / "plain")
    assert {n: t.shape for n, t in guided.tensors.items()} == {n: t.shape for n, t in plain.tensors.items()}
    assert guided.card["objective"]["oracle"] == 1
    assert evaluate([str(tmp_path / "guided"), str(games), "--split", "validation", "--bootstrap", "5"]) == 0
    assert run("rank", games, tmp_path / "rank", "--init", str(tmp_path / "guided")) == 0
    # and a guided run starts from ordinary weights, whose drift is measured
    assert run("imitation", games, tmp_path / "again", *ORACLE, "--init", str(tmp_path / "plain")) == 0
    drifts = [float(row["drift/embeddings"]) for row in rows_of(tmp_path / "again") if row.get("drift/embeddings")]
    assert drifts[0] == pytest.approx(0, abs=1e-6) and drifts[-1] > 0


def test_validations_have_no_hidden_tokens(games: Path) -> None:
    source = ShardSource(DataConfig(path=str(games), validation_batch=64), 0, reads_hidden=True)
    source.guide(HiddenShare(ObjectiveConfig(oracle=1.0), 20))
    assert all(int(batch.tile_BT.max()) < FIRST for batch in source.validation_batches(ALONE, 4))


def test_a_resumed_run_ends_with_the_same_weights(games: Path, tmp_path: Path) -> None:
    assert run("imitation", games, tmp_path / "whole", *ORACLE) == 0
    assert run("imitation", games, tmp_path / "half", *ORACLE) == 0
    (tmp_path / "half" / "weights.safetensors").unlink()
    checkpoints = tmp_path / "half" / "checkpoints"
    (checkpoints / "previous.ckpt").replace(checkpoints / "last.ckpt")
    assert train.main(["--resume", str(tmp_path / "half")]) == 0
    assert same_weights(tmp_path / "whole", tmp_path / "half")
    assert rows_of(tmp_path / "whole") == rows_of(tmp_path / "half")


def test_what_cannot_be_guided_is_refused_in_a_line(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("rank", games, tmp_path / "run", *ORACLE) != 0
    assert "objective.oracle=1.0 has no effect in stage rank" in capsys.readouterr().err
    (tmp_path / "people").mkdir()
    assert run("imitation", pack_decisions(tmp_path / "people"), tmp_path / "run", *ORACLE) != 0
    assert "holds no hidden hands, which this run needs" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("imitation", games, tmp_path / "run", "--objective.oracle", "2")
    assert "objective.oracle must be in [0, 1], not 2.0" in capsys.readouterr().err
