"""kanachan-annotate, run as a command on games that rule-based players play."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from annotate.annotation import parse_line
from annotate.runtime.files import COMPRESSIONS, compression_of
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.annotate import main as annotate
from kanachan.cli.pack import main as pack
from kanachan.data.shards import open_shards
from tests.support.paths import HANDMADE_RECORDS
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import simulated


def test_the_lines_do_not_depend_on_the_number_of_workers(games: Path, tmp_path: Path) -> None:
    for processes in ("1", "2"):
        assert annotate([str(games), "-o", str(tmp_path / processes), "-j", processes]) == 0

    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_skipped_files_are_reported(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(games, tmp_path / "records")
    for name in ("notes.txt", "more.txt", "README"):
        (tmp_path / "records" / name).write_text("nothing to read")
    (tmp_path / "records" / "more").symlink_to(games)
    assert annotate([str(tmp_path / "records"), "-o", str(tmp_path / "lines.txt")]) == 0
    suffixes = "files skipped, as their suffixes are not those of records: .txt 2, no suffix 1\n"
    assert f"{suffixes}links to folders skipped: 1 (to read one, name it too)" in capsys.readouterr().err
    annotate([str(games), "-o", str(tmp_path / "lines.txt")])
    assert "files skipped" not in capsys.readouterr().err


def test_strict_exits_with_3_if_something_was_left_out(games: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.xml").touch()
    arguments = ["-o", str(tmp_path / "lines.txt"), "--strict", str(next(games.glob("*.gz")))]

    assert annotate(arguments) == 0
    assert annotate([*arguments, str(tmp_path / "empty.xml"), "--force"]) == 3


def test_a_game_that_comes_twice_is_written_once(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = next(games.glob("*.gz"))
    (tmp_path / "copy.jsonl").write_bytes(gzip.decompress(game.read_bytes()))
    annotate([str(game), "-o", str(tmp_path / "once.txt")])

    annotate([str(game), str(tmp_path / "copy.jsonl"), "-o", str(tmp_path / "twice.txt")])

    assert (tmp_path / "once.txt").read_bytes() == (tmp_path / "twice.txt").read_bytes()
    assert "copy.jsonl: game" in capsys.readouterr().err


def test_a_renamed_or_converted_copy_of_a_game_is_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ids of the copies contain the names of their files, or are a checksum of the file."""
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_bytes((HANDMADE_RECORDS / "handmade.jsonl").read_bytes())
    (tmp_path / "c.mjlog").write_bytes((HANDMADE_RECORDS / "2026010100gm-0001-0000-handmade.mjlog").read_bytes())

    assert annotate([str(tmp_path), "-o", str(tmp_path / "lines.txt")]) == 0

    lines = (tmp_path / "lines.txt").read_text().splitlines()
    assert {line.partition("-")[0] for line in lines} == {"a"}
    report = capsys.readouterr().err
    assert all(f"{tmp_path}/{name}: game" in report for name in ("b.jsonl", "c.mjlog"))
    assert report.count(f"was read before, in {tmp_path}/a.jsonl") == 2


