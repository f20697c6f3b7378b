"""The command for the first hour on an accelerator: `ganboard firstday`. Thin, as those of
`worker.cli.main`, which lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, open_database


def firstday(
    minutes: Annotated[float, typer.Option("--minutes", help="Time budget, from 1 to 240.")] = 15.0,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Very few steps of each part, without the benchmark and the study."
        ),
    ] = False,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            metavar="FILE",
            help="ZIP file to write, which `ganboard import` reads; the HTML file is written next"
            " to it. Defaults to firstday-HOST-TIME.zip in the working directory.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything on a device that is new to ganboard, and report back: placement of a step,
    precisions, one against n replicas, killed and resumed, memory and step time beside their
    estimates, the benchmark, a small study.

    What one part found is kept when a later one fails, and what the time did not suffice for is
    listed as not done. Measured step times calibrate the estimates of `ganboard rehearse`. Works
    without an accelerator as well. The exit code is 1 when a part fails.

    Examples:
      ganboard firstday
      ganboard firstday --minutes 30 --bundle results/colab-t4.zip
      ganboard firstday --quick --json
    """
    from ganboard.worker.firstday import bundle as bundles
    from ganboard.worker.firstday import firstday as days
    from ganboard.worker.firstday import view
    from ganboard.worker.firstday.day import Options

    options = Options(minutes, quick)
    days.check(options)
    path = bundles.place(bundle)
    context = open_database(create=True)
    with view.Lines() as lines:
        found = days.run(context, options, lines)
    page = bundles.write(context, found, path)
    if as_json:
        output.print_json({**found, "bundle": str(path), "report": str(page)})
    else:
        view.show(found)
        typer.echo(f"\nReport: {page}\nBundle: {path} (read it in elsewhere: ganboard import FILE)")
    raise typer.Exit(0 if found["ok"] else 1)
