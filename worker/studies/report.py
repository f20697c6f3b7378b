"""A study as one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from ganboard.db.models import Run, Study
from ganboard.gan.devices.hardware import devices
from ganboard.gan.studies import predictions, reference_results
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import safe_cell
from ganboard.worker.reports import page
from ganboard.worker.reports.page import ReportFailed
from ganboard.worker.studies import results
from ganboard.worker.studies.results.study_data import StudyData, StudyResult
from ganboard.worker.studies.study import runs_of

TEMPLATE = Path(__file__).with_name("report.html")
ROWS = 200  # of a table that the file shows; the CSV has all


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
    return page.render(
        TEMPLATE,
        study=study,
        results=[(one, page.figure(one.figure, one.key), _table(one)) for one in made],
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
    )


def _table(one: StudyResult) -> tuple[list[str], list[list[str]], int]:
    """Column names, at most ROWS rows of words, and how many rows there are."""
    rows = one.table.head(ROWS).itertuples(index=False)
    return (
        list(map(str, one.table.columns)),
        [[page.cell(value) for value in row] for row in rows],
        len(one.table),
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
