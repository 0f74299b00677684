"""The hidden folder in which a program keeps shards until they are complete, inside the folder that they are for.

A program locks it by the file LOCK (annotate.runtime.files.locking) before it uses it.
"""

import shutil
from pathlib import Path

LOCK = "lock"


def clear_work(work: Path) -> None:
    """Removes all that is in a work folder, except its lock."""
    for path in work.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def remove_work(work: Path, *, was_there: bool) -> None:
    """Removes a work folder, and the folder that it is in if that is empty. `was_there`: whether the outer folder is
    older than this run, so that it stays."""
    shutil.rmtree(work)
    if not was_there and not any(work.parent.iterdir()):
        work.parent.rmdir()
