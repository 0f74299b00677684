"""kanachan-selfplay: its shards, interruptions, and errors."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from annotate.game.engine.table import Table
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, VOCABULARIES, Vocabulary
from kanachan.cli.annotate import main as annotate
from kanachan.cli.pack import main as pack
from kanachan.cli.selfplay import main
from kanachan.data.columns import Columns
from kanachan.data.round_shards import open_rounds
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards
from tests.support.paths import ROOT
from tests.support.played_folders import COMMAND, num_saves
from tests.support.processes import contents
from tests.support.tiny_weights import written

every_vocabulary = pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=lambda vocabulary: vocabulary.name)
HALVES = ["--fractions", "0.5,0.5,0"]
SHORT = ["--style", "east", *HALVES]


def selfplay(folder: Path, *options: str, players: Sequence[str] = ("rule", "random"), games: int = 6) -> int:
    if "-j" not in options:
        options = (*options, "-j", "1")
    return main([*players, "-n", str(games), "-o", str(folder), *SHORT, *options])


def rows(folder: Path, split: str) -> Columns:
    shards = open_shards(folder, split, verify=True, hidden=None, behaviour=True)
    return shards.gather(np.arange(len(shards)))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written(tmp_path_factory.mktemp("weights"), layers=1))


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory, network: str) -> dict[str, str]:
    """Networks by the name of their vocabulary."""
    of_three = written(tmp_path_factory.mktemp("weights"), layers=1, vocabulary=THREE_PLAYERS)
    return {FOUR_PLAYERS.name: network, THREE_PLAYERS.name: str(of_three)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shards of a run that is not interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "shards"
    assert selfplay(folder) == 0
    return folder


@every_vocabulary
def test_shards_equal_shards_made_from_the_records_of_the_same_games(
    vocabulary: Vocabulary, networks: dict[str, str], tmp_path: Path
) -> None:
    records, from_games, from_records = (tmp_path / name for name in ("records", "from-games", "from-records"))
    players = (f"{networks[vocabulary.name]}@2=0.5", "rule=0.3", "random=0.2")

    assert selfplay(from_games, "--records", str(records), "--explore", "0.2", players=players, games=2) == 0
    assert annotate([str(records), "--hidden", "--pack", str(from_records), *HALVES, "-j", "1"]) == 0

    for split in splits_in(from_records):
        theirs = open_shards(from_records, split, hidden=True)
        assert theirs.vocabulary is vocabulary
        assert np.array_equal(rows(from_games, split).game, theirs.gather(np.arange(len(theirs))).game)
        rounds, expected_rounds = open_rounds(from_games, split), open_rounds(from_records, split)
        for name in rounds.__slots__:
            assert np.array_equal(getattr(rounds, name), getattr(expected_rounds, name)), name
    for folder in (from_games, from_records):
        assert pack(["--unpack", str(folder), "-o", str(folder.with_suffix(".txt"))]) == 0
    found, expected = (
        sorted(folder.with_suffix(".txt").read_text().splitlines()) for folder in (from_games, from_records)
    )
    assert found == expected and len(found) > 100


def test_the_log_probability_of_each_action_is_stored(network: str, tmp_path: Path) -> None:
    assert selfplay(tmp_path, "--explore", "1", players=(f"{network}@1=0.4", "random=0.6"), games=1) == 0
    (split,) = splits_in(tmp_path)
    found = rows(tmp_path, split)
    assert found.log_probability == pytest.approx(-np.log(found.actions.lengths), abs=1e-6)


@pytest.mark.parametrize("options", [["-j", "2", "--together", "1"], ["--backend", "processes"]])
def test_shards_do_not_depend_on_how_they_are_made(options: list[str], whole: Path, tmp_path: Path) -> None:
    assert selfplay(tmp_path / "shards", *options) == 0
    assert contents(tmp_path / "shards") == contents(whole)


def test_shards_open_without_the_columns_of_self_play_by_default(whole: Path) -> None:
    plain = open_shards(whole, "train")
    columns = plain.gather(np.arange(len(plain)))
    assert columns.hidden is columns.log_probability is None


def test_packing_keeps_the_columns_of_self_play(whole: Path, tmp_path: Path) -> None:
    assert pack([str(whole), "-o", str(tmp_path / "packed"), "--fractions", "0.5,0.5,0"]) == 0
    for split in splits_in(whole):
        ours, theirs = rows(tmp_path / "packed", split), rows(whole, split)
        assert ours.log_probability is not None and theirs.log_probability is not None
        assert np.array_equal(ours.log_probability, theirs.log_probability, equal_nan=True)


@pytest.mark.parametrize("weights", ["tiny", pytest.param("reference", marks=pytest.mark.slow)])
def test_int8_networks_play_the_same_games_in_one_process_and_in_two(
    weights: str, network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    player = f"{network if weights == 'tiny' else weights}:int8@0.7"
    options, players = ("--explore", "0.05"), (f"{player}=0.25", "rule=0.75")
    for processes in ("1", "2"):
        assert selfplay(tmp_path / processes, "-j", processes, *options, players=players, games=2) == 0
    assert "int8" in capsys.readouterr().err
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    drawn = [rows(tmp_path / "1", split).log_probability for split in splits_in(tmp_path / "1")]
    assert any(np.isfinite(of_split).any() for of_split in drawn if of_split is not None)


def killed(folder: Path, *options: str) -> None:
    """Kills a run with all its processes once it has written some games, before it has finished."""
    command = [sys.executable, "-c", COMMAND, "rule", "random", "-n", "6", "-o", str(folder), *SHORT, *options]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while num_saves(folder) < 1:
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert splits_in(folder) == {}


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_run_that_was_killed_is_resumed_by_the_same_command(
    processes: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other settings are refused."""
    killed(tmp_path / "shards", "--together", "1", "-j", processes)
    assert selfplay(tmp_path / "shards", "--seed", "5") == 1
    error = capsys.readouterr().err
    assert "an earlier run had other settings (seed: 0, now 5)" in error and len(error.splitlines()) == 1
    assert selfplay(tmp_path / "shards", "--players", "3") == 1
    assert "(vocabulary: kanachan-4p, now kanachan-3p)" in capsys.readouterr().err
    assert selfplay(tmp_path / "shards", "--records", str(tmp_path / "records")) == 0
    error = capsys.readouterr().err
    warned = re.search(r"warning: (\d) games were played before and get no record", error)
    assert (
        "resuming" in error and warned is not None and int(warned[1]) == 6 - len(list((tmp_path / "records").iterdir()))
    )
    assert contents(tmp_path / "shards") == contents(whole)
    assert selfplay(tmp_path / "shards", "--seed", "5", "--restart", "--force") == 0


