"""Runs the command kanachan as `python -m kanachan`."""

from kanachan.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
