import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from annotate.annotation import format_line, parse_line
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.cli.pack import main
from kanachan.config import SPLITS
from kanachan.data.shard_folder import splits_in
from kanachan.data.shards import open_shards, rows_of_columns
from kanachan.data.text import parse_block
from tests.support.packed import unpacked, with_key, write_lines
from tests.support.random_annotations import altered, random_annotations

V = FOUR_PLAYERS
ANNOTATIONS = random_annotations(400, seed=0, games=20)


def test_packing_and_unpacking_gives_every_line_again(tmp_path: Path) -> None:
    assert main([write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards")]) == 0
    assert sorted(lines := unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))
    (tmp_path / "b.txt").write_text("".join(f"{line}\n" for line in lines))
    assert main([str(tmp_path / "b.txt"), "-o", str(tmp_path / "again")]) == 0
    assert sorted(unpacked(tmp_path / "again")) == sorted(lines)


def test_no_game_is_in_two_splits(tmp_path: Path) -> None:
    main([write_lines(tmp_path / "a.txt", ANNOTATIONS), "-o", str(tmp_path / "shards"), "--fractions", "0.5,0.25,0.25"])
    games = [
        set(open_shards(tmp_path / "shards", split).gather(np.arange(20)).game.tolist())
        for split in ("train", "validation", "test")
    ]
    assert not (games[0] & games[1] or games[0] & games[2] or games[1] & games[2])


def test_a_game_stays_in_its_split_when_data_are_added(tmp_path: Path) -> None:
    few, many = write_lines(tmp_path / "a.txt", ANNOTATIONS[:200]), write_lines(tmp_path / "b.txt", ANNOTATIONS)
    lines = []
    for number, file in enumerate((few, many)):
        main([file, "-o", str(tmp_path / f"shards{number}"), "--fractions", "0.5,0.25,0.25"])
        lines.append([set(unpacked(tmp_path / f"shards{number}", "--split", s)) for s in ("train", "validation")])
    assert lines[0][0] < lines[1][0] and lines[0][1] < lines[1][1]


def shard_bytes(folder: Path) -> dict[str, list[str]]:
    return {split: unpacked(folder, "--split", split) for split in splits_in(folder)}


def test_the_order_depends_neither_on_the_order_of_the_files_nor_on_the_size_of_shards(tmp_path: Path) -> None:
    files = [write_lines(tmp_path / f"{i}.txt", ANNOTATIONS[i * 100 : (i + 1) * 100]) for i in range(4)]
    main([*files, "-o", str(tmp_path / "a")])
    main([*reversed(files), "-o", str(tmp_path / "b")])
    main([*files, "-o", str(tmp_path / "c"), "--rows-per-shard", "50"])
    assert shard_bytes(tmp_path / "a") == shard_bytes(tmp_path / "b") == shard_bytes(tmp_path / "c")
    assert len(splits_in(tmp_path / "a")["train"]) == 1
    assert len(splits_in(tmp_path / "c")["train"]) == -(-len(open_shards(tmp_path / "c", "train")) // 50)


def test_rows_are_shuffled_by_the_seed(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.txt", ANNOTATIONS)
    for seed in "01":
        main([file, "-o", str(tmp_path / seed), "--seed", seed])
    first, second = (unpacked(tmp_path / seed, "--split", "train") for seed in "01")
    assert first != second
    assert sorted(first) == sorted(second)
    games = [line.split("\t")[0] for line in first]
    assert sum(a == b for a, b in zip(games, games[1:], strict=False)) < len(games) / 5  # 1/20 by chance


def test_compressed_files_and_other_line_breaks_are_read(tmp_path: Path) -> None:
    text = ("".join(f"{format_line(a)}\n" for a in ANNOTATIONS)).encode()
    (tmp_path / "a.gz").write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))  # two members
    compressor = zstandard.ZstdCompressor()
    (tmp_path / "a.zst").write_bytes(compressor.compress(text[:1000]) + compressor.compress(text[1000:]))
    (tmp_path / "a.txt").write_bytes(text.replace(b"\n", b"\r\n"))
    for name in ("a.gz", "a.zst", "a.txt"):
        main([str(tmp_path / name), "-o", str(tmp_path / "shards"), "--force"])
        assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_standard_input_may_be_compressed(
    compress: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"{format_line(a)}\n" for a in ANNOTATIONS).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(text))))
    assert main(["-", "-o", str(tmp_path / "shards")]) == 0
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.zst", "-"])
def test_a_last_line_without_a_line_break_is_an_error_even_if_it_is_valid(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"{format_line(a)}\n" for a in ANNOTATIONS[:20]).encode()[:-2]
    compress = {"a.gz": gzip.compress, "a.zst": zstandard.ZstdCompressor().compress}
    path = name if name == "-" else str(tmp_path / name)
    (tmp_path / name).write_bytes(compress.get(name, bytes)(text))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main([path, "-o", str(tmp_path / "shards")]) == 1
    assert f"{path}:20: the last line has no line break: it may be cut off" in capsys.readouterr().err
    assert not (tmp_path / "shards").exists()


