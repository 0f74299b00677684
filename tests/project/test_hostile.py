"""Files from others are read without executing anything in them."""

import json
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from kanachan.cli.predict import main as predict
from tests.support.tiny_runs import run
from tests.support.tiny_weights import written


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, sprung: Path) -> None:
        self.sprung = sprung

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.sprung),)


@pytest.fixture
def sprung(tmp_path: Path) -> Path:
    path = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(path)))
    assert path.exists()  # the trap works
    path.rmdir()
    return path


def write_pickle(path: Path, trap: Trap) -> None:
    path.write_bytes(pickle.dumps({"state_dict": trap}))


def write_torch(path: Path, trap: Trap) -> None:
    torch.save({"global_step": 1, "format_version": 2, "state_dict": {"weight": torch.zeros(3), "trap": trap}}, path)


def test_resuming_runs_no_code_of_a_checkpoint(
    shards: Path, tmp_path: Path, sprung: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    stop_when_there(out / "checkpoints" / "last.ckpt")
    endless = ("--run.steps", "100000", "--run.checkpoint_minutes", "0")
    assert run("imitation", shards, out, *endless) == 0
    for write in (write_pickle, write_torch):
        for name in ("last.ckpt", "previous.ckpt"):
            write(out / "checkpoints" / name, Trap(sprung))
        assert run("imitation", shards, out, *endless, "--resume", "auto") == 1
        assert "not a checkpoint" in capsys.readouterr().err
        assert not sprung.exists()


def stop_when_there(path: Path) -> None:
    def send() -> None:
        while not path.with_name("previous.ckpt").exists():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.parametrize("write", [write_pickle, write_torch])
def test_weights_run_no_code(
    write: object, shards: Path, tmp_path: Path, sprung: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "weights.safetensors"
    write(path, Trap(sprung))  # type: ignore[operator]
    with pytest.raises(SystemExit):
        run("rank", shards, tmp_path / "run", "--init", str(path))
    assert f"error: --init {path}: not a complete weights file" in capsys.readouterr().err
    assert predict([str(path), os.devnull]) == 1
    assert not sprung.exists()


def test_a_card_runs_no_code(shards: Path, tmp_path: Path, sprung: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The card is data: unknown settings in it are refused by name."""
    folder = written(tmp_path).parent
    content = (folder / "weights.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    card = json.loads(header["__metadata__"]["card"])
    card["model"]["!!python/object/apply:os.mkdir"] = [str(sprung)]
    header["__metadata__"]["card"] = json.dumps(card)
    changed = json.dumps(header).encode()
    (folder / "weights.safetensors").write_bytes(len(changed).to_bytes(8, "little") + changed + content[8 + length :])
    assert run("rank", shards, tmp_path / "run", "--init", str(folder)) == 1
    assert "its card has settings unknown to this program" in capsys.readouterr().err
    assert not sprung.exists()


def test_a_configuration_runs_no_code(
    shards: Path, tmp_path: Path, sprung: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_text(f"run:\n  name: !!python/object/apply:os.mkdir [{sprung}]\n")
    with pytest.raises(SystemExit):
        run("imitation", shards, tmp_path / "run", "--config", str(path))
    assert "hostile.yaml" in capsys.readouterr().err
    assert not sprung.exists()


def test_a_shard_runs_no_code(shards: Path, tmp_path: Path, sprung: Path) -> None:
    """Arrow used to unpickle the type of a column from its metadata."""
    table = pa.ipc.open_stream((shards / "train-00000.arrow").read_bytes()).read_all()
    trap = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Trap(sprung)),
    }
    hostile = table.schema.set(0, table.schema.field(0).with_metadata(trap))
    folder = tmp_path / "shards"
    folder.mkdir()
    with pa.ipc.new_stream(str(folder / "train-00000.arrow"), hostile) as stream:
        stream.write_table(table.cast(hostile))
    assert run("imitation", folder, tmp_path / "run", "--run.steps", "1") == 0  # the unknown type is ignored
    assert not sprung.exists()
