"""The registry of stages in the order of the curriculum. Imports nothing heavy: the command line uses it too."""

from pathlib import Path

STAGES: dict[str, str] = {
    "imitation": "kanachan.objectives.imitation:Imitation",
    "round_delta": "kanachan.objectives.value:RoundDelta",
    "rank": "kanachan.objectives.rank:Rank",
    "grading": "kanachan.objectives.value:Grading",
}
"""Module and class of the objective of each stage, imported on demand
(`kanachan.objectives.networks.objective_class`). Each stage starts from the encoder of the previous one."""

REWARD = "reward"
"""the reward predictor (`kanachan.objectives.reward`), trained as a stage outside the curriculum, from rounds and with
its own network"""

POLICY = "policy"
"""a policy improved by reinforcement learning, outside the curriculum: it starts from the whole network of the first
stage or of this stage, and has the same outputs"""

OTHER_KINDS: dict[str, str] = {
    REWARD: "kanachan.training.reward_stage",
    POLICY: "kanachan.reinforcement.policy_stage",
}
"""Module with the data and the learner of each stage that is trained unlike the curriculum
(`kanachan.training.learner.StageKind`)."""

OUTSIDE: dict[str, str] = {POLICY: "kanachan.objectives.imitation:PolicyObjective"}
"""objectives of stages outside the curriculum, in the form of `STAGES`"""


def scoring_stages() -> dict[str, str]:
    """Returns all stages whose networks score candidates, in the form of `STAGES`; stages of the curriculum first."""
    return {**STAGES, **OUTSIDE}


def trained_stages() -> tuple[str, ...]:
    """Returns all stages that kanachan-train can train."""
    return (*STAGES, REWARD, *OUTSIDE)


def require_scoring(stage: str, path: str | Path) -> None:
    """Raises ValueError, naming the weights at `path`, if networks of their stage do not score actions."""
    expected = f"weights of another stage are expected here ({', '.join(scoring_stages())})"
    if stage == REWARD:
        raise ValueError(f"{path}: a reward predictor, which predicts how games end and chooses no actions; {expected}")
    if stage not in scoring_stages():
        raise ValueError(f"{path}: of stage {stage}, which this version does not have; {expected}")


def previous_stage(stage: str) -> str | None:
    """Returns the stage from whose encoder `stage` starts; None for the first stage and outside the curriculum."""
    names = list(STAGES)
    place = names.index(stage) if stage in names else 0
    return names[place - 1] if place else None
