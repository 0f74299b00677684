"""A run of kanachan-annotate: records through all processes to an output, on from where an earlier run was broken off.

An interruption at any moment costs no more than what was done since the last save, and the output is the same bytes in
the end: the journal holds which records are done and how far the output had come then.
"""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from annotate.pipeline.convert import AnnotatedGame, annotate_record
from annotate.pipeline.journal import Journal, hash_of_sources, remove_journal
from annotate.pipeline.outputs import Output
from annotate.pipeline.report import MOST_SHOWN, Report
from annotate.records.finding import Shard, check_paths, find_files
from annotate.records.reading import Record, records_of
from annotate.runtime.files import replacing
from annotate.runtime.signals import Stopped, StopRequest, noting_stop_signals
from annotate.runtime.workers import in_order
from annotate.vocabulary import VOCABULARIES


@dataclass(frozen=True)
class Conversion:
    """What is to be made of which records."""

    paths: Sequence[str]
    room: int
    grade: int
    writes_hidden: bool = False
    shard: Shard = Shard(1, 1)
    keeps_incomplete: bool = False
    """whether games are annotated, too, whose final scores the record does not tell"""

    def settings(self, output: Output) -> dict[str, Any]:
        """All that the output depends on, but for the records."""
        return {
            "room": self.room,
            "grade": self.grade,
            "hidden": self.writes_hidden,
            "keep incomplete": self.keeps_incomplete,
            "shard": str(self.shard),
            "program": _program(),
            "vocabulary": " ".join(vocabulary.fingerprint for vocabulary in VOCABULARIES.values()),
            **output.settings,
        }


_PACKAGE = Path(__file__).parents[1]
"""annotate/, whose sources together decide what is written"""


def _program() -> str:
    """The versions of this package and of the rules engine, and a hash of the sources, which change more often."""
    sources = _PACKAGE.rglob("*.py")
    return f"{version('kanachan')}, riichienv {version('riichienv')}, {hash_of_sources(sources)}"


def run(conversion: Conversion, output: Output, jobs: int, *, restart: bool = False) -> Report:
    """Writes the annotations of the records to `output`, which is there when this returns, and not before.

    Where the same run was broken off, this one continues it; so does the next one if this one is.

    Raises:
        ValueError: a path matches nothing; there is no decision in any record (of all shards); the journal of a broken
            run is of other records or settings.
        OSError: a file cannot be written, or a process was killed.
        Stopped: by a signal.
    """
    check_paths(conversion.paths)
    if restart and output.journal is not None:
        remove_journal(output.journal)
    journal = Journal(output.journal, conversion.settings(output))
    try:
        with closing(output):
            return _Run(conversion, output, jobs, journal).finish()
    except OSError as error:
        kept = "; what was done is kept: the same command goes on from there" if output.journal else ""
        raise OSError(f"{error}{kept}") from None
    finally:
        journal.close()


