"""Makes the player that a specification names."""

from annotate.vocabulary import Vocabulary
from kanachan.play.agent import Agent, SeededSampler
from kanachan.play.agent_spec import AgentSpec
from kanachan.play.baseline_agents import RandomAgent, RuleAgent


def make_agent(
    spec: AgentSpec, lots: SeededSampler, vocabulary: Vocabulary, device: str = "cpu", *, use_bf16: bool = False
) -> Agent:
    """The player of a name.

    Args:
        device: where networks are computed.
        use_bf16: they multiply in bf16.

    Raises:
        ValueError: weights that cannot be read, or not together.
        OSError: a program that cannot be started.
    """
    if spec.kind == "random":
        return RandomAgent(lots)
    if spec.kind == "rule":
        return RuleAgent(spec.temperament, lots, vocabulary)
    if spec.kind == "mjai":
        from kanachan.play.mjai_agent import MjaiAgent

        return MjaiAgent(spec.command, vocabulary)
    # torch is imported only for those who need it
    from kanachan.play.policy_agent import load_policy_agent

    return load_policy_agent(spec, lots, vocabulary, device, use_bf16=use_bf16)
