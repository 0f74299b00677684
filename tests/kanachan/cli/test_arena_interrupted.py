"""Matches of kanachan-arena that are interrupted or resumed, or that share an output file."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from annotate.runtime.files import locking
from kanachan.cli.arena import main
from tests.support.matches import SHORT, arena, journal, left_of, mjai, result_of
from tests.support.paths import ROOT
from tests.support.processes import wait_until


def test_a_resumed_run_gives_the_same_result_as_an_uninterrupted_one(arena_run: Path, tmp_path: Path) -> None:
    lines = (arena_run / "result.json.games").read_text().splitlines(keepends=True)
    (tmp_path / "result.json.games").write_text("".join(lines[:4]) + lines[4][:50])
    assert arena(tmp_path, "--resume", games=7) == 0
    assert journal(tmp_path) == journal(arena_run)
    assert result_of(tmp_path) == result_of(arena_run)


def test_a_journal_is_neither_overwritten_nor_resumed_with_other_settings(
    arena_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "result.json.games").write_bytes((arena_run / "result.json.games").read_bytes())
    assert arena(tmp_path) == 1
    assert "continue them with --resume, or start from scratch with --force" in capsys.readouterr().err
    assert journal(tmp_path) == journal(arena_run)
    assert arena(tmp_path, "--resume", games=2) == 1
    assert "games are done: give at least as many" in capsys.readouterr().err
    assert journal(tmp_path) == journal(arena_run)
    assert arena(tmp_path, "--resume", "--rules", "mjsoul") == 1
    assert "had other settings (rules: tenhou, now mjsoul)" in capsys.readouterr().err
    assert arena(tmp_path, "--resume", players=("rule:swift", "rule")) == 1
    assert "players: ['rule:swift', 'random'], now " in capsys.readouterr().err
    with open(tmp_path / "result.json.games", "a") as file:
        file.write('{"wall": 1\n')
    assert arena(tmp_path, "--resume") == 1
    assert "result.json.games: this journal of an interrupted run is damaged" in capsys.readouterr().err
    (tmp_path / "result.json.games").write_bytes((arena_run / "result.json.games").read_bytes() + b'{"wall": 1}\n')
    assert arena(tmp_path, "--resume") == 1
    assert "result.json.games: damaged (" in capsys.readouterr().err


def test_a_run_without_a_finished_game_does_not_block_the_next_run(tmp_path: Path) -> None:
    assert arena(tmp_path, players=("mjai:no-such-program", "rule")) == 1
    assert not list(tmp_path.iterdir())
    (tmp_path / "result.json.games").write_text('{"arena": 2}\n{"wall')  # cut off in its first game
    assert arena(tmp_path) == 0
    assert len(journal(tmp_path)) == 5


def test_force_keeps_the_earlier_games_until_the_first_new_game_has_ended(arena_run: Path, tmp_path: Path) -> None:
    (tmp_path / "result.json.games").write_bytes((arena_run / "result.json.games").read_bytes())
    assert arena(tmp_path, "--force", players=("mjai:no-such-program", "rule")) == 1
    assert journal(tmp_path) == journal(arena_run)
    assert arena(tmp_path, "--force", players=("rule", "random")) == 0
    assert len(journal(tmp_path)) == 5


def test_two_matches_cannot_write_the_same_output_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locking(tmp_path / "result.json.games", "not locked before"):
        assert arena(tmp_path) == 1
    assert "result.json.games: another process is at work on this output" in capsys.readouterr().err
    assert arena(tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json", "result.json.games"]


def num_journalled(path: Path) -> int:
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_prints_the_result_so_far(processes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = tmp_path / "result.json.games"

    def press() -> None:
        wait_until(lambda: num_journalled(games) >= 2)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    status = arena(tmp_path, "--processes", processes, "--together", "2", players=("rule", "rule:flush"), games=4000)
    pressing.join()
    assert status == 128 + signal.SIGINT
    printed = capsys.readouterr()
    assert "interrupted; --resume continues" in printed.err
    assert f"{num_journalled(games)} of 4,000 games" in printed.out and "mean rank" in printed.out
    assert "short games end first" in printed.out
    assert result_of(tmp_path)["games"] == num_journalled(games)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_loses_no_finished_game_and_leaves_no_process(number: int, tmp_path: Path) -> None:
    options = ["-n", "40", *SHORT, "--json", str(tmp_path / "result.json"), "--processes", "2", "--together", "2"]
    command = [sys.executable, "-m", "kanachan", "arena", "rule:swift", mjai(), *options]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    games = tmp_path / "result.json.games"
    wait_until(lambda: num_journalled(games) >= 2)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    assert process.wait(60) == (128 + number if number == signal.SIGINT else -number)
    wait_until(lambda: left_of(process.pid) == [], 20)
    before = num_journalled(games)
    assert main([*command[4:], "--resume"]) == 0
    assert before < num_journalled(games) == 40
