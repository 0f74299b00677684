"""The dashboard of a wandb project as code: panels in sections, the same for the whole team.

    python launch/reports/dashboard.py ENTITY       saves it to the project `kanachan` of ENTITY; needs a key for wandb
    python launch/reports/dashboard.py --json FILE  writes its specification, without a connection

Needs the package wandb-workspaces: pip install '.[dashboard]' -c constraints.txt
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from annotate.runtime.files import replacing
from annotate.runtime.terminal import run_cleanly
from kanachan.training.metric_names import AXIS, SECTIONS

NAME = "kanachan"
RELIABILITY_TABLE = "calibration/reliability_table"
PROVENANCE = """\
Under *Overview* each run has its settings, `commit` (`-dirty` after it: files were changed), `data_card` (what the
shards were made from, and how) and `lineage` (the stages before it, with the hashes of their weights). Under
*Artifacts* are the weights that it started from and those that it made.
"""


def workspace(entity: str, project: str) -> Any:
    """Builds the dashboard without saving it."""
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

    def panel(title: str, metrics: tuple[str, ...] | str) -> wr.LinePlot:
        if isinstance(metrics, str):
            return wr.LinePlot(title=title, x=AXIS, metric_regex=metrics)
        return wr.LinePlot(title=title, x=AXIS, y=list(metrics))

    sections = [
        ws.Section(
            name=name,
            panels=[panel(title, metrics) for title, metrics in panels.items()],
            is_open=name in ("Learning", "By kind", "Curriculum"),
        )
        for name, panels in SECTIONS.items()
    ]
    sections[0].panels.append(  # what kanachan.training.wandb_run draws
        wr.CustomChart(
            query={"summaryTable": {"tableKey": RELIABILITY_TABLE}},
            chart_name="wandb/line/v0",
            chart_fields={"x": "predicted", "y": "actual", "stroke": "line"},
            chart_strings={"title": "reliability at the last validation"},
        )
    )
    provenance = [wr.RunComparer(diff_only=True), wr.MarkdownPanel(markdown=PROVENANCE)]
    sections.append(ws.Section(name="Provenance", panels=provenance))
    return ws.Workspace(
        entity=entity, project=project, name=NAME, sections=sections, settings=ws.WorkspaceSettings(x_axis=AXIS)
    )


def specification(made: Any) -> str:
    """Returns the JSON that `save` would send."""
    # no public function returns it
    return made._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"


def save(made: Any) -> None:
    """Saves the dashboard; raises ValueError if wandb rejects it, as without a key or with one that may not write."""
    import wandb

    try:
        made.save()
    except wandb.Error as error:
        raise ValueError(
            f"{made.entity}/{made.project}: the dashboard was not saved; set up a key by `wandb login`, or write the "
            f"specification to a file by --json FILE (wandb reports: {error})"
        ) from None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="launch/reports/dashboard.py",
        description="Saves the dashboard of a wandb project, or writes it as JSON.",
    )
    parser.add_argument("entity", nargs="?", help="user or team of wandb; `wandb login` sets up the key")
    parser.add_argument("--project", default="kanachan", help="project of wandb, %(default)s if not given")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the specification to a file and save nothing")
    options = parser.parse_args(argv)
    if options.entity is None and options.json is None:
        parser.error("name the user or team of the project, or a file with --json")

    def save_or_write() -> None:
        try:
            made = workspace(options.entity or "", options.project)
        except ModuleNotFoundError as error:
            raise ValueError(f"{error.name} is missing: pip install '.[dashboard]' -c constraints.txt") from None
        if options.json is not None:
            with replacing(options.json) as temporary:
                temporary.write_text(specification(made), encoding="utf-8")
            print(f"{options.json}: {sum(len(section.panels) for section in made.sections)} panels")
        else:
            save(made)
            print(made.url)

    return run_cleanly(parser.prog, save_or_write)


if __name__ == "__main__":
    sys.exit(main())
