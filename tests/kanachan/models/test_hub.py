"""Weights are pushed to a stand-in for the Hugging Face Hub, and read from it by name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
pytest.importorskip("transformers", reason="the extra `encoder` is not installed")

from tests.support.hub_server import TOKEN, hub
from tests.support.paths import ROOT
from tests.support.tiny_weights import written

PROGRAM = """
import contextlib, importlib, io, json, os, sys
found = []
for program, token, arguments in json.loads(sys.argv[1]):
    os.environ["HF_TOKEN"] = token
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()) as error:
        status = importlib.import_module(f"kanachan.cli.{program}").main(arguments)
    found.append([status, output.getvalue(), error.getvalue()])
print(json.dumps(found))
"""


def run(*commands: tuple[str, str, list[str]], server: str, home: Path) -> list[tuple[int, str, str]]:
    """Runs commands in a process that takes the server for the Hub; returns their exit statuses, outputs and errors.

    Args:
        commands: the program, the token and the arguments of each.
    """
    environment = {**os.environ, "HF_ENDPOINT": server, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(program, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(status, output, error) for status, output, error in json.loads(done.stdout)]


@pytest.mark.slow
def test_weights_are_pushed_and_read_by_name_and_failures_print_no_traceback(tmp_path: Path) -> None:
    weights = written(tmp_path / "weights")
    push = [str(weights), "--push-to-hub", "someone/mahjong"]
    read = ("models", TOKEN, ["hf:someone/mahjong"])
    with hub() as server:
        nothing, refused, pushed, online = run(
            ("models", TOKEN, ["hf:nobody/nothing"]),
            ("export", "wrong", push),
            ("export", TOKEN, push),
            read,
            server=server.address,
            home=tmp_path / "home",
        )
        files = server.files["someone/mahjong"]
    assert nothing[0] == 1 and "hf:nobody/nothing: no weights there" in nothing[2] and "Traceback" not in nothing[2]
    assert refused[0] == 1 and "someone/mahjong: not pushed: " in refused[2] and "Traceback" not in refused[2]
    assert pushed[0] == 0, pushed[2]
    assert f"{server.address}/someone/mahjong: hf:someone/mahjong names these weights" in pushed[1]
    assert files["weights.safetensors"] == weights.read_bytes()
    assert {"README.md", "card.json", "config.json", "model.safetensors"} <= files.keys()
    assert b'from_pretrained("someone/mahjong"' in files["README.md"]
    assert online[0] == 0 and "imitation" in online[1], online[2]
    # from now on there is no network
    assert run(read, server=server.address, home=tmp_path / "home")[0][:2] == online[:2]
