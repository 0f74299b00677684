"""Packing that is stopped, killed or disturbed."""

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from annotate.annotation import format_line
from kanachan.cli.pack import main
from kanachan.config import SPLITS
from kanachan.data.shard_folder import splits_in
from tests.support.packed import unpacked, with_key, write_lines
from tests.support.random_annotations import random_annotations

COMMAND = [sys.executable, "-c", "import sys; from kanachan.cli.pack import main; sys.exit(main())"]
ANNOTATIONS = random_annotations(400, seed=0, games=20)


def started(folder: Path) -> subprocess.Popen[bytes]:
    """Starts packing, which waits for annotations on its standard input."""
    process = subprocess.Popen([*COMMAND, "-", "-o", str(folder)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    while not any(is_taken(lock) for lock in folder.glob(".*/lock")):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def is_taken(lock: Path) -> bool:
    """Whether a process holds the lock. Does not try to take it, as this could keep the process from taking it."""
    return f":{lock.stat().st_ino} " in Path("/proc/locks").read_text()


def test_packing_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    process = started(tmp_path / "shards")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    assert process.communicate()[1].endswith(b"kanachan-pack: stopped by SIGTERM\n")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    process = started(tmp_path / "shards")
    process.kill()
    process.communicate()
    (leftover,) = (tmp_path / "shards").iterdir()
    (leftover / "train-0.run").write_text("half a run")

    assert main([write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards")]) == 0

    assert {path.suffix for path in (tmp_path / "shards").iterdir() if path.name != "rounds"} == {".arrow", ".md"}
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))


def test_a_folder_that_another_process_packs_into_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = started(tmp_path / "shards")
    try:
        assert main([write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards")]) == 1
        assert f"{tmp_path / 'shards'}: another process is packing into this folder" in capsys.readouterr().err
    finally:
        out = process.communicate("".join(f"{format_line(a)}\n" for a in ANNOTATIONS).encode())
    assert process.returncode == 0, out
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))


def test_a_signal_while_shards_are_replaced_waits_until_all_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = [write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards"), "--fractions", "0.4,0.3,0.3"]
    assert main([*again, "--rows-per-shard", "50"]) == 0
    replace = Path.replace

    def replace_and_stop(path: Path, target: Path) -> Path:
        if target.parent == tmp_path / "shards":
            monkeypatch.undo()
            signal.raise_signal(signal.SIGTERM)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", replace_and_stop)

    assert main([*again, "--force"]) == 0

    assert {split: len(files) for split, files in splits_in(tmp_path / "shards").items()} == dict.fromkeys(SPLITS, 1)
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))


def test_old_shards_stay_until_all_new_ones_are_in_place(tmp_path: Path) -> None:
    again = [write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards"), "--fractions", "0.4,0.3,0.3"]
    assert main(again) == 0
    names = sorted(path.name for path in (tmp_path / "shards").iterdir())
    (tmp_path / "shards" / "train-00001.arrow").mkdir()  # a folder, which no file can replace

    assert main([*again, "--force", "--rows-per-shard", "50"]) == 1

    assert set(names) <= {path.name for path in (tmp_path / "shards").iterdir()}


def test_a_full_disk_is_reported_and_leaves_nothing_behind(tmp_path: Path) -> None:
    lines, folder = write_lines(tmp_path / "a.txt", ANNOTATIONS), tmp_path / "shards"
    full = subprocess.run(
        [*COMMAND, lines, "-o", str(folder)],
        # a limit on the size of files has the effect of a full disk
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (full.returncode, full.stderr) == (1, f"kanachan-pack: error: {folder}: File too large\n")
    assert not folder.exists()
