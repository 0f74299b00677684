"""Verification of annotation lines: correct ones pass, and every mutation is found at its line."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from annotate.checks.verify import MOST_SHOWN, verify
from annotate.pipeline.cli import annotate
from annotate.runtime.files import writing_text
from annotate.simulation.simulate import simulate
from tests.support.mutations import converters, play, results
from tests.support.mutations.mutations import MUTATIONS, Line
from tests.support.paths import GOLDEN
from tests.support.real_records import real_records

SEED = "1"  # of games in which all occurs that the mutations look for
GOLDEN_LINES = GOLDEN / "golden.txt"
assert converters and play and results, "they fill MUTATIONS"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of two simulated games, with the hidden field."""
    folder = tmp_path_factory.mktemp("lines")
    games, lines = str(folder / "games"), str(folder / "lines.txt")
    assert simulate(["-n", "2", "--seed", SEED, "--style", "east", "-o", games, "-j", "1"]) == 0
    assert annotate([games, "--hidden", "-o", lines, "-j", "1"]) == 0
    return folder / "lines.txt"


@pytest.fixture(scope="module")
def lines(path: Path) -> list[Line]:
    return [Line.of(text) for text in path.read_text().splitlines()]


def write(path: Path, lines: list[Line]) -> str:
    path.write_text("".join(line.text() for line in lines))
    return str(path)


def test_lines_of_simulated_games_pass(path: Path) -> None:
    verification = verify([str(path)], num_processes=1)

    assert verification.shown == []
    assert (verification.games, verification.gaps) == (2, 0)
    assert verification.lines == len(path.read_text().splitlines())


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_found_at_its_line(name: str, lines: list[Line], tmp_path: Path) -> None:
    kind, mutate = MUTATIONS[name]
    mutated = [line.copy() for line in lines]
    index = mutate(mutated)

    found = verify([write(tmp_path / "lines.txt", mutated)], num_processes=1).shown

    assert kind in {violation.kind for violation in found if violation.line == index + 1}, "\n".join(map(str, found))


def test_a_violation_names_file_line_field_value_and_expectation(
    lines: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutated = [line.copy() for line in lines]
    mutated[50].numeric[0] += 1
    path = write(tmp_path / "lines.txt", mutated)

    assert annotate(["--verify", path]) == 1

    found, expected = (",".join(map(str, line[50].numeric)) for line in (mutated, lines))
    assert f"{path}:51: numbers: field 2 (numeric) is {found}, {expected} expected" in capsys.readouterr().out


def test_the_first_violations_are_shown_and_all_are_counted_by_kind(
    lines: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutated = [line.copy() for line in lines]
    for line in mutated[100:150]:
        line.sparse[-1] = 1000

    assert annotate(["--verify", write(tmp_path / "lines.txt", mutated)]) == 1

    report = capsys.readouterr().out
    assert report.count("1000 is not in 0 ... 525") == MOST_SHOWN
    assert "and 3" in report.split("more violations")[0].splitlines()[-1]
    assert "50   form" in report


def test_correct_lines_are_reported_with_numbers_of_lines_games_and_rounds(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert annotate(["--verify", str(path)]) == 0

    numbers = dict(reversed(line.split()) for line in capsys.readouterr().out.splitlines())
    assert numbers["games"] == "2" and numbers["violations"] == "0"
    assert int(numbers["lines"]) == len(path.read_text().splitlines()) and int(numbers["rounds"]) >= 8


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_files_are_read_by_their_suffix(path: Path, tmp_path: Path, suffix: str) -> None:
    with writing_text(str(tmp_path / f"lines.txt{suffix}")) as text:
        text.write(path.read_text())

    verification = verify([str(tmp_path / f"lines.txt{suffix}")], num_processes=1)

    assert verification.games == 2 and not verification.kinds


def test_standard_input_is_read(path: Path) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from annotate.pipeline.cli import annotate; sys.exit(annotate())",
            "--verify",
            "-",
        ],
        input=path.read_text(),
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    assert "2 games" in run.stdout


def test_the_report_does_not_depend_on_the_number_of_processes(lines: list[Line], tmp_path: Path) -> None:
    mutated = [line.copy() for line in lines]
    for line in mutated[::20]:
        line.numeric[2] += 100
    paths = [write(tmp_path / f"{number}.txt", mutated) for number in range(4)]

    assert verify(paths, num_processes=1) == verify(paths, num_processes=2)


def test_a_damaged_file_affects_neither_other_files_nor_its_good_lines(path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.txt.gz"
    cut.write_bytes(gzip.compress(path.read_bytes())[:-2000])

    verification = verify([str(cut), str(path)], num_processes=1)

    assert verification.kinds["file"] == 1
    assert "damaged or cut off" in next(v.text for v in verification.shown if v.kind == "file")
    assert verification.lines > 1.5 * len(path.read_text().splitlines())


def test_a_file_without_a_line_is_a_violation(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()

    assert verify([str(tmp_path / "empty.txt")], num_processes=1).kinds == {"file": 1}


def test_a_last_line_that_is_not_ended_is_a_violation(path: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.txt").write_text(path.read_text()[:-1])

    assert verify([str(tmp_path / "cut.txt")], num_processes=1).kinds == {"file": 1}


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotate(["--verify", str(tmp_path / "nowhere.txt")]) == 1

    assert "nowhere.txt" in capsys.readouterr().err


def test_rounds_that_are_left_out_are_counted_and_are_not_a_violation(lines: list[Line], tmp_path: Path) -> None:
    third = [line.round for line in lines if line.progression == [0]][2]
    rest = [line for line in lines if line.round != third]

    verification = verify([write(tmp_path / "lines.txt", rest)], num_processes=1)

    assert verification.shown == [] and verification.gaps == 1


def test_the_golden_lines_pass() -> None:
    verification = verify([str(GOLDEN_LINES)], num_processes=1)

    assert (verification.shown, verification.rounds, verification.gaps) == ([], 5, 0)


@pytest.mark.records
@pytest.mark.parametrize("folder", ["tenhou/houou-4p-2020", "tenhou/corner-cases", "tenhou6", "majsoul", "mjai"])
def test_lines_of_real_games_pass(folder: str, tmp_path: Path) -> None:
    files = [str(file) for file in real_records(folder)[:3]]
    assert annotate([*files, "-o", str(tmp_path / "lines.txt"), "-j", "1", "--keep-incomplete"]) == 0

    assert verify([str(tmp_path / "lines.txt")], num_processes=1).shown == []
