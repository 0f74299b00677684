"""Packages that only some commands need. An extra installs them."""

from importlib.util import find_spec


def require(extra: str, packages: tuple[str, ...]) -> None:
    """Raises ValueError, naming what to install, if a package is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        raise ValueError(f"this needs {names}: pip install 'kanachan[{extra}]' (in a checkout '.[{extra}]')")
