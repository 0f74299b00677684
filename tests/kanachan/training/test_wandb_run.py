"""wandb online, against a local server that is there, stops, or was never there; groups and names of runs."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import wandb

from kanachan.config import DataConfig, RunConfig, TrainConfig
from kanachan.models.card import read_card
from kanachan.models.weights import write_weights
from kanachan.training.wandb_run import wandb_group, wandb_mode
from tests.support.tiny_runs import all_rows_of, arguments, pack_decisions
from tests.support.tiny_weights import written
from tests.support.wandb_server import WandbServer

STEPS = 120
BOUND_S = 180
"""the most time for a run whose server is gone, on a busy machine"""


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_decisions(tmp_path_factory.mktemp("decisions"))


def started(server: WandbServer, shards: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """Starts an online run of 120 steps that sends its metrics every second."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    environment |= {"WANDB_BASE_URL": server.url, "WANDB_API_KEY": 40 * "0"}
    environment |= {"WANDB__FILE_STREAM_TRANSMIT_INTERVAL": "1", "WANDB_FINISH_TIMEOUT": "3"}
    options = ["--run.wandb", "online", "--run.steps", str(STEPS), "--run.validation_interval", "960", *more]
    command = [sys.executable, "-m", "kanachan", "train", *arguments("imitation", shards, out, *options)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def assert_whole(out: Path) -> None:
    rows = all_rows_of(out)
    assert [int(row["step"]) for row in rows if row["train/loss"]] == list(range(1, STEPS + 1))
    assert [int(row["step"]) for row in rows if row["validation/loss"]] == [30, 60, 90, STEPS]
    assert (out / "weights.safetensors").is_file()


@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_of_a_run_costs_one_message(shards: Path, tmp_path: Path) -> None:
    server, out = WandbServer(), tmp_path / "runs" / "imitation"
    process = started(server, shards, out)
    try:
        assert server.rows_sent.wait(BOUND_S)
        server.stop()
        begin = time.monotonic()
        printed, messages = process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
    assert process.returncode == 0
    assert_whole(out)
    assert time.monotonic() - begin < BOUND_S
    (folder,) = out.glob("wandb/run-*")
    assert (
        "wandb does not respond, and not all of the run has been sent. To send it later: "
        f"wandb sync {out}/wandb/{folder.name}"
    ) in messages.splitlines()
    assert "Traceback" not in messages and f"wandb: {server.url}/team/kanachan/runs/" in printed


@pytest.mark.slow
def test_an_online_run_has_group_type_and_name_and_sends_the_artifact_of_its_weights(
    shards: Path, tmp_path: Path
) -> None:
    server, out = WandbServer(), tmp_path / "runs" / "imitation"
    process = started(server, shards, out)
    try:
        printed, messages = process.communicate(timeout=BOUND_S)
    finally:
        process.kill()
        server.stop()
    assert process.returncode == 0
    assert_whole(out)
    first = server.runs[0]
    assert first["groupName"] == first["displayName"] == "runs/imitation" and first["jobType"] == "imitation"
    assert "CreateArtifact" in server.operations
    assert [line for line in (printed + messages).splitlines() if line.startswith("wandb")] == [
        f"wandb: {server.url}/team/kanachan/runs/{(out / 'wandb_id.txt').read_text()}"
    ]


def config_of(out: Path, **run: Any) -> TrainConfig:
    return TrainConfig(stage="imitation", data=DataConfig(path="shards"), run=RunConfig(out=str(out), **run))


@pytest.mark.parametrize(
    ("given", "previous", "group"),
    [
        (None, None, "runs/rank"),
        (None, {"group": "runs/imitation"}, "runs/imitation"),
        (None, {}, "runs/rank"),
        ("mine", {"group": "runs/imitation"}, "mine"),
    ],
    ids=["the first stage", "a later stage", "after a run without a group", "by the setting"],
)
def test_runs_of_a_curriculum_share_the_group_of_the_first(
    given: str | None, previous: dict[str, Any] | None, group: str, tmp_path: Path
) -> None:
    init = None
    if previous is not None:
        init = tmp_path / "imitation.safetensors"
        write_weights(init, {}, {**read_card(written(tmp_path)), "config": {"run": previous}})
    config = config_of(tmp_path / "runs" / "rank", group=given)
    assert wandb_group(config, None if init is None else str(init)) == group
    if given is None:
        assert wandb_group(config, "reference") == "runs/rank"  # not that of the run that made the package's weights


@pytest.mark.parametrize(("setting", "mode"), [("auto", "disabled"), ("online", "online")])
def test_the_environment_sets_the_mode_of_wandb_unless_a_setting_does(
    setting: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", 40 * "0")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert wandb_mode(config_of(tmp_path, wandb=setting)) == mode


def test_a_run_is_online_if_wandb_login_has_stored_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "keys"))
    monkeypatch.setenv("WANDB_SILENT", "true")  # else wandb asks the server for the name of the user
    wandb.teardown()  # wandb reads its environment once in a process
    assert wandb_mode(config_of(tmp_path)) == "offline"
    wandb.login(key=40 * "a", host="http://127.0.0.1:9", verify=False)
    wandb.teardown()
    assert wandb_mode(config_of(tmp_path)) == "online"
    wandb.teardown()
