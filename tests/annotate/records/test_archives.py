"""Records in archives: read member by member, as from a folder; damaged and hostile archives."""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from annotate.records import archives, reading
from annotate.records.reading import find_records, read_record, records_of
from kanachan.cli.annotate import main as annotate
from kanachan.cli.simulate import main as simulate
from tests.support.paths import HANDMADE_RECORDS

Files = dict[str, bytes]
Pack = Callable[[Path, Files], Path]

MJAI = (HANDMADE_RECORDS / "handmade.jsonl").read_bytes()
NAMES = ["b/2.jsonl", "b/deep/er/1.json.gz", "a.mjson"]
FILES = {NAMES[0]: MJAI, NAMES[1]: gzip.compress(MJAI), NAMES[2]: MJAI}


def zip_of(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tar_bytes(files: Files) -> bytes:
    with io.BytesIO() as raw:
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return raw.getvalue()


def tar_of(path: Path, files: Files) -> Path:
    path.write_bytes(tar_bytes(files))
    return path


def tar_gz_of(path: Path, files: Files) -> Path:
    path.write_bytes(gzip.compress(tar_bytes(files)))
    return path


def tar_zst_of(path: Path, files: Files) -> Path:
    path.write_bytes(zstandard.ZstdCompressor().compress(tar_bytes(files)))
    return path


every_kind = pytest.mark.parametrize("pack", [zip_of, tar_of, tar_gz_of, tar_zst_of])


def names_and_problems(path: Path) -> list[tuple[str, str | None]]:
    return [(record.name.removeprefix(str(path)), record.problem) for record in records_of([str(path)])]


@every_kind
def test_members_are_records_in_the_archives_order_whatever_its_name(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "records.txt", FILES)
    records = list(records_of([str(path)]))
    assert [record.name for record in records] == [f"{path}!{name}" for name in NAMES]
    assert all(len(read_record(record)[0].rounds) == 1 for record in records)


@every_kind
def test_hidden_files_and_other_suffixes_are_skipped(pack: Pack, tmp_path: Path) -> None:
    others = [".b.json", "./.c/d.json", "__MACOSX/._e.json", "f.txt", "g/h"]
    path = pack(tmp_path / "archive", {"./a.json": MJAI, **dict.fromkeys(others, b"")})
    assert names_and_problems(path) == [("!./a.json", None)]


@every_kind
def test_an_archive_without_records_says_so(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "archive", {"readme.txt": b"x"})
    ((name, problem),) = names_and_problems(path)
    assert name == "" and problem is not None and problem.startswith("no file in this archive ends in .xml, ")


@every_kind
def test_one_member_can_be_given_by_the_name_that_reports_use(pack: Pack, tmp_path: Path) -> None:
    path = pack(tmp_path / "wow!.zip", {**FILES, "readme.txt": MJAI})
    for name in ("b/2.jsonl", "readme.txt"):
        (record,) = records_of(find_records([f"{path}!{name}"]))
        assert record.name == f"{path}!{name}"
        assert len(read_record(record)) == 1
    ((_, problem),) = names_and_problems(Path(f"{path}!missing.json"))
    assert problem == "no file in this archive is missing.json"


def test_a_name_is_never_used_as_a_path_and_always_printable(tmp_path: Path) -> None:
    for pack in (zip_of, tar_of):
        path = pack(tmp_path / "archive", {"../../etc/a.json": MJAI, "/b.json": MJAI, "c\n\x1b.json": MJAI})
        names = [name for name, _ in names_and_problems(path)]
        assert names == ["!../../etc/a.json", "!/b.json", "!c\ufffd\ufffd.json"]


def test_links_and_devices_in_a_tar_are_reported_and_never_followed(tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("link.json")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    found = names_and_problems(path)
    assert [name for name, _ in found] == ["!link.json"] * 4
    assert all(problem is not None and "not a regular file" in problem for _, problem in found)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_concatenated_tars_are_read_to_the_end(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "archive.tar"
    path.write_bytes(b"".join(compress(tar_bytes({name: MJAI})) for name in NAMES))
    assert names_and_problems(path) == [(f"!{name}", None) for name in NAMES]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("games")
    assert simulate(["-n", "2", "--seed", "4", "--style", "east", "-o", str(folder), "--processes", "1"]) == 0
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@every_kind
def test_an_archive_in_an_archive_is_refused_by_name(pack: Pack, tmp_path: Path) -> None:
    inner = {
        "inner.zip": zip_of(tmp_path / "inner", FILES).read_bytes(),
        "inner.tgz": gzip.compress(tar_bytes(FILES)),
        "inner.json": tar_bytes(FILES),
    }
    path = pack(tmp_path / "archive", {**inner, "a.json": MJAI})
    *nested, good = records_of([str(path)])
    for record, name in zip(nested, inner, strict=True):
        with pytest.raises(ValueError, match=f"{name}: an archive where a record is expected"):
            read_record(record)
    assert read_record(good)


def test_only_the_zip_member_with_a_wrong_checksum_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in "abc":
            archive.writestr(f"{name}.json", MJAI)
    data = bytearray(path.read_bytes())
    data[data.index(MJAI[:20], data.index(b"b.json"))] ^= 1
    path.write_bytes(data)
    (_, good), (_, bad), (_, good_too) = names_and_problems(path)
    assert (good, good_too) == (None, None)
    assert bad is not None and "damaged in the archive (Bad CRC-32" in bad


def test_a_zip_member_with_a_password_is_named(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "archive.zip", {"a.json": MJAI})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    ((name, problem),) = names_and_problems(path)
    assert name == "!a.json" and problem is not None and "password" in problem


@every_kind
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_cut_off_archive_gives_the_readable_members_and_says_so(pack: Pack, share: float, tmp_path: Path) -> None:
    path = pack(tmp_path / "archive", {f"{n}.json": random.Random(n).randbytes(3000) for n in range(200)})
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    *whole, (name, problem) = names_and_problems(path)
    assert name == "" and problem is not None and "damaged or cut off" in problem
    assert whole == [(f"!{n}.json", None) for n in range(len(whole))]
    assert len(whole) > 50 or pack is zip_of  # a zip's directory is at its end


def test_a_damaged_header_of_a_tar_is_not_taken_for_its_end(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "archive.tar", {"a.json": b"x" * 500, "b.json": b"y" * 500})
    data = bytearray(path.read_bytes())
    data[1024 + 3] ^= 1
    path.write_bytes(data)
    good, (name, problem) = names_and_problems(path)
    assert good == ("!a.json", None)
    assert name == "" and problem is not None
    assert problem.startswith(
        "the archive is damaged or cut off after a.json (a member's header is damaged or missing)"
    )


@every_kind
def test_a_member_beyond_the_size_limit_is_refused(pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST_MEMBER", 1 << 20)
    path = pack(tmp_path / "archive", {"bomb.json": bytes((1 << 20) + 1), "a.json": MJAI})
    (_, problem), good = names_and_problems(path)
    assert problem == "1,048,577 bytes: more than the 1 MiB that a file in an archive may have"
    assert good == ("!a.json", None)


def test_a_record_that_expands_beyond_the_size_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGEST_RECORD", 1 << 20)
    for name, compressed in (
        ("a.gz", gzip.compress(bytes(1 << 22))),
        ("a.zst", zstandard.ZstdCompressor().compress(bytes(1 << 22))),
    ):
        (tmp_path / name).write_bytes(compressed)
        with pytest.raises(ValueError, match="more than 1 MiB when decompressed"):
            reading.read_games(str(tmp_path / name))


@every_kind
def test_only_the_damaged_members_are_lost_and_they_are_named(
    pack: Pack, games: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = games
    files = {first: games[first], "cut.gz": games[second][:500], "noise.xml": b"\x80" * 99, second: games[second]}
    archive = pack(tmp_path / "archive", files)
    assert annotate([str(archive), "-o", str(tmp_path / "lines"), "-j", "1"]) == 0
    report = capsys.readouterr().err
    assert "2 left out:" in report and "4 files" in report and "2 games" in report
    assert f"{archive}!cut.gz: the gzip file is cut off" in report
    assert f"{archive}!noise.xml: not a game record" in report
