"""Which decisions of a game of self-play become rows of shards."""

import pytest

from annotate.game.decisions import Decision
from annotate.vocabulary import FOUR_PLAYERS
from kanachan.play.selfplay_run import _has_effect
from tests.support.random_annotations import random_annotations

ACTION = FOUR_PLAYERS.action


def decision(*kinds: str, is_preempted: bool) -> Decision:
    """A decision between one action of each kind, in which the last is chosen."""
    tokens = sorted(next(t for t in range(ACTION.size) if ACTION.block_of(t).name == kind) for kind in kinds)
    observation = random_annotations(1, seed=0)[0].observation._replace(actions=tuple(tokens))
    return Decision(observation, 0, len(tokens) - 1, 0, is_preempted)


@pytest.mark.parametrize(
    ("kinds", "is_preempted", "is_kept"),
    [
        (("skip", "pon"), False, True),
        (("skip", "pon"), True, False),
        (("skip", "pon", "ron"), False, True),
        (("skip", "chi", "ron"), True, True),  # declined, while another seat called: its own win would have counted
    ],
)
def test_a_decision_is_kept_only_if_another_choice_could_have_changed_the_game(
    kinds: tuple[str, ...], is_preempted: bool, is_kept: bool
) -> None:
    assert _has_effect(decision(*kinds, is_preempted=is_preempted), FOUR_PLAYERS) == is_kept
