"""Records packed directly give the same shards as through text, even after interruptions; shards can be merged."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from annotate.game.settings import DEFAULT_GRADE, DEFAULT_ROOM
from annotate.pipeline.convert import Conversion
from annotate.runtime.journal import Journal
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import pack
from kanachan.cli.annotate import JOURNAL, main
from kanachan.cli.simulate import main as simulate
from kanachan.data.pack_options import Packing
from kanachan.data.shard_folder import names_in
from kanachan.data.shard_writer import ShardOutput
from kanachan.data.shards import open_shards
from kanachan.data.sorted_runs import splits_of_games
from tests.support.interrupted import COMMAND, size_of, stop_when
from tests.support.paths import ROOT

V = FOUR_PLAYERS
OPTIONS = ["--rows-per-shard", "1000", "--seed", "7", "--fractions", "0.6,0.2,0.2"]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "8", "--seed", "5", "--style", "east", "-o", str(folder), "--processes", "1"]) == 0
    (folder / "bad.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def packed(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shards that an uninterrupted run of one process makes of the games."""
    folder = tmp_path_factory.mktemp("packed") / "shards"
    assert main([str(games), "--pack", str(folder), "-j", "1", *OPTIONS]) == 0
    return folder


def content(folder: Path) -> dict[str, tuple[object, dict[str, object]]]:
    """The rows and the description, without the sources, of each shard of decisions or rounds."""
    found = {}
    for name in names_in(folder):
        with pa.ipc.open_stream(pa.memory_map(str(folder / name))) as stream:
            description = json.loads(stream.schema.metadata[b"kanachan"])
            del description["made"]["sources"]
            found[name] = (stream.read_all().to_pydict(), description)
    return found


def test_records_packed_directly_give_the_decisions_of_their_text(games: Path, packed: Path, tmp_path: Path) -> None:
    assert main([str(games), "-o", str(tmp_path / "a.txt"), "-j", "1"]) == 0
    assert pack.main([str(tmp_path / "a.txt"), "-o", str(tmp_path / "shards"), *OPTIONS]) == 0
    decisions = {name: of_shard for name, of_shard in content(packed).items() if not name.startswith("rounds")}
    assert content(tmp_path / "shards") == decisions and len(decisions) > 3


def test_two_processes_write_the_same_shards_as_one(games: Path, packed: Path, tmp_path: Path) -> None:
    assert main([str(games), "--pack", str(tmp_path / "shards"), "-j", "2", *OPTIONS]) == 0
    assert content(tmp_path / "shards") == content(packed)
    assert {path.suffix for path in (tmp_path / "shards").iterdir() if path.name != "rounds"} == {".arrow", ".md"}


