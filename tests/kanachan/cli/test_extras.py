"""A command whose packages are not installed names the extra that installs them."""

import sys
from pathlib import Path

import pytest

from kanachan.cli.main import main


@pytest.mark.parametrize(
    ("package", "extra", "command"),
    [
        ("lightning", "train", "train --stage imitation --data.path SHARDS --run.out OUT"),
        ("transformers", "encoder", "export reference -o OUT"),
        ("httpx2", "hub", "export reference -o OUT --push-to-hub someone/mahjong"),  # version 1 of the Hub's package
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    package: str,
    extra: str,
    command: str,
    shards: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    out = tmp_path / "out"
    assert main(command.replace("SHARDS", str(shards)).replace("OUT", str(out)).split()) == 1
    assert f"needs {package}: pip install 'kanachan[{extra}] @ git+https://github.com/" in capsys.readouterr().err
    assert not out.exists()