def test_a_record_is_not_overwritten(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = sorted(games.iterdir())[:2]
    copies = [str(shutil.copy(record, tmp_path)) for record in records]
    for others, why in ((copies, "is read, and would be overwritten"), (copies[1:], "named like a game record")):
        assert annotate([*others, "-o", copies[0]]) == 1  # as the shell expands `-o *.jsonl`
        assert f"{copies[0]}: " in (errors := capsys.readouterr().err) and why in errors
    assert Path(copies[0]).read_bytes() == records[0].read_bytes()


def test_output_that_would_become_a_record_of_its_folder_is_refused(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "records"
    shutil.copytree(games, folder)
    assert annotate([str(folder), "-o", str(folder / "lines.txt.gz")]) == 1
    assert "would be read as a record next time" in capsys.readouterr().err
    assert annotate([str(folder), "-o", str(folder / "lines.txt"), "-j", "1"]) == 0


def test_rounds_of_a_game_in_several_files_are_not_called_copies(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [json.loads(line) for line in gzip.decompress(next(games.glob("*.gz")).read_bytes()).splitlines()]
    starts = [place for place, event in enumerate(events) if event["type"] == "start_kyoku"]
    for number, (first, last) in enumerate(pairwise(starts[:3])):
        part = [events[0], *events[first:last]]
        (tmp_path / f"{number}.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in part))
    assert annotate([str(tmp_path), "-o", str(tmp_path / "lines.txt"), "--keep-incomplete"]) == 0
    assert f"has the id of another game, in {tmp_path}/0.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_lines_are_written_and_read_whatever_their_name(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    game, named = str(next(games.glob("*.gz"))), tmp_path / f"lines.txt{suffix}"
    assert annotate([game, "-o", str(named)]) == 0
    assert compression_of(named.read_bytes()) == COMPRESSIONS[suffix]
    assert annotate([str(named), "--explain", "7"]) == 0
    expected = capsys.readouterr().out
    plain = named.rename(tmp_path / "lines")
    assert annotate([str(plain), "--explain", "7"]) == 0
    assert capsys.readouterr().out == expected
    assert pack([str(plain), "-o", str(tmp_path / "shards")]) == 0


@pytest.fixture(scope="module")
def both_kinds(tmp_path_factory: pytest.TempPathFactory, games: Path) -> Path:
    folder = tmp_path_factory.mktemp("both")
    shutil.copy(next(games.glob("*.gz")), folder / "2-four.jsonl.gz")
    of_three = of_tenhou(simulated(1, rules="tenhou", vocabulary=THREE_PLAYERS))
    (folder / "1-three.mjlog").write_bytes(WRITERS["mjlog"](of_three))
    return folder


@pytest.mark.parametrize("players, vocabulary", [("3", THREE_PLAYERS), ("4", FOUR_PLAYERS)])
def test_players_selects_the_games_of_three_or_of_four(
    players: str, vocabulary: Vocabulary, both_kinds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grades = ",".join(["14"] * int(players))  # which no game of the other kind may have
    command = [str(both_kinds), "-o", str(tmp_path / "lines.txt"), "--players", players, "--grades", grades]
    assert annotate([*command, "--strict"]) == 0

    assert "1 games: skipped, as they are for another number of players" in capsys.readouterr().err
    lines = (tmp_path / "lines.txt").read_text().splitlines()
    assert lines and all(parse_line(line, vocabulary) for line in lines)


def test_a_run_that_a_game_of_another_number_of_players_ended_can_go_on_without_it(
    both_kinds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(both_kinds), "-j", "1", "-o", str(tmp_path / "lines.txt")]
    assert annotate(command) == 1
    error = capsys.readouterr().err
    assert "is for 4 players, the first one read for 3" in error
    assert "--players 3 skips such games, and goes on from here" in error
    assert annotate([*command, "--players", "3"]) == 0
    assert "resuming" in capsys.readouterr().err
    alone = ["-o", str(tmp_path / "alone.txt"), "--players", "3"]
    assert annotate([str(both_kinds / "1-three.mjlog"), *alone]) == 0
    assert (tmp_path / "lines.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()


def test_standard_output_holds_only_lines(games: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import sys; from kanachan.cli.annotate import main; sys.exit(main())"]
        + [str(next(games.glob("*.gz"))), "-o", "-"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert all(parse_line(line, FOUR_PLAYERS) for line in run.stdout.splitlines())
    assert "decision points" in run.stderr


@pytest.mark.parametrize("output", ["-o", "--pack"])
def test_a_reader_of_standard_output_that_goes_away_ends_the_run_quietly(
    games: Path, tmp_path: Path, output: str
) -> None:
    source, sink = os.pipe()
    os.close(source)
    code = "import sys; from kanachan.cli.annotate import main; sys.exit(main())"
    where = "-" if output == "-o" else str(tmp_path / "shards")
    command = [sys.executable, "-u", "-c", code, str(games), "-j", "1", output, where]
    run = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, check=False)
    os.close(sink)
    assert run.returncode == 141 and "error" not in run.stderr
    if output == "--pack":  # everything but the last table is done
        assert "decision points" in run.stderr
        assert [path.name for path in (tmp_path / "shards").iterdir() if path.name.startswith(".")] == []
        assert open_shards(tmp_path / "shards", "train")
