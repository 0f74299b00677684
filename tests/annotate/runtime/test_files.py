"""Text files by suffix, files that appear only when complete, and the clean end of a command."""

import errno
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from annotate.runtime.files import check_output, reading_text, replacing, writing_text
from annotate.runtime.json_output import read_json, write_json
from annotate.runtime.terminal import run_cleanly

TEXT = "".join(f"{number * 7919 % 100_003}\t雀\n" for number in range(50_000))


def written(path: Path, text: str = TEXT) -> Path:
    with writing_text(str(path)) as file:
        file.write(text)
    return path


def read(path: Path) -> str:
    with reading_text(str(path)) as file:
        return file.read()


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    for text in ("first", "second"):
        written(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert read(tmp_path / "elsewhere" / "file") == text
    assert os.listdir(tmp_path / "elsewhere") == ["file"]


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        written(pipe, "text")
        assert reader.communicate(timeout=60)[0] == b"text"
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe"]


def test_names_under_which_no_file_can_be_written_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name, inputs, why in (
        ("", [], "empty"),
        ("-", [], "cannot be written to standard output"),
        (str(tmp_path), [], "a folder; a file is expected"),
        (f"{tmp_path}/new/", [], "a folder; a file is expected"),
        (str(tmp_path / "file" / "below"), [], f"{tmp_path / 'file'} is a file, not a folder"),
        (str(tmp_path / "link"), ["nowhere", str(tmp_path / "file")], "is read, and would be overwritten"),
    ):
        with pytest.raises(ValueError, match=why):
            check_output(name, inputs)
    for name in ("-", str(tmp_path / "file"), str(tmp_path / "new" / "folder" / "file")):
        check_output(name, ["-", str(tmp_path / "other")], may_stream=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_into_is_named(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    tmp_path.chmod(0o500)
    for name in ("new", "old"):  # an old file is replaced by a new one, which is written beside it
        with pytest.raises(ValueError, match=f"{tmp_path} may not be written into"):
            check_output(str(tmp_path / name))


@pytest.mark.parametrize("name", ["lines", "lines.txt", "lines.txt.gz", "lines.txt.zst"])
def test_written_text_is_read_back(tmp_path: Path, name: str) -> None:
    assert read(written(tmp_path / name)) == TEXT
    assert read(written(tmp_path / f"empty-{name}", "")) == ""


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_same_text_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    one, two = written(tmp_path / f"one{suffix}"), written(tmp_path / f"two{suffix}")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_concatenated_compressed_files_are_one_text(tmp_path: Path, suffix: str) -> None:
    one = written(tmp_path / f"one{suffix}").read_bytes()
    two = tmp_path / f"two{suffix}"
    two.write_bytes(one + one)
    assert read(two) == TEXT + TEXT


def test_a_file_compressed_with_the_longest_window_is_read(tmp_path: Path) -> None:
    settings = zstandard.ZstdCompressionParameters.from_level(1, window_log=31)
    compressor = zstandard.ZstdCompressor(compression_params=settings).compressobj()  # without the size, as of a pipe
    (tmp_path / "a.zst").write_bytes(compressor.compress(TEXT.encode()) + compressor.flush())
    assert read(tmp_path / "a.zst") == TEXT


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.5, 0.9999])
def test_a_compressed_file_that_is_cut_off_is_named_and_never_accepted(
    tmp_path: Path, suffix: str, share: float
) -> None:
    path = written(tmp_path / f"lines{suffix}")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ValueError, match=f"lines{suffix}: damaged or cut off: "):
        read(path)


@pytest.mark.parametrize("name", ["lines.txt", "lines.gz", "lines.zst"])
def test_a_file_of_another_format_than_its_suffix_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xff\xfe neither text nor compressed")
    with pytest.raises(ValueError, match=f"{name}: damaged or cut off: "):
        read(path)


