"""launch/reports/game_costs.py: what many games cost, computed from some of their kind."""

import re
import sys
from pathlib import Path

import pytest

from annotate.simulation.simulate import simulate
from kanachan.cli.annotate import main as annotate
from kanachan.data.shards import open_shards
from tests.support.launched import LAUNCH, program

GAMES = 4


@pytest.fixture
def shards(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    options = ["-n", str(GAMES), "--players", str(request.param), "--style", "east", "-j", "1"]
    assert simulate([*options, "-o", str(tmp_path / "games")]) == 0
    folder = tmp_path / "shards"
    assert annotate([str(tmp_path / "games"), "--pack", str(folder), "--fractions", "1,0,0", "-j", "1"]) == 0
    return folder


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    monkeypatch.syspath_prepend(str(LAUNCH / "reports"))
    monkeypatch.setattr(sys, "argv", ["game_costs.py", *map(str, arguments)])
    capsys.readouterr()
    status = program("game_costs").main()
    return status, "".join(capsys.readouterr())


@pytest.mark.parametrize("shards", [3, 4], indirect=True)
def test_twice_as_many_games_at_half_the_speed_cost_four_times_as_much(
    shards: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hours = []
    for times in (1, 2):
        arguments = ("--games", GAMES * 1e6 * times, "--speed", 1000 / times, "--cores", 2)
        status, report = printed(monkeypatch, capsys, shards, *arguments)
        assert status == 0
        (found,) = re.findall(r"([\d,.]+) core-hours, ([\d,.]+) h on 2 cores", report)
        hours.append([float(number.replace(",", "")) for number in found])
    decisions = len(open_shards(shards, "train"))
    assert hours[0][0] == pytest.approx(decisions * 1e6 / 1000 / 3600, rel=1e-3)
    assert hours[0][1] == pytest.approx(hours[0][0] / 2, rel=1e-3)
    assert hours[1] == pytest.approx([4 * number for number in hours[0]], rel=1e-3)


def test_a_folder_without_shards_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = printed(monkeypatch, capsys, tmp_path, "--speed", 1000)
    assert status == 1 and str(tmp_path) in report and "Traceback" not in report


@pytest.mark.parametrize(("speed", "message"), [("inf", "finite, not inf"), ("nan", "at least 1, not nan")])
def test_a_speed_that_is_no_number_of_decisions_is_refused(
    speed: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        printed(monkeypatch, capsys, tmp_path, "--speed", speed)
    assert capsys.readouterr().err.endswith(f"--speed must be {message}\n")
