"""The command line: `ganboard`. Thin: every command opens what it needs, calls one function, and
shows the result.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from ganboard.worker.cli import (
    alerts,
    backup,
    data,
    firstday,
    launch,
    models,
    of_models,
    output,
    own_models,
    rehearse,
    runs,
    serve,
    study,
    sweep,
    trash,
    verify,
)
from ganboard.worker.cli import annotations as annotations_cli
from ganboard.worker.cli.claims import launch as claim_cli
from ganboard.worker.cli.claims import stored as claims_cli
from ganboard.worker.cli.fleet import commands as fleet
from ganboard.worker.cli.interchange import commands as interchange
from ganboard.worker.cli.interchange import networks
from ganboard.worker.cli.options import AsJson, open_database
from ganboard.worker.cli.programs import commands as programs
from ganboard.worker.cli.reports import report
from ganboard.worker.cli.requests import evaluate, surface
from ganboard.worker.cli.searches import commands as searches

app = typer.Typer(
    cls=output.Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
database = typer.Typer(no_args_is_help=True, help="The database's schema.")
app.add_typer(database, name="db")
app.add_typer(alerts.alerts_app, name="alerts")
app.add_typer(claims_cli.claims_app, name="claims")
app.add_typer(data.data_app, name="data")
app.add_typer(models.models_app, name="models")
app.add_typer(own_models.new_app, name="new")
app.add_typer(searches.search_app, name="search")
app.add_typer(programs.token_app, name="token")
app.add_typer(verify.bench_app, name="bench")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"ganboard {version('ganboard')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Launch, watch and compare accelerated GAN training.

    First steps:
      ganboard up                               the dashboard and all it needs
      ganboard run --preset starter --follow    one run, watched in the terminal
      ganboard doctor                           what this machine has and lacks

    State is stored in GANBOARD_HOME, by default .ganboard in the working directory.
    """
    # before a command loads TensorFlow: its start-up notes are no errors
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # a name may hold characters that the terminal's encoding lacks
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@app.command()
def up(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The dashboard's port.")] = 8501,
    address: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Others than 127.0.0.1 need sign-in (docs/security.md)."
        ),
    ] = "127.0.0.1",
    workers: Annotated[
        int, typer.Option(min=0, max=64, help="Number of runs that can train at the same time.")
    ] = 1,
    no_starter: Annotated[
        bool, typer.Option("--no-starter", help="Do not start a first run when there are none.")
    ] = False,
) -> None:
    """Start everything: Redis, workers, an inference worker and the dashboard. Ctrl-C stops them;
    runs resume at the next start.

    Example:
      ganboard up --port 8600 --workers 2
    """
    from ganboard.db.settings import Settings
    from ganboard.worker.supervisor import supervisor

    raise typer.Exit(
        supervisor.up(
            Settings(), port=port, workers=workers, starter=not no_starter, address=address
        )
    )


@app.command()
def worker() -> None:
    """Run one worker in the foreground; GANBOARD_REDIS_URL and GANBOARD_DATABASE_URL select its
    queue and database.

    Example:
      export GANBOARD_REDIS_URL=redis://queue:6379
      export GANBOARD_DATABASE_URL=postgresql://me@db/ganboard
      ganboard worker
    """
    from ganboard.worker.queue import rq_worker

    raise typer.Exit(rq_worker.main())


@app.command("painter", hidden=True)  # its former name
@app.command("inference-worker")
def inference_worker() -> None:
    """Run one inference worker in the foreground: it generates what the playground asks of stored
    generators, and computes surfaces, predictions and evaluations. `ganboard up` has one.

    Example:
      GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard inference-worker
    """
    from ganboard.worker.requests import inference_worker

    inference_worker.main()


@app.command("mirror", hidden=True)  # its former name
@app.command("mlflow-sync")
def mlflow_sync(
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="URI", help="MLflow tracking URI; defaults to GANBOARD_MLFLOW_URI."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Log new data once and exit.")] = False,
) -> None:
    """Log all runs to MLflow while they train: settings, losses, timings, quality, images.
    `ganboard up` starts it when GANBOARD_MLFLOW_URI is set.

    Examples:
      ganboard mlflow-sync --to http://127.0.0.1:5000
      ganboard mlflow-sync --to sqlite:///mlflow.db --once
    """
    from ganboard.worker.registry import mlflow_sync as sync_runs

    raise typer.Exit(sync_runs.main(to, once=once))


@app.command()
def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Verify the digests of all checkpoints.")
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Apply safe fixes: delete leftovers and requeue runs without a worker."
        ),
    ] = False,
    accelerator: Annotated[
        bool,
        typer.Option(
            "--accelerator",
            help="Check the GPUs or the TPU instead: drivers, products, placement of a step.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check what this machine has, what is missing or broken, and how to fix it; exits with 1 if
    something must be fixed.

    Examples:
      ganboard doctor --json
      ganboard doctor --accelerator
      ganboard doctor --deep --fix
    """
    from dataclasses import asdict

    from ganboard.db.settings import Settings
    from ganboard.worker import doctor as examination
    from ganboard.worker.terminal.console import print_check

    settings, found = Settings(), []
    mended = list(examination.mend(settings)) if fix else []
    for line in mended if not as_json else ():
        typer.echo(line)
    if accelerator:
        checks = examination.accelerators(settings)
    else:
        checks = examination.checks(settings, deep=deep)
    for check in checks:
        found.append(check)
        if not as_json:
            print_check(check)
    well = all(check.status != "fail" for check in found)
    if as_json:
        output.print_json(
            {"ok": well, "mended": mended, "checks": [asdict(check) for check in found]}
        )
    raise typer.Exit(0 if well else 1)


ELSEWHERE: tuple[Callable[..., None], ...] = (
    launch.run, launch.train, runs.runs, runs.show, runs.explain, runs.stop, launch.resume,
    launch.clone, launch.fork, trash.delete, trash.undelete, interchange.export,
    annotations_cli.tag, annotations_cli.note, annotations_cli.archive, annotations_cli.unarchive,
    sweep.sweep, study.study, report.report, claim_cli.claim, surface.surface, evaluate.evaluate,
    *of_models.commands(),
    rehearse.rehearse, serve.serve, verify.selftest, own_models.check, firstday.firstday,
    backup.backup,
    backup.restore, fleet.machines, fleet.drain, fleet.undrain, fleet.priority,
    fleet.schedule, networks.networks, interchange.tensorboard, programs.mcp,
)  # fmt: skip
for command in ELSEWHERE:
    app.command(
        context_settings=annotations_cli.UNSIGNED if command is annotations_cli.tag else None
    )(command)
app.command("studies")(study.list_studies)
app.command("published")(study.list_published)
app.command("import")(interchange.import_runs)


@database.command()
def upgrade() -> None:
    """Bring the database to this version's schema; every command does so, this one says what it
    found.

    Example:
      ganboard db upgrade
    """
    from ganboard.db import migrate

    context = open_database(create=True)
    where = context.engine.url.render_as_string(hide_password=True)
    typer.echo(f"{where} has schema {migrate.revision(context.engine)}, the latest.")
