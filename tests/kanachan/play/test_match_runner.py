"""Which games a match runner plays, and what it returns."""

from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

from annotate.runtime.signals import StopRequest
from kanachan.play.agent import GameKey
from kanachan.play.journal import Journal
from kanachan.play.match import GameResult, Match
from kanachan.play.match_runner import MatchRunner
from kanachan.play.playing import Execution
from tests.support.matches import random_results
from tests.support.tiny_weights import written

MATCH = Match(players=("rule", "random"), style=0)


def test_it_plays_only_the_games_that_the_journal_lacks(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "games", MATCH, resume=False)
    stored = [result for result in random_results(0, walls=1) if result.seating != 2]
    for result in stored:
        journal.add(result)
    played: list[GameResult] = []
    runner = MatchRunner(MATCH, 3, journal, Execution(together=1))
    run = runner.run(played.append, StopRequest())
    assert [result.game for result in played] == [GameKey(0, 2)]
    assert [result.game for result in run.results] == runner.games == [GameKey(0, seating) for seating in range(4)]
    assert (run.num_played, run.num_decisions, run.error) == (1, sum(played[0].decisions), None)
    assert runner.missing == []
    assert Journal(tmp_path / "games", MATCH, resume=True).results == journal.results


def test_processes_that_share_a_gpu_have_one_more_that_computes_their_networks(tmp_path: Path) -> None:
    """Here that process has a CPU, so that the games are those of networks on a CPU."""
    on_cpu = Match(players=(str(written(tmp_path / "weights", layers=1)), "rule"), format="2v2", style=0)
    num_children: dict[str, list[int]] = {"cpu": [], "cuda": []}

    def results(match: Match, processes: int) -> list[GameResult]:
        execution = Execution(backend="inline" if processes == 1 else "processes", workers=processes)
        runner = MatchRunner(match, 2, Journal(None, match, resume=False), execution)
        run = runner.run(lambda _: num_children[match.device].append(len(active_children())), StopRequest())
        assert run.error is None
        return run.results

    assert results(on_cpu, 1) == results(replace(on_cpu, device="cuda"), 2)
    assert {device: max(of_results) for device, of_results in num_children.items()} == {"cpu": 0, "cuda": 3}
    assert active_children() == []
