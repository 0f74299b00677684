"""Runs commands on a terminal: a user's error is reported as one line, never as a traceback."""

import argparse
import math
import os
import sys
from collections.abc import Callable

from annotate.runtime.arguments import CALLED_AS
from annotate.runtime.files import MISSING
from annotate.runtime.signals import Stopped, stopping_at_once


def run_cleanly(program: str, body: Callable[[], int | None]) -> int:
    """Runs `body` and returns the exit status. After a ValueError, an OSError or a lack of memory, the status is 1 and
    the message is printed on standard error. SIGTERM ends `body` like Ctrl-C, so that temporary files are removed."""
    program = CALLED_AS.get() or program
    _replace_closed_streams()
    try:
        with stopping_at_once():
            status = body() or 0
        sys.stdout.flush()
        return status
    except Stopped as stopped:
        print(f"{program}: {stopped}", file=sys.stderr)
        return stopped.status
    except BrokenPipeError:  # the reader of the output has ended (`| head`)
        _discard_output()
        return 141
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"{program}: error: {error_text(error)}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # perhaps the error just reported; Python would report it again at the end
            _discard_output()
        return 1
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        lines = str(error).splitlines()  # a traceback if the error is from another process
        what = ": ".join(["out of memory", *([line for line in lines if _is_about_memory(line)] or lines)[:1]])
        print(f"{program}: error: {what}", file=sys.stderr)
        return 1


def _replace_closed_streams() -> None:
    """Replaces closed standard streams by the null device, so that no other file gets their numbers. Reading input from
    it, or writing output to it, is an error; messages vanish."""
    for name, access, mode in (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, access), mode))


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def error_text(error: Exception) -> str:
    """Returns the message of an error without the system's number for it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename}: {MISSING if isinstance(error, FileNotFoundError) else error.strerror}"


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether Python or torch, on any device, could not allocate memory."""
    return isinstance(error, MemoryError) or _is_about_memory(str(error))


def _is_about_memory(text: str) -> bool:
    # the last one is from CUDA's libraries
    messages = ("out of memory", "can't allocate memory", "not enough memory", "_status_alloc_failed")
    return any(message in text.lower() for message in messages)


def require_positive(parser: argparse.ArgumentParser, arguments: argparse.Namespace, *names: str) -> None:
    """Exits with the parser's error if one of the arguments `names` is given and is less than 1 or not finite."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and not 1 <= value < math.inf:
            parser.error(
                f"--{name.replace('_', '-')} must be {'finite' if value == math.inf else 'at least 1'}, not {value}"
            )
