"""The rules engine as anybody would step it: next to it play is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

from annotate.game.engine.table import Table


@contextmanager
def plain_engine() -> Iterator[None]:
    """Lets the engine have the points all the time (see `annotate.game.engine.points`)."""
    with_points = Table._may_pay
    Table._may_pay = lambda table, moves: True  # type: ignore[method-assign]
    try:
        yield
    finally:
        Table._may_pay = with_points  # type: ignore[method-assign]
