"""The steps of launch/quickstart.sh: what is made again, what is kept, and what is shown at the end."""

import gzip
import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from kanachan.cli.simulate import main as simulate
from tests.support.launched import LAUNCH, program

quickstart = program("quickstart", LAUNCH)


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the commands of this environment on the path, as launch/quickstart.sh does."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


@pytest.fixture(scope="module")
def games_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games-of-three") / "games"
    assert simulate(["-n", "2", "--players", "3", "--style", "east", "-o", str(folder), "-j", "1"]) == 0
    return folder


def trained(work: Path, files: dict[str, list[int]]) -> None:
    """Writes the files that a complete quickstart leaves."""
    (work / "runs").mkdir(parents=True)
    (work / "runs" / "evaluation.txt").write_text("old")
    (work / "made-from.json").write_text(json.dumps(files))


def test_records_are_recognised_by_any_path(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(games.parent)
    assert quickstart.files_of(["games"]) == quickstart.files_of([f"{games}/*"]) == quickstart.files_of([str(games)])


def test_a_member_of_an_archive_is_known_by_the_size_and_time_of_its_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        archive.writestr("a.mjlog", "<mjloggm/>")
    member = f"{tmp_path / 'games.zip'}!a.mjlog"
    about = (tmp_path / "games.zip").stat()
    assert quickstart.files_of([member]) == {member: [about.st_size, about.st_mtime_ns]}


def test_results_of_other_records_are_set_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        trained(tmp_path, {"/r/a.mjlog": [number, 1]})
        (tmp_path / "games").mkdir(exist_ok=True)
        quickstart.set_aside_others(tmp_path, {"/r/a.mjlog": [9, 9], "/r/b.mjlog": [1, 1]})
        assert (tmp_path / f"before-{number}" / "runs" / "evaluation.txt").read_text() == "old"
        assert {p.name for p in tmp_path.iterdir() if p.name[:6] != "before"} == {"games", "made-from.json"}
        assert f"kept in before-{number}" in capsys.readouterr().err
        (tmp_path / "made-from.json").unlink()


def run(folder: Path, *records: str) -> int:
    status: int = quickstart.main(["--folder", str(folder), "--", *records])
    return status


def test_too_few_games_are_not_trained_on(games: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work = tmp_path / "quickstart" / "records"
    trained(work, quickstart.files_of([str(games)]))
    (work / "review-reference.html").write_text("reviewed before")
    assert run(tmp_path / "quickstart", str(games)) == 1
    error = capfd.readouterr().err
    assert "6 games of 4 players: at least 30 are needed to train on" in error and "starting again" not in error
    assert (work / "review-reference.html").read_text() == "reviewed before"
    assert not (work / "shards").exists()


@pytest.mark.slow
def test_three_player_games_are_reviewed_by_three_player_weights_and_other_games_are_left_out(
    games: Path, games_of_three: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for name, folder in (("a", games_of_three), ("b", games)):
        for path in sorted(folder.iterdir())[:2]:
            (mixed / f"{name}-{path.name}").write_bytes(path.read_bytes())
    assert run(tmp_path / "quickstart", str(mixed)) == 1
    printed = capfd.readouterr().err
    assert "reference/3p  agreement" in printed
    assert (tmp_path / "quickstart" / "records" / "review-reference.html").exists()
    assert "2 games of 3 players: at least 30" in printed


def test_the_reviewed_game_is_the_first_complete_one_with_that_number_of_players(
    games: Path, games_of_three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text("{}")
    whole = sorted(games.iterdir())[0]
    lines = gzip.decompress(whole.read_bytes()).splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_bytes(b"".join(lines[:40]))
    (tmp_path / "d.jsonl").write_bytes(b"".join(lines[:40] + lines))
    commands: list[tuple[object, ...]] = []
    monkeypatch.setattr(quickstart, "run", lambda *command: commands.append(command))
    quickstart.review([str(games_of_three), str(tmp_path)], 4, ["reference"], tmp_path / "page.html")
    assert [command[1:5] for command in commands] == [(f"{tmp_path}/d.jsonl", "reference", "--game", 2)]


def test_values_that_are_no_better_than_the_scores_are_not_shown_in_the_review(tmp_path: Path) -> None:
    verdicts = {"imitation": False, "round_delta": True, "rank": False, "grading": False}
    networks = [{"stage": stage, "verdict": {"is_better": is_better}} for stage, is_better in verdicts.items()]
    (tmp_path / "evaluation.json").write_text(json.dumps({"weights": networks}))
    assert quickstart.learned(tmp_path) == [tmp_path / "imitation", tmp_path / "round_delta"]
