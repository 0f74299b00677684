"""The steps of launch/quickstart.sh: what is made again, what is kept, and what is shown at the end."""

import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from annotate.simulation.simulate import simulate
from tests.support.launched import LAUNCH, program

quickstart = program("quickstart", LAUNCH)


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the commands of this environment on the path, as launch/quickstart.sh does."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "3", "--style", "east", "-o", str(folder / "games"), "-j", "1"]) == 0
    return folder / "games"


@pytest.fixture(scope="module")
def games_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games-of-three") / "games"
    assert simulate(["-n", "2", "--players", "3", "--style", "east", "-o", str(folder), "-j", "1"]) == 0
    return folder


def trained(work: Path, files: dict[str, list[int]]) -> None:
    """Writes what a complete quickstart leaves."""
    (work / "runs").mkdir(parents=True)
    (work / "runs" / "evaluation.txt").write_text("old")
    (work / "annotations.txt.zst").write_text("old")
    (work / "made-from.json").write_text(json.dumps(files))


def test_added_removed_and_changed_records_are_told_apart() -> None:
    before = {"/r/a.mjlog": [1, 1], "/r/b.mjlog": [2, 2], "/r/c.mjlog": [3, 3]}
    now = {"/r/a.mjlog": [1, 1], "/r/b.mjlog": [2, 5], "/r/d.mjlog": [4, 4]}
    assert quickstart.changes(before, now) == "1 added (d.mjlog), 1 removed (c.mjlog), 1 changed (b.mjlog)"
    assert quickstart.changes(before, dict(reversed(before.items()))) == ""


