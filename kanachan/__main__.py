"""`python -m kanachan` is the command kanachan."""

from kanachan.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
