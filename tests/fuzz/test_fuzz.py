"""A little of the fuzzer in every run: some hundred damaged records for each reader, made up here."""

import subprocess
import sys
from pathlib import Path

import pytest

from annotate.records.reading import Record, read_record
from annotate.replay.replay import annotate_game
from tests.fuzz.compare import disagreement
from tests.fuzz.formats import FORMATS
from tests.fuzz.fuzz import READERS, Source, make_input, original_records, run
from tests.fuzz.oracle import examine
from tests.fuzz.plain_reading import rounds_of_mjai, rounds_of_mjlog

NUM_INPUTS = 120
PLAIN_READERS = {"mjai": rounds_of_mjai, "mjlog": rounds_of_mjlog}


def source(reader: str) -> Source:
    return Source(reader, seed=1, is_real=False, most=4)


@pytest.mark.parametrize("reader", READERS)
def test_damaged_records_do_no_harm_and_what_is_annotated_is_right(reader: str, tmp_path: Path) -> None:
    tally = run(source(reader), range(NUM_INPUTS), processes=1, folder=tmp_path, is_quiet=True)
    assert tally.failures == {}, list(tmp_path.iterdir())
    assert tally.inputs == NUM_INPUTS
    # some of everything, or it would be no test
    assert tally.refused.total() > 10 and tally.rounds > 10 and tally.unchanged > 10
    assert tally.left_out


@pytest.mark.parametrize("reader", FORMATS)
def test_records_that_are_not_damaged_are_annotated_as_a_plain_reading_has_them(reader: str) -> None:
    for record in original_records(source(reader)):
        outcome = examine(Record("name", 0, record), reader, writes_hidden=True)
        assert outcome.failures == [] and outcome.rounds >= 1


@pytest.mark.parametrize("reader", READERS)
def test_an_input_is_the_same_every_time(reader: str) -> None:
    first = [make_input(source(reader), number) for number in range(20)]
    assert first == [make_input(source(reader), number) for number in range(20)]
    assert len(set(first)) > 15


@pytest.mark.parametrize("reader", PLAIN_READERS)
@pytest.mark.parametrize("wrong", ["scores", "deposits", "wind", "hands", "dora", "deltas", "moves", "winners"])
def test_a_difference_between_a_file_and_its_annotations_is_noticed(reader: str, wrong: str) -> None:
    record = next(data for data in original_records(source(reader)) if b"AGARI" in data or b"hora" in data)
    (game,) = read_record(Record("name", 0, record))
    annotations = annotate_game(game).annotations
    recorded = PLAIN_READERS[reader](record)[0]
    assert disagreement(recorded, annotations) is None
    recorded = PLAIN_READERS[reader](record)[0]
    if wrong == "scores":
        recorded.scores[3] += 100
    elif wrong == "deposits":
        recorded.deposits += 1
    elif wrong == "wind":
        recorded.wind += 1
    elif wrong == "hands":
        recorded.hands[0][0] = "1z" if recorded.hands[0][0] != "1z" else "2z"
    elif wrong == "dora":
        recorded.dora[0] = "1z" if recorded.dora[0] != "1z" else "2z"
    elif wrong == "deltas":
        recorded.deltas[0] += 100
    elif wrong == "moves":
        place = next(i for i, move in enumerate(recorded.moves) if i > 8 and move.kind == "discard")
        recorded.moves[place].is_drawn = not recorded.moves[place].is_drawn
    else:
        recorded.winners = {(winner + 1) % 4: target for winner, target in recorded.winners.items()}
    assert disagreement(recorded, annotations) is not None


def test_the_script_explains_itself_and_runs_a_few(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.fuzz.fuzz"]
    printed = subprocess.run([*script, "--help"], capture_output=True, text=True, check=True).stdout
    assert "every annotation is right" in printed
    options = ["tenhou-json", "--inputs", "20", "--made", "--keep", str(tmp_path / "failures")]
    table = subprocess.run([*script, *options], capture_output=True, text=True, check=True).stdout
    assert "20 inputs" in table and "0 failures" in table
