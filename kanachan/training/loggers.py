"""Writes metrics.csv, the file of a run's metrics."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger

from annotate.runtime.files import name_where_disk_is_full, replacing

_STEP = "step"


class MetricsFile(Logger):
    """Writes rows of metrics, each after its optimiser step; a column that is added later is empty in earlier rows.

    Args:
        last_step: rows up to this step are kept (of a resumed run, the checkpoint's step, else -1), without the
            validation of the step itself, which comes after the checkpoint and is repeated.
        keeps_validation: whether that validation is kept too, because it is not repeated.
    """

    def __init__(self, path: Path, last_step: int, *, keeps_validation: bool) -> None:
        super().__init__()
        self.path = path
        self._columns = [_STEP]
        rows = []
        if path.exists():
            for row in self._read():
                is_validation = not row.get("train/loss")
                if int(row[_STEP]) + (is_validation and not keeps_validation) <= last_step:
                    rows.append(row)
        self._write(rows)

    @property
    def name(self) -> str:
        return "metrics"

    @property
    def version(self) -> str:
        return ""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the settings are in config.yaml."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {_STEP: str(step), **{name: repr(float(value)) for name, value in metrics.items()}}
        new = [name for name in row if name not in self._columns]
        if new:
            rows = self._read()
            self._columns += new
            self._write(rows)
        try:
            with open(self.path, "a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerow(row)
        except OSError as error:
            name_where_disk_is_full(error, str(self.path))
            raise

    def _read(self) -> list[dict[str, str]]:
        text = self.path.read_text(encoding="utf-8")
        complete = text[: text.rfind("\n") + 1]  # a killed run may have left half a line
        reader = csv.DictReader(complete.splitlines())
        self._columns = list(reader.fieldnames or self._columns)
        return list(reader)

    def _write(self, rows: list[dict[str, str]]) -> None:
        with replacing(self.path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(rows)
