"""A study as one HTML file that needs nothing else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jinja2
import plotly
import plotly.graph_objects as go
from markupsafe import Markup

from ganboard.db.models import Run, Study
from ganboard.gan.devices.hardware import devices
from ganboard.gan.studies import predictions, reference_results
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.errors import WorkerError
from ganboard.worker.figures import mode_bar
from ganboard.worker.figures.template import TEMPLATES
from ganboard.worker.interchange.export import safe_cell
from ganboard.worker.studies import results
from ganboard.worker.studies.results.study_data import StudyData, StudyResult
from ganboard.worker.studies.study import runs_of

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TEMPLATE = Path(__file__).with_name("report.html")
CONFIG = {**mode_bar.CONFIG, "responsive": True}
ROWS = 200  # of a table that the file shows; the CSV has all


class ReportFailed(WorkerError):
    """The file cannot be written; the message is one sentence."""


def write(context: Context, study: Study, path: Path) -> list[Path]:
    """The report at `path`, and beside it a CSV file for each figure's numbers; returns all that
    was written. Raises ReportFailed."""
    try:
        return _write(context, study, path)
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror}). Choose another path."
        ) from None


def _write(context: Context, study: Study, path: Path) -> list[Path]:
    runs = runs_of(context, study.id)
    made = results.make(
        StudyData.of(context.engine, runs, study.definition),
        list(study.definition.get("figures", [])),
    )
    path.write_text(render(study, runs, made), encoding="utf-8")
    written = [path]
    for one in made:
        if not one.table.empty:
            written.append(path.with_name(f"{path.stem}-{one.key}.csv"))
            one.table.map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell).to_csv(
                written[-1], index=False
            )
    return written


def render(study: Study, runs: list[Run], made: list[StudyResult]) -> str:
    """HTML with the figures interactive; what people typed is escaped."""
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        TEMPLATE.read_text(encoding="utf-8")
    )
    return page.render(
        study=study,
        results=[(one, _figure(one.figure, one.key), _table(one)) for one in made],
        runs=[_run(run) for run in runs],
        settings=[
            (name, _shared(runs, name))
            for name in sorted({name for run in runs for name in run.config})
        ],
        published=reference_results.table(),
        predicted_source=predictions.source(),
        published_columns=reference_results.COLUMNS,
        documents=reference_results.DOCUMENTS.values(),
        machines=sorted({_machine(run) for run in runs if run.hardware}),
        script=Markup(PLOTLY_JS.read_text(encoding="utf-8")),  # noqa: S704  # ours, from the wheel
    )


def _figure(figure: go.Figure | None, key: str) -> Any:
    if figure is None:
        return ""
    rendered = go.Figure(figure).update_layout(template=TEMPLATES["light"])
    html = rendered.to_html(
        full_html=False, include_plotlyjs=False, div_id=f"figure-{key}", config=CONFIG
    )
    return Markup(html)  # noqa: S704  # Plotly escapes its JSON for a script element


def _table(one: StudyResult) -> tuple[list[str], list[list[str]], int]:
    """Column names, at most ROWS rows of words, and how many rows there are."""
    rows = one.table.head(ROWS).itertuples(index=False)
    return (
        list(map(str, one.table.columns)),
        [[_cell(value) for value in row] for row in rows],
        len(one.table),
    )


def _cell(value: object) -> str:
    return (
        ("–" if math.isnan(value) else f"{value:.6g}") if isinstance(value, float) else str(value)
    )


def _run(run: Run) -> tuple[str, ...]:
    return (
        run.id,
        run.name,
        run.status,
        f"{run.epoch}",
        formatting.duration(run.seconds or None),
        formatting.rate(run.images_per_second),
    )


def _shared(runs: list[Run], name: str) -> str:
    """The value of a setting, or all that it takes."""
    values = sorted({str(run.config.get(name)) for run in runs})
    return ", ".join(values)


def _machine(run: Run) -> str:
    hardware = run.hardware or {}
    versions = ", ".join(
        f"{name} {version}" for name, version in hardware.get("versions", {}).items()
    )
    return f"{hardware.get('host', '?')}: {devices(hardware)}; {versions}"