def test_lines_may_hold_other_line_separators(tmp_path: Path) -> None:
    with reading_text(str(written(tmp_path / "lines", "a\u2028b\rc\r\nd\n"))) as file:
        assert list(file) == ["a\u2028b\rc\r\n", "d\n"]


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.zst"])
def test_an_unfinished_file_keeps_the_previous_one_and_leaves_no_trace(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt), writing_text(str(path)) as file:
        file.write("half a line")
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_gets_its_name_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with replacing(path) as temporary:
        temporary.write_text("whole")
        assert temporary.parent == path.parent
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def raising(error: BaseException):
    def body() -> int:
        raise error

    return body


@pytest.mark.parametrize("error", [ValueError("not so"), OSError("not so")])
def test_a_users_error_is_reported_in_one_line(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cleanly("program", raising(error)) == 1
    assert capsys.readouterr() == ("", "program: error: not so\n")


def test_a_system_error_is_shown_with_the_file_and_without_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cleanly("program", lambda: open(tmp_path / "none").close()) == 1
    assert run_cleanly("program", lambda: open(tmp_path).close()) == 1
    assert run_cleanly("program", raising(OSError(errno.ENOSPC, "No space left on device"))) == 1
    expected = [f"{tmp_path}/none: no such file or folder", f"{tmp_path}: Is a directory", "No space left on device"]
    assert capsys.readouterr().err == "".join(f"program: error: {message}\n" for message in expected)


def test_of_another_processs_traceback_only_the_line_about_memory_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    traceback = 'Traceback (most recent call last):\n  File "x.py", line 1\nOutOfMemoryError: CUDA out of memory.\n'
    assert run_cleanly("program", raising(RuntimeError(traceback))) == 1
    assert capsys.readouterr().err == "program: error: out of memory: OutOfMemoryError: CUDA out of memory.\n"


def test_an_interruption_is_reported_with_the_shells_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cleanly("program", raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "program: interrupted\n"


def test_a_command_that_is_told_to_stop_removes_its_temporary_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def body() -> None:
        with replacing(tmp_path / "out") as temporary:
            temporary.touch()
            os.kill(os.getpid(), signal.SIGTERM)

    assert run_cleanly("program", body) == 128 + signal.SIGTERM
    assert capsys.readouterr().err == "program: stopped by SIGTERM\n" and not list(tmp_path.iterdir())


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError) as error, replacing(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.filename == str(tmp_path / "out")


def test_faults_of_the_program_are_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="of ours"):
        run_cleanly("program", raising(RuntimeError("of ours")))
    with pytest.raises(AssertionError):
        run_cleanly("program", raising(AssertionError()))


def program(body: str) -> list[str]:
    """Returns the command of a program."""
    start = "import os, sys; from annotate.runtime.terminal import run_cleanly"
    return [sys.executable, "-c", f"{start}; sys.exit(run_cleanly('p', lambda: {body}))"]


@pytest.mark.parametrize("lines", [1, 1000])
def test_a_reader_that_goes_away_ends_the_command_quietly(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    source, sink = os.pipe()
    os.close(source)
    command = program(f"[print('x' * 1000) for _ in range({lines})] and None")
    run = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, check=False)
    os.close(sink)
    assert (run.returncode, run.stderr) == (141, b"")


@pytest.mark.parametrize(("to", "message"), [("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_an_error_in_one_line(
    to: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = shlex.join(program("print('a result')"))
    run = subprocess.run(f"{command} >{to}", shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, f"p: error: {message}\n")


def test_closed_streams_do_not_disturb_a_file_being_written(tmp_path: Path) -> None:
    """Otherwise, text that libraries print directly would go into the file that gets the number of standard error."""
    body = f"[file := open({str(tmp_path / 'file')!r}, 'w'), os.write(2, b'noise'), file.write('content')] and None"
    subprocess.run(f"{shlex.join(program(body))} 2>&-", shell=True, check=True)
    assert (tmp_path / "file").read_text() == "content"


def test_json_is_compressed_by_its_suffix(tmp_path: Path) -> None:
    write_json(path := tmp_path / "report.json.gz", {"games": 2})
    assert json.loads(gzip.decompress(path.read_bytes())) == read_json(path) == {"games": 2}
