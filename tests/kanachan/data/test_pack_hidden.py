"""Hidden hands in shards: stored, gathered on request, and ignored otherwise."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from annotate.annotation import Annotation, format_line, parse_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli import pack
from kanachan.cli.annotate import main as annotate
from kanachan.data.columns import Columns, columns_of_annotations
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards, rows_of_columns
from kanachan.data.text import parse_block
from tests.support.packed import unpacked, with_key, write_lines
from tests.support.paths import HANDMADE_RECORDS
from tests.support.random_annotations import random_annotations, with_hidden

V = FOUR_PLAYERS
WALL = V.hidden["wall"].first
PLAIN = random_annotations(200, seed=0, games=20)
ANNOTATIONS = with_hidden(PLAIN, seed=0)


def packed(folder: Path, annotations: Sequence[Annotation], *options: str) -> Path:
    folder.parent.mkdir(exist_ok=True)
    text = write_lines(folder.with_suffix(".txt"), annotations)
    assert pack.main([text, "-o", str(folder), "--fractions", "1,0,0", *options]) == 0
    return folder


def without_wall(annotation: Annotation) -> Annotation:
    assert annotation.hidden is not None
    return annotation._replace(hidden=tuple(token for token in annotation.hidden if token < WALL))


def gathered(folder: Path, *, hidden: bool | None) -> Columns:
    shards = open_shards(folder, "train", verify=True, hidden=hidden)
    return shards.gather(np.arange(len(shards)))


def test_packing_and_unpacking_gives_the_hands_again_but_not_the_wall(tmp_path: Path) -> None:
    shards = packed(tmp_path / "shards", ANNOTATIONS)
    assert sorted(unpacked(shards)) == sorted(with_key(without_wall(annotation)) for annotation in ANNOTATIONS)


def test_annotations_and_their_lines_give_the_same_columns() -> None:
    text = "".join(f"{format_line(a)}\n" for a in ANNOTATIONS)
    expected, _ = parse_block("file", 1, text.encode(), V)
    assert rows_of_columns(columns_of_annotations(ANNOTATIONS, V), V).equals(rows_of_columns(expected, V))


def test_requested_hands_are_gathered_over_all_files(tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", ANNOTATIONS, "--rows-per-shard", "60")
    assert len(splits_in(folder)["train"]) > 2
    shards = open_shards(folder, "train", hidden=True)
    of_line = {with_key(a._replace(hidden=None)): a.hidden for a in map(without_wall, ANNOTATIONS)}
    annotations = [parse_line(line, V) for line in unpacked(folder)]
    assert all(a.hidden == of_line[format_line(a._replace(hidden=None))] for a in annotations)
    rows = np.random.default_rng(0).permutation(len(shards))
    found = shards.gather(rows).hidden
    assert found is not None
    stretches = zip(found.starts[:-1], found.starts[1:], strict=True)
    assert [tuple(found.values[a:b].tolist()) for a, b in stretches] == [annotations[row].hidden for row in rows]


def test_shards_without_hidden_hands_are_refused_only_if_hands_are_requested(tmp_path: Path) -> None:
    folder = packed(tmp_path / "shards", PLAIN)
    assert gathered(folder, hidden=None).hidden is None
    with pytest.raises(ValueError, match=r"train-00000\.arrow: holds no hidden hands.*--hidden"):
        gathered(folder, hidden=True)


@pytest.mark.parametrize("place", [1, 7])
def test_the_first_line_with_another_number_of_fields_is_named(place: int) -> None:
    lines = [format_line(a) for a in (*PLAIN[:place], *ANNOTATIONS[place:9], *PLAIN[9:20])]
    with pytest.raises(ValueError, match=f"^file:{place + 1}: hidden hands here, but none before"):
        parse_block("file", 1, "".join(f"{line}\n" for line in lines).encode(), V)


@pytest.mark.parametrize("hidden", ["0,1,445", "0,2,1", "0,0", "0,408,1", "408,408,3", "", "0\t1", "-1,2", "0,,2"])
@pytest.mark.parametrize("place", [0, 5])
def test_a_wrong_hidden_field_is_named_with_the_message_of_the_slow_parser(hidden: str, place: int) -> None:
    lines = [format_line(a) for a in ANNOTATIONS[:10]]
    lines[place] = "\t".join([*lines[place].split("\t")[:7], hidden])
    with pytest.raises(ValueError) as slow:
        parse_line(lines[place], V)
    with pytest.raises(ValueError) as fast:
        parse_block("file", 1, "".join(f"{line}\n" for line in lines).encode(), V)
    assert str(fast.value) == f"file:{place + 1}: {slow.value}"


def test_records_and_their_text_give_the_same_shards_with_hands(tmp_path: Path) -> None:
    record = str(HANDMADE_RECORDS / "handmade.jsonl")
    assert annotate([record, "--hidden", "--pack", str(tmp_path / "direct")]) == 0
    assert annotate([record, "--hidden", "-o", str(tmp_path / "lines.txt")]) == 0
    assert pack.main([str(tmp_path / "lines.txt"), "-o", str(tmp_path / "through-text")]) == 0
    direct, through_text = unpacked(tmp_path / "direct"), unpacked(tmp_path / "through-text")
    assert direct == through_text
    assert all(len(line.split("\t")) == 8 for line in direct)


def test_hidden_hands_are_left_out_if_a_source_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_hands, without = packed(tmp_path / "with", ANNOTATIONS[:100]), packed(tmp_path / "without", PLAIN[100:])
    assert pack.main([str(with_hands), str(without), "-o", str(tmp_path / "both"), "--fractions", "1,0,0"]) == 0
    assert f"hidden hands are left out, because {without} has none" in capsys.readouterr().err
    assert sorted(unpacked(tmp_path / "both")) == sorted(map(with_key, PLAIN))


def test_empty_sources_do_not_remove_hidden_hands(tmp_path: Path) -> None:
    whole, empty, text = packed(tmp_path / "whole", ANNOTATIONS), tmp_path / "empty", tmp_path / "empty.txt"
    record = str(HANDMADE_RECORDS / "handmade.jsonl")
    assert annotate([record, "--shard", "2/2", "--pack", str(empty)]) == 0
    text.touch()
    assert pack.main([*map(str, (whole, empty, text)), "-o", str(tmp_path / "both"), "--fractions", "1,0,0"]) == 0
    assert gathered(tmp_path / "both", hidden=True).hidden is not None
