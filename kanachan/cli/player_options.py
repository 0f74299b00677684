"""What the commands that play games share: the help about players, and what results depend on besides their names."""

import argparse
import hashlib
from collections.abc import Sequence

from kanachan.models.card import weights_file
from kanachan.play.agent_spec import AgentSpec


class PlayerFormatter(argparse.RawDescriptionHelpFormatter):
    """Preserves the lines of the epilog, and wraps those of the description."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("A PLAYER"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def hashes_of(spec: AgentSpec) -> tuple[str, ...]:
    """Returns hashes of a player's weights files, so that a run cannot be resumed with other players."""
    return tuple(hashlib.sha256(weights_file(path).read_bytes()).hexdigest()[:16] for path in spec.files)


def kind_of_device(name: str, specs: Sequence[AgentSpec]) -> str:
    """Returns the kind of device that the networks are on, "cpu" where there are none."""
    if not any(spec.files and not spec.is_int8 for spec in specs):
        return "cpu"
    from kanachan.inference.policy import chosen_device

    return chosen_device(name).type
