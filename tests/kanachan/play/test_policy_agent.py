"""Policies that cache events. Their actions are tested together with the games."""

from pathlib import Path

import torch

from kanachan.play.agent_factory import agents_of
from kanachan.play.match import Match
from tests.support.tiny_weights import written


def test_players_use_one_thread_and_restore_the_thread_count_afterwards(tmp_path: Path, threads: None) -> None:
    torch.set_num_threads(3)
    with agents_of(Match(players=(str(written(tmp_path)), "rule")), "cpu"):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