class _Run:
    def __init__(self, conversion: Conversion, output: Output, jobs: int, journal: Journal) -> None:
        self._conversion, self._output, self._jobs, self._journal = conversion, output, jobs, journal
        state = journal.state or {"phase": "reading", "report": Report().as_json(), "output": None, "members": False}
        self._phase: str = state["phase"]
        self._saved: dict[str, Any] = state["output"]
        self._report = Report.of_json(state["report"])
        self._passed_over = Counter[str]()
        self._has_members: bool = state["members"]
        self._next_save = time.monotonic() + output.seconds_between_saves

    def finish(self) -> Report:
        """Does what has not been done yet."""
        if self._phase == "reading":
            self._read()
        else:
            print(f"kanachan-annotate: completing {self._output.name}: all records were read", file=sys.stderr)
        if self._report.decisions == 0 and self._conversion.shard.of == 1:
            self._output.discard()
            self._print_report()
            self._journal.remove()
            raise ValueError("no decision point in any of the records (see the report above): nothing written")
        if self._phase == "read":
            self._saved = self._output.complete(self._saved)
            self._enter("completed")
        assert self._phase == "completed"
        self._output.publish(self._saved)
        self._print_report()
        self._journal.remove()
        return self._report

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._note()

    def _note(self) -> None:
        self._journal.commit(
            {
                "phase": self._phase,
                "report": self._report.as_json(),
                "output": self._saved,
                "members": self._has_members,
            }
        )

    def _save(self) -> None:
        self._saved = self._output.save()
        self._note()
        self._next_save = time.monotonic() + self._output.seconds_between_saves

    def _read(self) -> None:
        conversion = self._conversion
        records = records_of(find_files(conversion.paths, self._passed_over), conversion.shard, self._passed_over)
        if self._journal.state is not None:
            records = self._skipping(records)
        self._output.begin(self._saved)
        task = partial(
            annotate_record,
            room=conversion.room,
            grade=conversion.grade,
            writes_hidden=conversion.writes_hidden,
            keeps_incomplete=conversion.keeps_incomplete,
            encode=self._output.encode,
        )
        waiting: deque[Record] = deque()
        with (
            noting_stop_signals() as stop,
            _progress(conversion, self._report.size) as progress,
            closing(in_order(task, _noting(records, waiting), self._jobs)) as results,
        ):
            try:
                for games, report in results:
                    self._take(waiting.popleft(), games, report)
                    progress.update(report.size)
                    if stop.asked is not None:
                        break
                    if time.monotonic() >= self._next_save:
                        self._save()
            except OSError:
                if stop.asked is None:
                    raise
            self._end_reading(stop)

    def _end_reading(self, stop: StopRequest) -> None:
        if stop.asked is None:
            self._report.passed_over = self._passed_over  # an earlier run that was broken off had not found all of them
            self._saved = self._output.save()
            self._enter("read")
            return
        self._save()
        what = f"stopped by {stop.asked.name} after {self._report.files:,} records"
        if self._output.journal is None:
            raise Stopped(stop.asked, what)
        raise Stopped(stop.asked, f"{what}; the same command goes on from there")

    def _take(self, record: Record, games: list[AnnotatedGame], report: Report) -> None:
        """Writes what came of the next record."""
        self._journal.add_record(record.name, record.size, record.modified)
        self._has_members |= record.data is not None
        self._add(report)
        for game in games:
            if not game.report.decisions:  # which must not stand in the way of a better copy
                self._add(game.report)
                continue
            first = self._journal.add_game(game.id)
            if first is None:
                self._output.write(game.data)
                self._add(game.report)
            else:
                repeated = Report()
                repeated.leave_out(f"{game.file}: game {game.id} was there before, in {first}")
                self._add(repeated)

    def _add(self, report: Report) -> None:
        for text in report.left_out:
            self._journal.leave_out(text)
        self._report.add(report)

    def _skipping(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records that the interrupted run has not dealt with."""
        of = ""
        if not self._has_members:
            num_records = sum(1 for _ in find_files(self._conversion.paths))
            shard = self._conversion.shard
            of = f" of {(num_records + shard.of - shard.number) // shard.of:,}"
        print(
            f"kanachan-annotate: continuing {self._output.name} after {self._report.files:,}{of} records",
            file=sys.stderr,
        )
        for record in records:
            if not self._journal.has_read(record.name, record.size, record.modified):
                yield record
                yield from records
                return
        self._journal.check_all_read()

    def _print_report(self) -> None:
        """Prints the report; puts the list of what was left out into a file if it is too long for people."""
        path, is_long = self._output.left_out, self._report.num_left_out > MOST_SHOWN
        if path is not None and not is_long:
            path.unlink(missing_ok=True)  # it would be of a former run
        elif path is not None:
            with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(f"{text}\n" for text in self._journal.left_out())
        print(self._report.text(str(path) if path else None), file=sys.stderr)
        if path is None:
            for text in islice(self._journal.left_out(), MOST_SHOWN, None):
                print(f"  {text}", file=sys.stderr)


def _noting(records: Iterable[Record], noted: deque[Record]) -> Iterator[Record]:
    """The records, of which all but their contents are also put into `noted`."""
    for record in records:
        noted.append(record if record.data is None else replace(record, data=b""))
        yield record


def _progress(conversion: Conversion, done: int) -> tqdm:
    """A bar of the bytes that are read, if somebody sees it; to know how many there are, all files are visited."""
    total = None
    if sys.stderr.isatty():
        sizes = (os.path.getsize(path) for path in find_files(conversion.paths) if os.path.exists(path))
        total = sum(sizes) // conversion.shard.of
    return tqdm(total=total, initial=done, unit="B", unit_scale=True, disable=None, smoothing=0.05)
