"""Weights that are pushed to a stand-in of the Hugging Face Hub, and named by it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
pytest.importorskip("transformers", reason="the extra `encoder` is not installed")

from tests.support.hub_server import TOKEN, Hub, hub
from tests.support.paths import ROOT
from tests.support.tiny_weights import written


def command(program: str, *arguments: str, server: str, home: Path, token: str = TOKEN) -> tuple[int, str, str]:
    """Runs a command that knows the server as the Hub; returns its exit status, output and errors."""
    environment = {**os.environ, "HF_ENDPOINT": server, "HF_HOME": str(home), "HF_TOKEN": token}
    code = f"import sys; from kanachan.cli.{program} import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**environment, "PYTHONPATH": str(ROOT), "HF_HUB_DISABLE_XET": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def pushed(weights: Path, server: Hub, home: Path) -> dict[str, bytes]:
    status, output, error = command(
        "export", str(weights), "--push-to-hub", "someone/mahjong", server=server.address, home=home
    )
    assert status == 0, error
    assert f"{server.address}/someone/mahjong: hf:someone/mahjong names these weights" in output
    return server.files["someone/mahjong"]


def test_weights_that_were_pushed_are_named_by_the_hub(tmp_path: Path) -> None:
    weights = written(tmp_path / "weights")
    with hub() as server:
        files = pushed(weights, server, tmp_path / "pusher")
        assert files["weights.safetensors"] == weights.read_bytes()
        assert {"README.md", "card.json", "config.json", "model.safetensors"} <= files.keys()
        assert b'from_pretrained("someone/mahjong"' in files["README.md"]
        address = server.address
        status, online, error = command("models", "hf:someone/mahjong", server=address, home=tmp_path / "reader")
        assert status == 0 and "imitation" in online, error
    # from now on there is no network
    status, output, error = command("models", "hf:someone/mahjong", server=address, home=tmp_path / "reader")
    assert status == 0 and output == online, error


def test_what_is_not_on_the_hub_is_refused_in_one_line(tmp_path: Path) -> None:
    weights = str(written(tmp_path / "weights"))
    with hub() as server:
        status, _, error = command("models", "hf:nobody/nothing", server=server.address, home=tmp_path / "home")
        assert status == 1 and "hf:nobody/nothing: no weights there" in error and "Traceback" not in error
        push = (weights, "--push-to-hub", "someone/mahjong")
        status, _, error = command("export", *push, server=server.address, home=tmp_path / "home", token="wrong")
        assert status == 1 and "someone/mahjong: not pushed: " in error and "Traceback" not in error
