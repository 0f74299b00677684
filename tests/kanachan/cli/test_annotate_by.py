"""The option --by: only decisions of the players with the given names are written, but all rounds of their games."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from annotate.annotation import parse_line
from annotate.vocabulary import FOUR_PLAYERS, THREE_PLAYERS, Vocabulary
from kanachan.cli.annotate import main as annotate
from kanachan.cli.pack import main as pack
from kanachan.data.round_shards import open_rounds
from kanachan.data.shards import Shards, open_shards
from tests.support.writers.all_formats import WRITERS, of_tenhou
from tests.support.writers.majsoul_made import MadeGame, simulated

Written = Callable[..., list[str]]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Annotates records with options and returns the lines."""

    def lines(*arguments: str) -> list[str]:
        path = tmp_path / "lines.txt"
        assert annotate([*arguments, "-o", str(path), "-j", "1", "--force"]) == 0
        return path.read_text().splitlines()

    return lines


def game(vocabulary: Vocabulary, name: str) -> MadeGame:
    if "Mahjong" in name:
        return simulated(1, style=0, rules="mjsoul", vocabulary=vocabulary)
    return of_tenhou(simulated(1, style=0, rules="tenhou", vocabulary=vocabulary))


def record(folder: Path, vocabulary: Vocabulary, name: str = "mjlog") -> str:
    path = folder / "game.json"
    path.write_bytes(WRITERS[name](game(vocabulary, name)))
    return str(path)


def seat_of(line: str, vocabulary: Vocabulary) -> int:
    (seat,) = (
        token - vocabulary.sparse["seat"].first
        for token in parse_line(line, vocabulary).sparse
        if vocabulary.sparse.block_of(token).name == "seat"
    )
    return seat


@pytest.mark.parametrize("vocabulary", [FOUR_PLAYERS, THREE_PLAYERS], ids=["four", "three"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_only_the_lines_of_the_named_players(
    name: str, vocabulary: Vocabulary, tmp_path: Path, written: Written
) -> None:
    path = record(tmp_path, vocabulary, name)
    expected = [line for line in written(path) if seat_of(line, vocabulary) in (0, 2)]
    assert written(path, "--by", "誰2", "--by", "誰0") == expected


def test_games_of_another_number_of_players_without_the_name_do_not_end_the_run(
    tmp_path: Path, written: Written
) -> None:
    for folder, vocabulary in (("a", FOUR_PLAYERS), ("b", THREE_PLAYERS)):
        (tmp_path / folder).mkdir()
        record(tmp_path / folder, vocabulary)
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert written(*paths, "--by", "誰3") == written(paths[0], "--by", "誰3")
    assert written(*reversed(paths), "--by", "誰3", "--players", "4") == written(paths[0], "--by", "誰3")


def test_the_report_counts_the_choices_and_games_left_out(
    tmp_path: Path, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(tmp_path, FOUR_PLAYERS)
    everything = written(path)
    capsys.readouterr()
    (tmp_path / "other.json").write_bytes(
        WRITERS["mjlog"](of_tenhou(simulated(2, style=0, rules="tenhou"))).replace(b"%B01", b"%B07")
    )
    (tmp_path / "unnamed.json").write_bytes(WRITERS["mjai"](simulated(3, style=0)).replace(b'"names"', b'"people"'))
    lines = written(str(tmp_path), "--by", "誰1", "誰9")
    report = capsys.readouterr().err
    assert 0 < len(lines) < len(everything)
    assert "choices of other players left out; games of 誰1 1\n" in report
    assert "1 games: skipped, as no player has a name of --by" in report
    assert "1 games: skipped, as their records hold no names" in report
    assert "warning: no player named 誰9 in any of the records" in report


def test_incomplete_games_count_for_their_players_alone(
    tmp_path: Path, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    written(record(tmp_path, FOUR_PLAYERS), "--by", "誰1")
    for seed, name in ((2, b"\\u8ab01"), (3, b"nobody")):
        whole = WRITERS["mjai"](simulated(seed, style=0)).replace(b"\\u8ab01", name)
        (tmp_path / f"{seed}.json").write_bytes(b"".join(whole.splitlines(keepends=True)[:-9]))
    capsys.readouterr()
    written(str(tmp_path), "--by", "誰1")
    report = capsys.readouterr().err
    assert "games of 誰1 2\n" in report
    assert "1 games: left out, as their end is not recorded" in report
    assert "1 games: skipped, as no player has a name of --by" in report


def test_explain_counts_only_the_decisions_that_are_written(
    tmp_path: Path, written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(tmp_path, FOUR_PLAYERS)
    expected = written(path, "--by", "誰3")[1]
    capsys.readouterr()
    assert annotate([path, "--by", "誰3", "--explain", "2"]) == 0
    of_record = capsys.readouterr().out
    (tmp_path / "line.txt").write_text(f"{expected}\n")
    assert annotate([str(tmp_path / "line.txt"), "--explain", "1"]) == 0
    assert capsys.readouterr().out == of_record


def rows(shards: Shards) -> list[tuple[object, ...]]:
    columns = shards.gather(np.arange(len(shards)))
    return sorted(zip(columns.game.tolist(), columns.results.tolist(), columns.seat.tolist(), strict=True))


def test_shards_by_a_player_hold_only_the_decisions_of_that_player_but_all_rounds(tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    for seed in (1, 2):
        made = of_tenhou(simulated(seed, style=0, rules="tenhou"))
        (records / f"{seed}.mjlog").write_bytes(WRITERS["mjlog"](made))
    for name, more in (("all", []), ("some", ["--by", "誰1"])):
        options = ["-j", "1", "--fractions", "1,0,0", *more]
        assert annotate([str(records), "--pack", str(tmp_path / name), *options]) == 0

    everything, some = (open_shards(tmp_path / name, "train") for name in ("all", "some"))
    assert rows(some) == [row for row in rows(everything) if row[2] == 1]
    assert some.made["by"] == ["誰1"] and "by" not in everything.made
    assert "players named 誰1" in (tmp_path / "some" / "README.md").read_text()
    assert pack([str(tmp_path / "some"), "--keep-splits", "-o", str(tmp_path / "again")]) == 0
    assert open_shards(tmp_path / "again", "train").made["by"] == ["誰1"]
    assert pack(["--train", str(tmp_path / "some"), "--test", str(tmp_path / "all"), "-o", str(tmp_path / "both")]) == 1
    rounds_of_all, rounds_of_some = (open_rounds(tmp_path / name, "train") for name in ("all", "some"))
    for name in type(rounds_of_all).__slots__:
        assert (getattr(rounds_of_some, name) == getattr(rounds_of_all, name)).all(), name
