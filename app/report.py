"""A study as one file that needs nothing else: `python -m app.report STUDY FILE`, which `ganboard report` starts."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import jinja2
import plotly
import plotly.graph_objects as go
from markupsafe import Markup

from app import exhibits, text
from app.exhibits.evidence import Evidence, Exhibit
from app.figures.template import TEMPLATES
from db import studies
from db.models import Run, Study
from gan import published
from gan.hardware import devices
from worker import mode_bar
from worker.clear_errors import CLEAR_ERRORS
from worker.context import Context, open_context
from worker.export import safe_cell

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TEMPLATE = Path(__file__).with_name("report.html")
CONFIG = {**mode_bar.CONFIG, "responsive": True}
ROWS = 200  # of a table that the file shows; the CSV has all


def write(context: Context, study: Study, path: Path) -> list[Path]:
    """The report at `path`, and beside it a CSV file for each figure's numbers; returns all that was written. Raises OSError."""
    runs = list({run.id: run for part in studies.runs(context.engine, study.id).values() for run in part}.values())
    shown = exhibits.make(Evidence.of(context.engine, runs, study.definition), list(study.definition.get("figures", [])))
    path.write_text(render(study, runs, shown), encoding="utf-8")
    written = [path]
    for one in shown:
        if not one.table.empty:
            written.append(path.with_name(f"{path.stem}-{one.key}.csv"))
            one.table.map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell).to_csv(written[-1], index=False)
    return written


def render(study: Study, runs: list[Run], shown: list[Exhibit]) -> str:
    """HTML with the figures interactive; what people typed is escaped."""
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return page.render(
        study=study,
        exhibits=[(one, _figure(one.figure, one.key), _table(one)) for one in shown],
        runs=[_run(run) for run in runs],
        settings=[(name, _shared(runs, name)) for name in sorted({name for run in runs for name in run.config})],
        published=published.table(),
        published_columns=published.COLUMNS,
        documents=published.DOCUMENTS.values(),
        machines=sorted({_machine(run) for run in runs if run.hardware}),
        script=Markup(PLOTLY_JS.read_text(encoding="utf-8")),  # noqa: S704  # ours, from the wheel
    )


def _figure(figure: go.Figure | None, key: str) -> Any:
    if figure is None:
        return ""
    drawn = go.Figure(figure).update_layout(template=TEMPLATES["light"])
    html = drawn.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{key}", config=CONFIG)
    return Markup(html)  # noqa: S704  # Plotly escapes its JSON for a script element


def _table(one: Exhibit) -> tuple[list[str], list[list[str]], int]:
    """Column names, at most ROWS rows of words, and how many rows there are."""
    rows = one.table.head(ROWS).itertuples(index=False)
    return list(map(str, one.table.columns)), [[_cell(value) for value in row] for row in rows], len(one.table)


def _cell(value: object) -> str:
    return ("–" if math.isnan(value) else f"{value:.6g}") if isinstance(value, float) else str(value)


def _run(run: Run) -> tuple[str, ...]:
    return run.id, run.name, run.status, f"{run.epoch}", text.duration(run.seconds or None), text.pace(run.images_per_second)


def _shared(runs: list[Run], name: str) -> str:
    """The value of a setting, or all that it takes."""
    values = sorted({str(run.config.get(name)) for run in runs})
    return ", ".join(values)


def _machine(run: Run) -> str:
    hardware = run.hardware or {}
    versions = ", ".join(f"{name} {version}" for name, version in hardware.get("versions", {}).items())
    return f"{hardware.get('host', '?')}: {devices(hardware)}; {versions}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="ganboard report", description="Write a study as one HTML file, and its numbers as CSV.")
    parser.add_argument("study", help="a study's id, the beginning of one, or latest")
    parser.add_argument("file", type=Path, help="where the HTML goes")
    asked = parser.parse_args()
    try:
        context = open_context(pooled=False)
        for path in write(context, studies.find(context.engine, asked.study), asked.file):
            print(path)  # noqa: T201
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:
        print(f"ganboard: {asked.file} cannot be written ({error.strerror}): name another place.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
