"""Optional packages, which only some commands need, and the extras that install them."""

from importlib.util import find_spec

_SOURCE = "git+https://github.com/kanachan/kanachan"


def require_extra(extra: str, packages: tuple[str, ...], what: str = "this") -> None:
    """Raises ValueError, with the install command, if a package that `what` needs is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        command = f"pip install 'kanachan[{extra}] @ {_SOURCE}' (in a checkout '.[{extra}]')"
        raise ValueError(f"{what} needs {' and '.join(missing)}: {command}")
