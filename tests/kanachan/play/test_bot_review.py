"""kanachan-bot in review mode, asked about lines that it cannot follow."""

from pathlib import Path

import pytest

from annotate.simulation.simulate import rounds_of, simulate_game
from tests.kanachan.play.test_mjai_server import END_OF_ROUND, START, answers, bot_of
from tests.support.tiny_weights import written

NOTHING = {"type": "none", "meta": {"mask_bits": 0}}


def test_a_round_that_cannot_be_followed_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """mjai-reviewer ends at an answer that is no event of mjai."""
    first, second, *_ = rounds_of(simulate_game(5, 0, style=0, annotated=False).events)
    bot = bot_of(written(tmp_path), 0, is_reviewing=True)
    told = [START, *first[:2], first[1], *first[2:], END_OF_ROUND]
    assert answers(bot, told)[3:] == [NOTHING] * (len(told) - 3)
    (said,) = capsys.readouterr().err.splitlines()
    assert said == "kanachan-bot: tsumo: seat 0 cannot draw a tile now; the rest of the round is passed over"
    assert any(answer["meta"]["mask_bits"] for answer in answers(bot, second))
