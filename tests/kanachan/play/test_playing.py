"""Where the networks of games are computed."""

from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from annotate.runtime.signals import StopRequest
from kanachan.play.match import GameResult, Match
from kanachan.play.playing import Execution, GameStream, play_games
from tests.support.tiny_weights import written


def test_processes_that_share_a_gpu_use_one_more_process_for_their_networks(tmp_path: Path) -> None:
    """Here the additional process has only a CPU, so the games must be the same as with networks on a CPU."""
    on_cpu = Match(players=(str(written(tmp_path / "weights", layers=1)), "rule"), format="1v3", style=0)
    num_children: dict[str, list[int]] = {"cpu": [], "cuda": []}

    def results(match: Match, processes: int) -> list[GameResult]:
        execution = Execution(backend="inline" if processes == 1 else "processes", workers=processes)
        found = []
        stream = GameStream(series=match, finish=GameResult.of, execution=execution)
        for _, result in play_games(stream, match.games(2), StopRequest()):
            found.append(result)
            num_children[match.device].append(len(active_children()))
        return sorted(found, key=lambda result: result.game)

    assert results(on_cpu, 1) == results(replace(on_cpu, device="cuda"), 2)
    assert {device: max(of_results) for device, of_results in num_children.items()} == {"cpu": 0, "cuda": 3}
    assert active_children() == []


@pytest.mark.parametrize(
    ("device", "execution", "is_shared"),
    [
        ("cuda", Execution(backend="processes"), True),
        ("cuda", Execution(backend="ray", workers=4), True),
        ("cpu", Execution(backend="processes"), False),
        ("cuda", Execution(backend="inline"), False),
        ("cuda", Execution(backend="processes", workers=1), False),
        ("cuda", Execution(backend="ray", address="auto"), False),
    ],
)
def test_workers_that_share_a_gpu_of_this_machine_share_the_networks(
    device: str, execution: Execution, is_shared: bool
) -> None:
    assert execution.shares_networks(device) == is_shared
