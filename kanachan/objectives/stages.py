"""The registry of stages, in the order of the curriculum. Imports nothing heavy: the command line reads it too."""

STAGES: dict[str, str] = {
    "imitation": "kanachan.objectives.imitation:Imitation",
    "round_delta": "kanachan.objectives.value:RoundDelta",
    "rank": "kanachan.objectives.rank:Rank",
    "grading": "kanachan.objectives.value:Grading",
}
"""By the name of a stage, the module and the class of its objective, which is imported on demand
(`kanachan.objectives.networks.objective_class`). Each stage starts from the encoder of the previous one."""


def require_stage(stage: str) -> str:
    """Returns the stage; raises ValueError, naming the known ones, if it is unknown."""
    if stage not in STAGES:
        raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage}")
    return stage


def previous_stage(stage: str) -> str | None:
    """Returns the stage from whose encoder this one starts; None for the first of the curriculum."""
    names = list(STAGES)
    place = names.index(stage)
    return names[place - 1] if place else None