def test_a_full_disk_loses_no_game_that_was_written(whole: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMMAND, "rule", "random", "-n", "6", "-o", str(tmp_path / "shards"), *SHORT]
    limit = 300_000  # a limit on the size of files acts like a full disk

    full = subprocess.run(
        [*command, "-j", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert full.returncode == 1, full.stderr
    assert "kanachan-selfplay: error:" in full.stderr and "Traceback" not in full.stderr
    assert "the same command resumes" in full.stderr
    assert selfplay(tmp_path / "shards") == 0
    assert contents(tmp_path / "shards") == contents(whole)


class Panic(BaseException):
    """Like the engine's panics, it is no Exception."""


def test_a_game_that_the_engine_fails_in_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step, tables = Table.step, list[Table]()

    def failing(table: Table, moves: object) -> None:
        if table not in tables:
            tables.append(table)
        if table is tables[min(1, len(tables) - 1)] and len(tables) > 1 and table.left < 60:
            raise Panic("index out of bounds")
        step(table, moves)  # type: ignore[arg-type]

    monkeypatch.setattr(Table, "step", failing)
    assert selfplay(tmp_path / "shards", games=4) == 0
    error = capsys.readouterr().err
    assert "left out: game 1 of seed 0 (selfplay-" in error and "Panic: index out of bounds" in error
    assert (
        len({game for split in splits_in(tmp_path / "shards") for game in rows(tmp_path / "shards", split).game}) == 3
    )


def test_workers_do_not_fall_back_to_another_device(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here torch sees a GPU only in this process, as on a cluster whose machines have none."""
    if torch.cuda.is_available():
        pytest.skip("other processes see the GPU too")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert selfplay(tmp_path / "shards", "-j", "2", players=[f"{network}@0.7"], games=2) == 1
    error = capsys.readouterr().err
    assert "error: --device cuda: " in error and len(error.splitlines()) == 1
