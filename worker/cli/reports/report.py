"""The command that writes reports: `ganboard report`. Thin, as those of `worker.cli.main`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli.options import find, open_database


def report(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|RUN", help="Study or run: an id, its beginning, or `latest`."
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="HTML file of a study; a CSV file per figure is written next to it.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="HTML file of a run.")
    ] = None,
    pdf: Annotated[
        Path | None,
        typer.Option("--pdf", metavar="FILE", help="PDF file of a run; needs Chromium or Chrome."),
    ] = None,
) -> None:
    """Write a study or a run as one file that needs nothing else: of a study its figures, claims
    and verdicts; of a run its settings, machine, curves, images, events and diagnosis.

    Examples:
      ganboard report latest results/paper.html            (a study)
      ganboard report latest --html run.html --pdf run.pdf (a run)
    """
    from ganboard.gan.config import ConfigError

    if (file is None) == (html is None and pdf is None):
        raise ConfigError(
            "Name one kind of report: `ganboard report STUDY FILE.html` for a study, `ganboard"
            " report RUN --html FILE` or `--pdf FILE` for a run."
        )
    if file is not None:
        _study(name, file)
    else:
        _run(name, html, pdf)


def _study(name: str, file: Path) -> None:
    from ganboard.db import studies
    from ganboard.worker.studies import report as reports

    context = open_database()
    for path in reports.write(context, studies.find(context.engine, name), file):
        typer.echo(path)


def _run(name: str, html: Path | None, pdf: Path | None) -> None:
    from ganboard.worker.reports import page
    from ganboard.worker.reports import pdf as printing
    from ganboard.worker.reports import run as reports

    if pdf is not None and printing.browser() is None:
        raise page.ReportFailed(printing.NONE)  # before the work
    text = reports.render(*find(name))
    if html is not None:
        page.write(html, text)
        typer.echo(html)
    if pdf is not None:
        printing.write(text, pdf)
        typer.echo(pdf)