GOOD = ANNOTATIONS[0]
BAD_LINES = {
    "six fields": format_line(GOOD).rpartition("\t")[0],
    "no game": format_line(GOOD._replace(game="")),
    "empty line": "",
    "a word": format_line(GOOD).replace("\t", "\tx", 1),
    "unknown sparse token": format_line(altered(GOOD, sparse=(*GOOD.sparse, 526))),
    "negative token": format_line(altered(GOOD, sparse=(-1, *GOOD.sparse))),
    "repeated sparse token": format_line(altered(GOOD, sparse=(*GOOD.sparse, GOOD.sparse[-1]))),
    "no seat": format_line(altered(GOOD, sparse=tuple(t for t in GOOD.sparse if not 7 <= t <= 10))),
    "two seats": format_line(altered(GOOD, sparse=tuple(sorted({*GOOD.sparse, 7, 8})))),
    "no wind": format_line(altered(GOOD, sparse=tuple(t for t in GOOD.sparse if not 11 <= t <= 13))),
    "two rooms": format_line(altered(GOOD, sparse=tuple(sorted({*GOOD.sparse, 0, 1})))),
    "a rank twice": format_line(altered(GOOD, sparse=tuple(sorted({*GOOD.sparse, *range(289, 293)})))),
    "five numbers": format_line(altered(GOOD, numeric=GOOD.numeric[1:])),
    "no beginning": format_line(altered(GOOD, progression=(5, 6))),
    "unknown event": format_line(altered(GOOD, progression=(0, 2129))),
    "too many events": format_line(altered(GOOD, progression=(0, *[5] * 112))),
    "one action": format_line(altered(GOOD, actions=(3,), chosen=0)),
    "too many actions": format_line(altered(GOOD, actions=tuple(range(257)), chosen=0)),
    "unsorted actions": format_line(altered(GOOD, actions=(4, 3), chosen=0)),
    "unknown action": format_line(altered(GOOD, actions=(4, 537), chosen=0)),
    "chosen too high": format_line(GOOD._replace(chosen=len(GOOD.actions))),
    "chosen negative": format_line(GOOD._replace(chosen=-1)),
    "chosen a list": format_line(GOOD).replace(f"\t{GOOD.chosen}\t", "\t0,1\t"),
    "thirteen results": format_line(GOOD._replace(results=(*GOOD.results, 0))),
    "round result": format_line(GOOD._replace(results=(19, *GOOD.results[1:]))),
    "ranks": format_line(GOOD._replace(results=(*GOOD.results[:5], 0, 0, 1, 2, *GOOD.results[9:]))),
    "rank": format_line(GOOD._replace(results=(*GOOD.results[:9], 4, *GOOD.results[10:]))),
}


