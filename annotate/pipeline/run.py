"""A run of kanachan-annotate: converts records to an output in several processes, and resumes an interrupted run.

An interruption loses only the work since the last save, and the final output has the same bytes. An entry of the
journal describes the work since the previous entry: `records` (each with name, size, modification time and the keys of
its games), `left_out`, `report`, the saved state of `output`, and `is_read`: whether all records were read.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, NoReturn

from tqdm import tqdm

from annotate.pipeline.convert import OTHER_PLAYERS, AnnotatedGame, Conversion, annotate_record
from annotate.pipeline.outputs import Output
from annotate.pipeline.report import MOST_SHOWN, Report
from annotate.records.finding import find_files
from annotate.records.reading import Record, records_of
from annotate.runtime.disk_dict import DiskDict
from annotate.runtime.files import name_where_disk_is_full, replacing
from annotate.runtime.in_order import in_order
from annotate.runtime.journal import RESTART, Journal
from annotate.runtime.signals import Stopped, StopRequest, noting_stop_signals
from annotate.runtime.terminal import error_text


def run(conversion: Conversion, output: Output, processes: int, *, restart: bool = False) -> Report:
    """Writes the annotations of the records to `output`, which gets its name only when it is complete. Resumes the same
    run if it was interrupted.

    Raises:
        ValueError: no record has a decision (if all shards are read), the run cannot be resumed (`Journal`), or there
            are games with another number of players that must not be skipped.
        OSError: a file cannot be written, or the processes that read a record were killed.
        Stopped: a signal stopped the run.
    """
    journal = Journal(output.journal, conversion.settings(output), restart=restart)
    try:
        with closing(output):
            report = _Run(conversion, output, processes, journal).finish()
    except OSError as error:
        name_where_disk_is_full(error, output.name)
        if not output.journal:
            raise
        hint = "what was done is kept: the same command resumes from there"
        raise OSError(f"{error_text(error)}; {hint}") from None
    finally:
        journal.close()
    output.report()
    return report


class _Run:
    def __init__(self, conversion: Conversion, output: Output, processes: int, journal: Journal) -> None:
        self._conversion, self._output, self._processes, self._journal = conversion, output, processes, journal
        self._report, self._passed_over = Report(), Counter[str]()
        self._saved: dict[str, Any] | None = None
        self._is_read = False
        self._record_of_game = DiskDict()
        """name of the record by each key of a game"""
        for entry in journal.entries():
            self._report.add(Report.of_json(entry["report"]))
            self._saved, self._is_read = entry["output"], entry["is_read"]
            for name, *_, keys in entry["records"]:
                self._note(keys, name)
        self._begin_entry()

    def _note(self, keys: Iterable[str], record: str) -> None:
        for key in keys:
            self._record_of_game[key] = record

    def _begin_entry(self) -> None:
        self._new_report = Report()
        self._new: dict[str, Any] = {"records": [], "left_out": []}
        self._next_save = time.monotonic() + self._output.seconds_between_saves

    def _save(self) -> None:
        self._saved = self._output.save()
        report = vars(self._new_report)
        self._journal.add({**self._new, "report": report, "output": self._saved, "is_read": self._is_read})
        self._begin_entry()

    def finish(self) -> Report:
        """Completes the run and returns the report."""
        if self._is_read:
            print(f"kanachan-annotate: completing {self._output.name}: all records were read", file=sys.stderr)
            for record in self._unread():
                raise ValueError(
                    f"{record.name} was added since the interrupted run read all records. Remove it, or {RESTART}"
                )
        else:
            self._read()
        if self._report.decisions == 0 and self._conversion.shard.of == 1:
            self._print_report()
            self._discard()
            by = f" by {' or '.join(self._conversion.by)}" if self._conversion.by else ""
            raise ValueError(f"no decision point{by} in any of the records (see the report above): nothing written")
        assert self._saved is not None
        self._output.publish(self._saved)
        self._print_report()
        where = "in any of the records" if self._conversion.shard.of == 1 else "in this share of the records"
        for name in self._conversion.by:
            if name not in self._report.by:
                print(f"kanachan-annotate: warning: no player named {name} {where}", file=sys.stderr)
        self._discard()
        return self._report

    def _discard(self) -> None:
        """Removes the journal, then all other temporary files."""
        self._journal.remove()
        self._output.discard()

    def _read(self) -> None:
        conversion, records = self._conversion, self._unread()
        if self._saved is not None:
            print(
                f"kanachan-annotate: resuming {self._output.name} after {self._report.files:,} records", file=sys.stderr
            )
        self._output.begin(self._saved)
        task = partial(annotate_record, conversion=replace(conversion, paths=()), encode=self._output.encode)
        with (
            noting_stop_signals() as stop,
            _progress(conversion, self._report.size) as progress,
            closing(in_order(task, records, self._processes, lambda record: record.name, stop)) as results,
        ):
            for record, games, report in results:
                self._take(record, games, report)
                progress.set_postfix_str(f"{self._report.games:,} games", refresh=False)
                progress.update(report.size)
                if stop.received is not None:
                    break
                if time.monotonic() >= self._next_save:
                    self._save()
            self._end_reading(stop)

    def _end_reading(self, stop: StopRequest) -> None:
        self._is_read = stop.received is None
        if self._is_read:
            self._add(Report(passed_over=self._passed_over))  # an interrupted run has not found all of them
        self._save()
        if stop.received is not None:
            hint = "; the same command resumes from there" if self._output.journal else ""
            what = f"stopped by {stop.received.name} after {self._report.files:,} records{hint}"
            raise Stopped(stop.received, what)

    def _take(self, record: Record, games: list[AnnotatedGame], report: Report) -> None:
        other = next((game for game in games if OTHER_PLAYERS in game.report.notes), None)
        if other is not None and not self._conversion.skips_others:
            self._refuse(other, record.name)
        keys_of_record: list[str] = []
        self._new["records"].append((record.name, record.size, record.modified, keys_of_record))
        self._add(report)
        for game in games:
            if not game.report.decisions:  # such a game must not block a better copy
                self._add(game.report)
                continue
            keys = [
                blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
                for key in (game.id, game.play)
            ]
            first = next(filter(None, map(self._record_of_game.get, keys)), None)
            if first is None:
                keys_of_record += keys
                self._note(keys, record.name)
                self._output.write(game.data)
                self._add(game.report)
            else:
                repeated = Report()
                what = "was read before" if self._record_of_game.get(keys[1]) else "has the id of another game"
                repeated.leave_out(f"{record.name}: game {game.id} {what}, in {first}")
                self._add(repeated)

    def _refuse(self, game: AnnotatedGame, file: str) -> NoReturn:
        """Raises ValueError for a game with another number of players; keeps the work before its record."""
        self._save()
        num, other = self._conversion.num_players, game.num_players
        and_goes_on, restart = (", and goes on from here", " --restart") if self._output.journal else ("", "")
        raise ValueError(
            f"{file}: game {game.id} is for {other} players, the first one read for {num}: annotations of both cannot "
            f"be mixed; --players {num} skips such games{and_goes_on}; --players {other}{restart} takes them instead"
        )

    def _add(self, report: Report) -> None:
        self._new["left_out"] += report.left_out
        self._new_report.add(report)
        self._report.add(report)

    def _unread(self) -> Iterator[Record]:
        """Yields the records that the interrupted run, if any, has not read. Raises ValueError if others differ."""
        paths = find_files(self._conversion.paths, self._passed_over)
        records = records_of(paths, self._conversion.shard, self._passed_over)
        for name, size, modified, _ in (known for entry in self._journal.entries() for known in entry["records"]):
            record = next(records, None)
            if record is None or record.name != name:
                raise ValueError(
                    f"where the interrupted run read {name} there is {record.name if record else 'none'} now: files "
                    f"were added, removed or renamed. Put them back, or {RESTART}"
                )
            if (record.size, record.modified) != (size, modified):
                raise ValueError(f"{name} has changed since the interrupted run read it. Put it back, or {RESTART}")
        yield from records

    def _left_out(self) -> Iterator[str]:
        return (text for entry in self._journal.entries() for text in entry["left_out"])

    def _print_report(self) -> None:
        """Prints the report; writes a long list of left-out entries to a file."""
        path, is_long = self._output.left_out, self._report.num_left_out > MOST_SHOWN
        if path is not None and not is_long:
            path.unlink(missing_ok=True)  # from a previous run
        elif path is not None:
            with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(f"{text}\n" for text in self._left_out())
        print(self._report.text(str(path) if path else None), file=sys.stderr)
        if path is None:
            for text in islice(self._left_out(), MOST_SHOWN, None):
                print(f"  {text}", file=sys.stderr)


def _progress(conversion: Conversion, done: int) -> tqdm:
    """Returns a progress bar of the bytes read. On a terminal, first visits all files to get their total size."""
    total = None
    if sys.stderr.isatty():
        sizes = (os.path.getsize(path) for path in find_files(conversion.paths) if os.path.exists(path))
        total = sum(sizes) // conversion.shard.of
    return tqdm(total=total, initial=done, unit="B", unit_scale=True, disable=None, smoothing=0.05)
