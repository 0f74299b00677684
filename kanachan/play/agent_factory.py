"""Makes the player that a specification names."""

from annotate.vocabulary import Vocabulary
from kanachan.play.agent import Lots, Player
from kanachan.play.agent_spec import PlayerSpec
from kanachan.play.baseline_agents import RandomPlayer, RulePlayer


def make_player(
    spec: PlayerSpec, lots: Lots, vocabulary: Vocabulary, device: str = "cpu", *, is_half: bool = False
) -> Player:
    """The player of a name.

    Args:
        device: where networks are computed.
        is_half: they multiply in bf16.

    Raises:
        ValueError: weights that cannot be read, or not together.
        OSError: a program that cannot be started.
    """
    if spec.kind == "random":
        return RandomPlayer(lots)
    if spec.kind == "rule":
        return RulePlayer(spec.temperament, lots, vocabulary)
    if spec.kind == "mjai":
        from kanachan.play.mjai_agent import MjaiPlayer

        return MjaiPlayer(spec.command, vocabulary)
    # torch is imported only for those who need it
    from kanachan.play.policy_agent import load_policy_player

    return load_policy_player(spec, lots, vocabulary, device, is_half=is_half)