@pytest.mark.parametrize(("name", "place"), [*((name, 7) for name in BAD_LINES), ("a word", 0), ("a word", 20)])
def test_the_first_wrong_line_is_named_with_the_message_of_the_slow_parser(name: str, place: int) -> None:
    lines = [format_line(a) for a in ANNOTATIONS[:20]]
    lines[place:place] = [BAD_LINES[name]]
    text = "\n".join([*lines, BAD_LINES["a word"]]) + "\n"
    with pytest.raises(ValueError) as slow:
        parse_line(BAD_LINES[name], V)
    with pytest.raises(ValueError) as fast:
        parse_block("file", 1001, text.encode(), V)
    assert str(fast.value) == f"file:{1001 + place}: {slow.value}"


@pytest.mark.parametrize("number", ["0x10", "+5", " 5", "5_0", "99999999999"])
def test_numbers_are_plain_decimal_digits(number: str) -> None:
    line = format_line(GOOD).split("\t")
    line[2] = ",".join([number, *line[2].split(",")[1:]])
    with pytest.raises(ValueError, match=r"file:1: .*(beyond 32 bits|not a comma-separated list)"):
        parse_block("file", 1, ("\t".join(line) + "\n").encode(), V)


def test_a_game_id_with_a_carriage_return_is_refused() -> None:
    text = format_line(GOOD) + "\n" + format_line(GOOD._replace(game="a\rb")) + "\n"
    with pytest.raises(ValueError, match="file:2: a carriage return"):
        parse_block("file", 1, text.encode(), V)


def test_a_random_change_of_a_byte_is_refused_if_and_only_if_the_slow_parser_refuses_it() -> None:
    rng = np.random.default_rng(0)
    line = format_line(GOOD).encode()
    for _ in range(400):
        changed = bytearray(line)
        changed[rng.integers(line.index(b"\t") + 1, len(line))] = rng.choice(list(b"0123456789,\t-"))
        try:
            expected = parse_line(changed.decode(), V)
        except ValueError:
            with pytest.raises(ValueError, match="^file:1: "):
                parse_block("file", 1, bytes(changed) + b"\n", V)
            continue
        columns, _ = parse_block("file", 1, bytes(changed) + b"\n", V)
        (row,) = rows_of_columns(columns, V).to_pylist()
        found = [tuple(row[name]) for name in ("sparse", "numeric", "progression", "actions", "results")]
        assert found == [getattr(expected, n) for n in ("sparse", "numeric", "progression", "actions", "results")]
        assert row["chosen"] == expected.chosen


def test_pipes_are_read_once(tmp_path: Path) -> None:
    first, second = (write_lines(tmp_path / name, random_annotations(20, seed=i)) for i, name in enumerate("ab"))
    command = f"{sys.executable} -m kanachan pack <(cat {first}) <(cat {second}) -o {tmp_path / 'shards'}"
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    assert len(unpacked(tmp_path / "shards")) == 40


def test_a_game_may_have_a_name_that_starts_like_a_record(tmp_path: Path) -> None:
    annotations = [a._replace(game=f"[cup] {a.game}") for a in random_annotations(20, seed=0)]
    text = write_lines(tmp_path / "lines.txt", annotations)
    assert main([text, "-o", str(tmp_path / "shards")]) == 0
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, annotations))


def test_folders_keep_their_splits_on_request(tmp_path: Path) -> None:
    named = []
    for split, lines in zip(SPLITS, (ANNOTATIONS[:200], ANNOTATIONS[200:300], ANNOTATIONS[300:]), strict=True):
        named += [f"--{split}", write_lines(tmp_path / f"{split}.txt", lines)]
    assert main([*named, "-o", str(tmp_path / "named")]) == 0
    assert main([str(tmp_path / "named"), "--keep-splits", "-o", str(tmp_path / "again")]) == 0
    assert shard_bytes(tmp_path / "again") == shard_bytes(tmp_path / "named")


def test_files_of_a_split_may_be_named_in_several_options(tmp_path: Path) -> None:
    files = [write_lines(tmp_path / f"{i}.txt", ANNOTATIONS[i::2]) for i in range(2)]
    assert main(["--train", files[0], "--train", files[1], "-o", str(tmp_path / "shards")]) == 0
    assert sorted(unpacked(tmp_path / "shards")) == sorted(map(with_key, ANNOTATIONS))