def test_splits_by_key_equal_a_plain_division() -> None:
    keys = np.random.default_rng(0).integers(0, 2**64, 1000, np.uint64)
    for fractions in ((0.6, 0.2, 0.2), (0.5, 0.5, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
        plain = []
        for key in keys.tolist():
            position = key / 2**64
            if position < fractions[0]:
                plain.append(0)
            else:
                plain.append(1 if position < fractions[0] + fractions[1] or fractions[2] == 0 else 2)
        assert splits_of_games(keys, fractions).tolist() == plain


def test_a_run_that_was_killed_again_and_again_gives_the_same_shards(games: Path, packed: Path, tmp_path: Path) -> None:
    arguments = [games, "--pack", tmp_path / "shards", *OPTIONS]
    temporary = tmp_path / "shards" / JOURNAL.split("/")[0]
    for num_runs in (1, 6):
        done = stop_when(lambda n=num_runs: len(list(temporary.glob("*.run"))) >= n, *arguments, "-j", "2")
        assert done.returncode == -signal.SIGKILL
    for folder in (temporary, temporary / "rounds"):  # left by a process that is killed while it writes a shard
        folder.mkdir(exist_ok=True)
        (folder / ".train-00000.arrow.1.part").write_bytes(b"cut off")
    for name in ("test-00000.arrow", "train-00000.arrow"):  # during the merge, and when it begins to publish
        stop_when(lambda n=name: size_of([temporary / n, tmp_path / "shards" / n]) > 0, *arguments)
    assert main([*map(str, arguments), "-j", "1"]) == 0
    assert content(tmp_path / "shards") == content(packed)
    assert {path.suffix for path in (tmp_path / "shards").iterdir() if path.name != "rounds"} == {".arrow", ".md"}


def test_an_unfinished_folder_is_not_packed(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [games, "--pack", tmp_path / "part", *OPTIONS]
    stopped = stop_when(lambda: size_of([tmp_path / "part" / JOURNAL]) > 0, *arguments, by=signal.SIGTERM)
    assert stopped.returncode in (143, -signal.SIGTERM)
    assert pack.main([str(tmp_path / "part"), "-o", str(tmp_path / "shards")]) == 1
    assert "is not finished: repeat its command first" in capsys.readouterr().err


def test_two_unfinished_runs_do_not_share_a_folder(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / ".kanachan-selfplay.part" / "journal"
    journal.parent.mkdir()
    journal.touch()
    assert main([str(games), "--pack", str(tmp_path), "--force"]) == 1
    assert "a run of kanachan-selfplay into this folder is not finished" in capsys.readouterr().err


def test_a_run_is_not_continued_by_a_program_that_writes_shards_differently(games: Path, tmp_path: Path) -> None:
    packing = Packing((0.6, 0.2, 0.2), 1000, 7)
    settings = {"optional": (), "force": False, "restart": False}
    output = ShardOutput(tmp_path / "shards", JOURNAL, packing, [str(games)], V, **settings)
    conversion = Conversion([str(games)], DEFAULT_ROOM, (DEFAULT_GRADE,), num_players=4)
    Journal(output.journal, conversion.settings(output)).close()
    shutil.copytree(ROOT / "kanachan", tmp_path / "kanachan")
    with open(tmp_path / "kanachan" / "data" / "sorted_runs.py", "a") as file:
        file.write("# in another order\n")
    command = [sys.executable, "-c", COMMAND, str(games), "--pack", str(tmp_path / "shards"), *OPTIONS]

    other = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)  # imports the copy in its folder

    assert other.returncode == 1
    assert re.search(r"other settings \(writer of shards: \w+, now \w+\)", other.stderr)


@pytest.fixture(scope="module")
def parts(games: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The games as three machines would pack them, and a fourth part without games."""
    folder = tmp_path_factory.mktemp("parts")
    for number in range(4):
        records = [str(games), str(games / "bad.json")] if number < 3 else [str(games / "bad.json")]
        shard = f"{number + 1}/3" if number < 3 else "1/2"
        options = ["--shard", shard, "--seed", str(number), "--rows-per-shard", "300"]
        assert main([*records, "--pack", str(folder / str(number)), "-j", "1", *options]) == 0
    return [str(folder / str(number)) for number in range(4)]


def test_merged_parts_of_a_cluster_equal_the_shards_of_one_process(
    parts: list[str], packed: Path, tmp_path: Path
) -> None:
    assert all(len(open_shards(part, "train", verify=True)) > 0 for part in parts[:3])
    assert pack.main([*parts, "-o", str(tmp_path / "shards"), *OPTIONS]) == 0
    assert content(tmp_path / "shards") == content(packed)


def test_a_part_without_decisions_replaces_shards_and_their_card(games: Path, tmp_path: Path) -> None:
    for records, more in ((games, ()), (games / "bad.json", ("--force", "--shard", "1/2"))):
        assert main([str(records), "--pack", str(tmp_path / "shards"), "-j", "1", *OPTIONS, *more]) == 0
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == ["README.md", "train-00000.arrow"]
    assert "| train | 0 | 0 | 0 |" in (tmp_path / "shards" / "README.md").read_text()


def test_games_that_are_in_several_parts_count_once(
    parts: list[str], packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pack.main([*parts, parts[1], str(packed), "-o", str(tmp_path / "shards"), *OPTIONS]) == 0
    assert "decisions are repetitions and were skipped" in capsys.readouterr().err
    assert content(tmp_path / "shards") == content(packed)
