"""Runs of kanachan-annotate that are interrupted and resumed."""

import gzip
import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from annotate.pipeline.outputs import TextOutput
from kanachan.cli.annotate import main as annotate
from kanachan.cli.simulate import main as simulate
from tests.support.interrupted import COMMAND, size_of, stop_when


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "5", "--seed", "3", "--style", "east", "-o", str(folder), "--processes", "1"]) == 0
    for number in range(105):
        (folder / f"bad{number}.json").write_text("{}")
    (folder / "not-looked-at.txt").touch()
    return folder


@pytest.fixture(scope="module")
def whole(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run that is not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("a.txt", "a.txt.gz", "a.txt.zst"):
        assert annotate([str(games), "-o", str(folder / name), "-j", "1"]) == 0
    return folder


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def broken_off(games: Path, output: Path, size: int, *options: str) -> None:
    """Kills a run when it has written `size` bytes; none of its processes may be left."""
    part = output.with_name(f".{output.name}.part")
    done = stop_when(lambda: size_of([part]) >= size, games, "-o", output, *options)
    assert done.returncode == -signal.SIGKILL
    assert not output.exists()
    end = time.monotonic() + 30
    while running := subprocess.run(["pgrep", "-f", str(output)], capture_output=True, text=True).stdout.split():
        assert time.monotonic() < end, f"still running: {running}"
        time.sleep(0.05)


@pytest.mark.parametrize(("name", "shares"), [("a.txt", (0.0, 0.3, 0.6)), ("a.txt.gz", (0.3,)), ("a.txt.zst", (0.3,))])
def test_a_run_that_was_killed_again_and_again_writes_the_same_bytes_in_the_end(
    games: Path, whole: Path, tmp_path: Path, name: str, shares: tuple[float, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    size = (whole / name).stat().st_size
    for share in shares:
        broken_off(games, tmp_path / name, int(share * size) + 1, "-j", "2" if share else "1")

    assert annotate([str(games), "-o", str(tmp_path / name), "-j", "1"]) == 0

    assert f"resuming {tmp_path / name} after " in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    assert (tmp_path / f"{name}.left-out.txt").read_bytes() == (whole / f"{name}.left-out.txt").read_bytes()
    assert left_behind(tmp_path) == []


def test_a_resumed_run_recognises_archive_members_and_repeated_games(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(tmp_path / "games.tar", "w") as archive:
        for path in sorted(games.glob("*.gz")):
            archive.add(path, path.name)
    records = [str(tmp_path / "games.tar"), str(games), "-j", "1", "-o"]
    assert annotate([*records, str(tmp_path / "whole.txt")]) == 0
    report = capsys.readouterr().err.replace("whole.txt", "a.txt")
    part, size = tmp_path / ".a.txt.part", (tmp_path / "whole.txt").stat().st_size
    stopped = stop_when(lambda: size_of([part]) >= size // 2, *records, tmp_path / "a.txt")
    assert stopped.returncode == -signal.SIGKILL

    assert annotate([*records, str(tmp_path / "a.txt")]) == 0

    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert capsys.readouterr().err.split(" records\n")[1] == report
    assert "was read before, in " in (tmp_path / "a.txt.left-out.txt").read_text()


@pytest.mark.parametrize(("by", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_stopped_by_a_signal_is_resumed_by_the_same_command(
    games: Path, whole: Path, tmp_path: Path, by: signal.Signals, status: int
) -> None:
    part = tmp_path / ".a.txt.part"
    stopped = stop_when(lambda: size_of([part]) > 0, games, "-o", tmp_path / "a.txt", by=by)

    assert stopped.returncode == status
    assert f"stopped by {by.name} after " in stopped.stderr and "the same command resumes" in stopped.stderr
    assert annotate([str(games), "-o", str(tmp_path / "a.txt"), "-j", "1"]) == 0
    assert (tmp_path / "a.txt").read_bytes() == (whole / "a.txt").read_bytes()


def test_a_full_disk_leaves_the_previous_file_and_a_run_that_can_be_resumed(
    games: Path, whole: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("the former content\n")
    arguments = [str(games), "-o", str(tmp_path / "a.txt"), "-j", "1"]

    full = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments, "--force"],
        capture_output=True,
        text=True,
        # a limit on the size of files acts like a full disk
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
    )

    assert full.returncode == 1
    message = "File too large; what was done is kept: the same command resumes from there"
    assert full.stderr.splitlines()[-1] == f"kanachan-annotate: error: {tmp_path / 'a.txt'}: {message}"
    assert (tmp_path / "a.txt").read_text() == "the former content\n"
    assert annotate(arguments) == 0
    assert (tmp_path / "a.txt").read_bytes() == (whole / "a.txt").read_bytes()


@pytest.fixture(scope="module")
def broken(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the records in games/, and next to it the files that an interrupted run over the copy to a.txt left."""
    folder = tmp_path_factory.mktemp("broken")
    shutil.copytree(games, folder / "games")
    broken_off(folder / "games", folder / "a.txt", 200_000)
    return folder


@pytest.fixture
def interrupted(games: Path, broken: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder of records, which a test may change, and the output of an interrupted run over it."""
    for name in left_behind(broken):
        shutil.copy(broken / name, tmp_path)
    yield broken / "games", tmp_path / "a.txt"
    for path in (broken / "games").iterdir():
        if not (games / path.name).exists():
            path.unlink()
    shutil.copytree(games, broken / "games", dirs_exist_ok=True)


def restarted(folder: Path, output: Path) -> bytes:
    assert annotate([str(folder), "-o", str(output), "-j", "1", "--restart"]) == 0
    assert left_behind(output.parent) == []
    return output.read_bytes()


def test_a_record_that_has_vanished_is_named(
    interrupted: tuple[Path, Path], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = interrupted
    (folder / "bad0.json").rename(folder.parent / "elsewhere")
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 1
    error = capsys.readouterr().err
    assert f"read {folder / 'bad0.json'} there is {folder / 'bad1.json'} now" in error and "--restart" in error
    (folder.parent / "elsewhere").rename(folder / "bad0.json")
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 0
    assert output.read_bytes() == (whole / "a.txt").read_bytes()


def test_a_record_may_be_added_after_the_records_already_read(interrupted: tuple[Path, Path], whole: Path) -> None:
    folder, output = interrupted
    (folder / "zz.json").write_text("no record")
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 0
    assert output.read_bytes() == (whole / "a.txt").read_bytes()


def test_a_run_that_had_read_all_records_is_completed_only_with_these(
    games: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(games, tmp_path / "games")
    command = [str(tmp_path / "games"), "-o", str(tmp_path / "a.txt"), "-j", "1"]
    dies = f"import os; from annotate.pipeline.outputs import *; TextOutput.publish = lambda *_: os._exit(9); {COMMAND}"
    assert subprocess.run([sys.executable, "-c", dies, *command], capture_output=True).returncode == 9
    assert annotate([str(games), *command[1:]]) == 1
    assert f"read {tmp_path}/games/bad0.json there is {games}/bad0.json now" in capsys.readouterr().err
    (tmp_path / "games" / "zz.json").write_text("no record")
    assert annotate(command) == 1
    assert "zz.json was added since the interrupted run read all records" in capsys.readouterr().err
    (tmp_path / "games" / "zz.json").unlink()
    assert annotate(command) == 0
    assert (tmp_path / "a.txt").read_bytes() == (whole / "a.txt").read_bytes()


def test_what_a_resumed_run_has_cut_off_does_not_count_as_saved(tmp_path: Path) -> None:
    killed, resumed = (TextOutput(str(tmp_path / "a.txt")) for _ in range(2))
    killed.begin(None)
    killed.write(b"first\n")
    saved = killed.save()
    killed.write(b"lost\n")
    killed.close()
    resumed.begin(saved)
    assert resumed.save() == saved
    resumed.write(b"second\n")
    resumed.publish(resumed.save())
    assert (tmp_path / "a.txt").read_bytes() == b"first\nsecond\n"


@pytest.mark.parametrize("damage", ["noise", "of another program", "an entry"])
def test_a_damaged_journal_is_named(
    interrupted: tuple[Path, Path], capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    folder, output = interrupted
    journal = output.with_name(".a.txt.journal")
    first, *others = journal.read_bytes().splitlines(keepends=True)
    lines = {"noise": [os.urandom(20_000), b"\n"], "of another program": [b"1\n"], "an entry": [first, b"{\n", *others]}
    journal.write_bytes(b"".join(lines[damage]))
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 1
    error = capsys.readouterr().err
    assert ".a.txt.journal: " in error and "--restart" in error and "Traceback" not in error
    assert restarted(folder, output)


@pytest.mark.parametrize("is_there", [True, False])
def test_missing_or_shortened_output_is_named(
    interrupted: tuple[Path, Path], capsys: pytest.CaptureFixture[str], is_there: bool
) -> None:
    folder, output = interrupted
    output.with_name(".a.txt.part").unlink()
    if is_there:
        output.with_name(".a.txt.part").write_text("short")
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 1
    error = capsys.readouterr().err
    assert ".a.txt.part: what the interrupted run has written is not there" in error and "--restart" in error


@pytest.mark.parametrize("options", [[], ["--restart"]])
def test_two_processes_do_not_write_the_same_output(
    options: list[str], games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = []

    def is_time() -> bool:
        if size_of([tmp_path / ".a.txt.part"]) == 0:
            return False
        statuses.append(annotate([str(games), "-o", str(tmp_path / "a.txt"), "-j", "1", *options]))
        return True

    stop_when(is_time, games, "-o", tmp_path / "a.txt", "-j", "1", by=signal.SIGINT)
    assert statuses == [1]
    assert "another process is at work on this output" in capsys.readouterr().err


def test_shards_together_hold_every_line_once(games: Path, whole: Path, tmp_path: Path) -> None:
    lines = []
    for number in (1, 2, 3):
        part = tmp_path / f"part-{number}.txt"
        assert annotate([str(games), "-o", str(part), "-j", "1", "--shard", f"{number}/3"]) == 0
        lines.append(part.read_text().splitlines())
    assert all(lines)
    assert sorted(sum(lines, [])) == sorted((whole / "a.txt").read_text().splitlines())


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_shard_without_a_decision_is_an_empty_file(games: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"a.txt{suffix}"
    assert annotate([str(next(games.glob("*.gz"))), "-o", str(output), "-j", "1", "--shard", "2/2"]) == 0
    opened = {"": open, ".gz": gzip.open, ".zst": zstandard.open}[suffix]
    with opened(output, "rb") as file:
        assert file.read() == b""


def test_a_record_that_has_changed_is_named(interrupted: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder, output = interrupted
    changed = folder / "bad0.json"
    changed.write_text("{ }")
    assert annotate([str(folder), "-o", str(output), "-j", "1"]) == 1
    error = capsys.readouterr().err
    assert f"{changed} has changed" in error and "--restart" in error
    assert restarted(folder, output)
