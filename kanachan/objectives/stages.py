"""The registry of stages, in the order of the curriculum. Imports nothing heavy: the command line reads it too."""

from collections.abc import Iterable

STAGES: dict[str, str] = {
    "imitation": "kanachan.objectives.imitation:Imitation",
    "round_delta": "kanachan.objectives.value:RoundDelta",
    "rank": "kanachan.objectives.rank:Rank",
    "grading": "kanachan.objectives.value:Grading",
}
"""By the name of a stage, the module and the class of its objective, which is imported on demand
(`kanachan.objectives.networks.objective_class`). Each stage starts from the encoder of the previous one."""

REWARD = "reward"
"""the reward predictor (`kanachan.objectives.reward`): trained as a stage, but from rounds, with a network of its own,
and outside the curriculum"""


def trained_stages() -> tuple[str, ...]:
    """Returns all that kanachan-train trains."""
    return (*STAGES, REWARD)


def require_stage(stage: str, known: Iterable[str] = STAGES) -> str:
    """Returns the stage; raises ValueError, naming the known ones, if it is unknown."""
    if stage not in known:
        raise ValueError(f"stage must be one of {', '.join(known)}, not {stage}")
    return stage


def previous_stage(stage: str) -> str | None:
    """Returns the stage from whose encoder this one starts; None for the first of the curriculum and outside it."""
    names = list(STAGES)
    place = names.index(stage) if stage in names else 0
    return names[place - 1] if place else None
