"""The Python examples of documents."""

import re
from pathlib import Path


def run_example(page: Path, mark: str = "") -> dict[str, object]:
    """Runs the example of a page (of several, the one after `mark`) and returns its variables."""
    found = re.search(rf"{mark}\s*```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, object] = {}
    exec(compile(found[1], page.name, "exec"), names)
    return names