def test_the_same_records_by_another_path_are_the_same(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(games.parent)
    assert quickstart.files_of(["games"]) == quickstart.files_of([f"{games}/*"]) == quickstart.files_of([str(games)])


def test_what_was_made_of_the_same_records_is_kept(tmp_path: Path) -> None:
    trained(tmp_path, {"/r/a.mjlog": [1, 1]})
    quickstart.set_aside_others(tmp_path, {"/r/a.mjlog": [1, 1]})
    assert (tmp_path / "runs" / "evaluation.txt").read_text() == "old"


def test_results_of_other_records_are_set_aside_and_the_change_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        trained(tmp_path, {"/r/a.mjlog": [number, 1]})
        (tmp_path / "games").mkdir(exist_ok=True)
        quickstart.set_aside_others(tmp_path, {"/r/a.mjlog": [9, 9], "/r/b.mjlog": [1, 1]})
        assert (tmp_path / f"before-{number}" / "runs" / "evaluation.txt").read_text() == "old"
        assert {path.name for path in tmp_path.iterdir() if path.name[:6] != "before"} == {"games"}
        printed = capsys.readouterr().err
        assert "1 added (b.mjlog), 1 changed (a.mjlog)" in printed and f"kept in before-{number}" in printed


def test_what_an_interrupted_or_earlier_version_left_is_not_taken_for_new(tmp_path: Path) -> None:
    trained(tmp_path, {})
    (tmp_path / "made-from.json").unlink()
    quickstart.set_aside_others(tmp_path, {"/r/a.mjlog": [1, 1]})
    assert not (tmp_path / "runs").exists() and (tmp_path / "before-1" / "runs").is_dir()


def test_annotations_of_other_records_are_removed_where_nothing_was_trained(tmp_path: Path) -> None:
    trained(tmp_path, {"/r/a.mjlog": [1, 1]})
    (tmp_path / "runs" / "evaluation.txt").unlink()
    (tmp_path / "runs").rmdir()
    quickstart.set_aside_others(tmp_path, {"/r/a.mjlog": [2, 2]})
    assert list(tmp_path.iterdir()) == []


def run(folder: Path, *records: str) -> int:
    status: int = quickstart.main(["--folder", str(folder), "--", *records])
    return status


def test_a_pattern_that_matches_nothing_leaves_no_trace(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "quickstart", f"{tmp_path}/*.mjlog") == 1
    assert "it matches nothing" in capfd.readouterr().err
    assert not (tmp_path / "quickstart").exists()


def test_too_few_games_can_be_followed_by_more(games: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    few = tmp_path / "few"
    few.mkdir()
    first, second, *_ = sorted(games.iterdir())
    (few / first.name).write_bytes(first.read_bytes())
    assert run(tmp_path / "quickstart", str(few)) == 1
    error = capfd.readouterr().err
    assert "too few games of 4 players to hold out some for validation and test (1 files of records)" in error
    assert (tmp_path / "quickstart" / "records" / "review-reference.html").exists()
    (few / second.name).write_bytes(second.read_bytes())
    run(tmp_path / "quickstart", str(few))
    again = capfd.readouterr().err
    assert f"other records than last time: 1 added ({second.name}); starting again" in again
    assert "2 games" in again and "(2 files of records)" in again


def test_games_of_three_are_reviewed_by_weights_of_three_and_others_beside_them_are_left_out(
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
    assert "2 games" in printed and "another number of players" in printed
    assert "too few games of 3 players" in printed  # annotated and packed


def test_the_game_to_review_has_as_many_players_as_are_learned_from(games: Path, games_of_three: Path) -> None:
    both = [str(games), str(games_of_three)]
    assert Path(str(quickstart.first_game(both, 3))).parent == games_of_three
    assert Path(str(quickstart.first_game(both, 4))).parent == games


def test_the_game_to_review_is_the_first_whole_one(games: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    whole = sorted(games.iterdir())[0]
    lines = gzip.decompress(whole.read_bytes()).splitlines(keepends=True)
    (tmp_path / "b.jsonl").write_bytes(b"".join(lines[:40]))
    assert quickstart.first_game([str(tmp_path)], 4) is None
    (tmp_path / "c.jsonl").write_bytes(b"".join(lines))
    assert quickstart.first_game([str(tmp_path)], 4) == f"{tmp_path}/c.jsonl"


def test_values_that_are_no_better_than_the_scores_are_not_shown_in_the_review(tmp_path: Path) -> None:
    verdicts = {"imitation": False, "round_delta": True, "rank": False, "grading": False}
    networks = [{"stage": stage, "verdict": {"is_better": is_better}} for stage, is_better in verdicts.items()]
    (tmp_path / "evaluation.json").write_text(json.dumps({"weights": networks}))
    assert quickstart.learned(tmp_path) == [tmp_path / "imitation", tmp_path / "round_delta"]


def settings(folder: Path, *records: str) -> object:
    return quickstart.Settings(folder, records, 300, 1600, 500, Path("x.yaml"))


def test_next_steps_have_paths_that_can_be_typed_from_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(LAUNCH.parent)
    printed = quickstart.next_steps(settings(LAUNCH.parent / "quickstart"))
    assert "\n    launch/curriculum.sh quickstart/simulated/shards" in printed
    assert "\n    launch/quickstart.sh RECORDS…" in printed
    assert str(LAUNCH.parent) not in printed.replace(sys.prefix, "")
    for command in ("review", "arena", "bot", "curves"):
        assert f"kanachan-{command} " in printed


def test_who_gave_records_is_not_told_to_give_records(tmp_path: Path) -> None:
    printed = quickstart.next_steps(settings(tmp_path, "records"))
    assert "quickstart.sh" not in printed and f"{tmp_path}/records/runs/imitation" in printed


def test_next_steps_for_games_of_three_name_weights_of_three(games_of_three: Path, tmp_path: Path) -> None:
    printed = quickstart.next_steps(settings(tmp_path, str(games_of_three)))
    assert "kanachan-review RECORD reference/3p --seat all" in printed and "kanachan-bot reference/3p 2" in printed
    assert "The network `reference/3p` has learned from 213" in printed


def test_a_page_is_named_by_its_address_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert quickstart.how_to_open(tmp_path / "a b.html") == (
        f"Open 'a b.html' in a browser: file://{tmp_path}/a%20b.html"
    )
