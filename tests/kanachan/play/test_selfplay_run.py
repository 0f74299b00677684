"""Where the networks of self-play are computed."""

import pytest

from kanachan.play.playing import Execution


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
