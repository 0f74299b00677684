"""What may be known by name in one place alone."""

import ast
import re
from collections.abc import Iterator

from kanachan.objectives.stages import STAGES
from tests.support.imports import MODULES, PROGRAMS
from tests.support.paths import ROOT

NAMING_STAGES = {
    "kanachan/objectives/stages.py": "the registry",
    **{f"kanachan/objectives/{name}.py": "the stages themselves" for name in ("imitation", "value", "rank")},
    "kanachan/models/reference.py": "the stage of the weights that are called reference",
    **{
        f"launch/benchmark/{name}.py": "measures the network of one stage"
        for name in ("answering", "floor", "growing", "peak", "playing", "three_players", "training")
    },
}
"""files that name a stage, and why they may; all others learn of it what they need from its objective"""
NAMING_A_RESULT = {
    "annotate/vocabulary.py": "the result of a decision",
    "annotate/words.py": "the result of a decision",
    **{
        f"kanachan/data/{name}.py": "a column of rounds"
        for name in ("dataset_card", "round_derivation", "round_shards")
    },
    "kanachan/cli/models.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "kanachan/evaluation/evaluator.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "kanachan/evaluation/reliability.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "kanachan/evaluation/comparison_tables.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "kanachan/evaluation/tables.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "kanachan/objectives/targets.py": "the result of a decision; so is round_delta",
    "kanachan/review/report.py": "the result of a decision",
    "launch/reports/plot_reliability.py": "a group of metrics, in the JSON of kanachan-evaluate",
    "launch/reports/results.py": "a group of metrics, in the JSON of kanachan-evaluate",
}
"""files in which "rank" is something else than the stage"""


def stages_named() -> Iterator[tuple[str, str]]:
    """File and stage of every string in the sources that is the name of a stage."""
    for path in {*MODULES.values(), *PROGRAMS}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in STAGES:
                yield str(path.relative_to(ROOT)), str(node.value)
    for path in ROOT.glob("kanachan/**/*.js"):
        for name in re.findall(r"""['"`](\w+)['"`]""", path.read_text()):
            if name in STAGES:
                yield str(path.relative_to(ROOT)), name


def test_a_stage_is_named_by_itself_and_the_registry_alone() -> None:
    named = {(file, stage) for file, stage in stages_named() if file.startswith(("annotate/", "kanachan/", "launch/"))}
    others = {(file, stage) for file, stage in named if file not in NAMING_STAGES}
    assert {file for file, _ in named} - NAMING_STAGES.keys() <= NAMING_A_RESULT.keys()
    assert {stage for _, stage in others} <= {"rank", "round_delta"}
    assert {file for file, stage in others if stage == "round_delta"} == {"kanachan/objectives/targets.py"}


def test_the_lists_hold_nothing_that_is_over() -> None:
    assert NAMING_STAGES.keys() | NAMING_A_RESULT.keys() == {file for file, _ in stages_named()}
