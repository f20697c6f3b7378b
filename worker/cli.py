"""The command line: `ganboard`. Thin: every command opens what it needs, calls one function, and shows the result.

Heavy modules are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worker import answer, cli_marks, cli_proof, cli_sweep
from worker.cli_proof import AsJson

if TYPE_CHECKING:
    from db.models import Run
    from gan.config import RunConfig
    from worker.context import Context

app = typer.Typer(cls=answer.Commands, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
database = typer.Typer(no_args_is_help=True, help="The database's schema.")
app.add_typer(database, name="db")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or `latest`.")]
Preset = Annotated[str | None, typer.Option("--preset", metavar="NAME", help="Begin with these settings: starter, paper or tiny.")]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting; may be repeated.")]
Name = Annotated[str | None, typer.Option("--name", help="What the run is called, up to 80 characters; otherwise its settings name it.")]
ListSettings = Annotated[bool, typer.Option("--settings", help="List every setting and preset with default, range and reason, and exit.")]


@app.callback()
def main() -> None:
    """Launch, watch and compare accelerated GAN training.

    First steps:
      ganboard up                               the dashboard and all it needs
      ganboard run --preset starter --follow    one run, watched in the terminal
      ganboard doctor                           what this machine has and lacks

    State lies in GANBOARD_HOME, by default .ganboard in the working directory.
    """
    for stream in (sys.stdout, sys.stderr):  # a name may hold characters that the terminal's encoding lacks
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@app.command()
def up(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The dashboard's port on 127.0.0.1.")] = 8501,
    workers: Annotated[int, typer.Option(min=0, max=64, help="How many runs may train at once.")] = 1,
    no_starter: Annotated[bool, typer.Option("--no-starter", help="Do not begin a first run when there is none.")] = False,
) -> None:
    """Start everything: Redis, workers, a painter and the dashboard. Ctrl-C ends it all; runs go on at the next start.

    Example:
      ganboard up --port 8600 --workers 2
    """
    from db.settings import Settings
    from worker import supervisor

    raise typer.Exit(supervisor.up(Settings(), port=port, workers=workers, starter=not no_starter))


@app.command()
def run(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[bool, typer.Option("--follow", help="Show progress until the run has ended; Ctrl-C leaves it running.")] = False,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Queue a run; a worker trains it.

    With --follow the exit code is 0 for finished, 1 for failed, 3 for stopped, and 130 after Ctrl-C.

    Examples:
      ganboard run --preset starter --follow
      ganboard run --preset paper --set batch_size=256 --set xla=true
      ganboard run --settings
    """
    if settings:
        return answer.print_settings(as_json)
    config = _config(preset, changes)
    from worker.submit import submit

    context = _open()
    submitted = submit(context, config, name=name, preset=preset or "")
    waiting = answer.waiting(context, submitted)
    if follow:
        return answer.follow(context, submitted, as_json)
    said = f"Queued run {submitted.id}: {submitted.name}{waiting}\nSee it: ganboard show {submitted.id}"
    return answer.changed(context, submitted.id, said, as_json)


@app.command()
def train(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[bool, typer.Option("--follow", help="Accepted as by `run`; train always shows its progress.")] = False,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Train a run in this process (with strategy=multi_worker in several): no Redis, no worker. Ctrl-C saves and stops it.

    Exit code: 0 for finished, 1 for failed, 3 for stopped. A stopped run goes on with `ganboard resume`.

    Example:
      ganboard train --preset tiny --set precision=mixed_bfloat16
    """
    if settings:
        return answer.print_settings(as_json)
    config = _config(preset, changes)
    from db import queries
    from worker.job import train_here
    from worker.progress import EventFeed, make_view
    from worker.submit import submit
    from worker.trainer import train_in_process

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is loaded: its start-up notes are no errors
    context = _open(pooled=True)
    submitted = submit(context, config, name=name, preset=preset or "", here=True)
    # libraries that report on stdout must not mix with the document
    with make_view(quiet=as_json) as view, contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        view.say(f"Run {submitted.id}: {submitted.name}")
        if config.effective_strategy == "multi_worker":
            train_here(context, submitted.id, view)
        else:
            train_in_process(context, submitted.id, on_event=EventFeed(config, view))
    return answer.report(context, queries.find_run(context.engine, submitted.id), as_json)


@app.command()
def runs(
    status: Annotated[list[str] | None, typer.Option("--status", help="Only runs in this state; may be repeated.")] = None,
    search: Annotated[
        str, typer.Option("--search", metavar="TERMS", help="Only runs for which all these hold, such as `tag:x batch_size>=128 -old`.")
    ] = "",
    archived: Annotated[bool, typer.Option("--archived", help="The archived runs instead of the others.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many at most, the newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first.

    A word of a search is looked for in name, note and tags, and at the beginning of the id; \"two words\" go together. Others are tag:x,
    status:failed, preset:paper, sweep:ID, /regex/ for names, and any setting or figure (epoch, step, seconds, g_loss, d_loss,
    images_per_second, fid) with = != > >= < or <=. A minus before a term turns it round.

    Examples:
      ganboard runs --status running --status queued
      ganboard runs --search "paper fid<20 -tag:old" --json
    """
    from db import listing, queries
    from db import search as language
    from db.models import STATUSES
    from gan.config import RunConfig

    if unknown := set(status or ()) - set(STATUSES):
        raise typer.BadParameter(f"{min(unknown)!r} is not a state: choose from {', '.join(STATUSES)}.", param_hint="--status")
    context, statuses = _open(), tuple(status or ())
    usual = [
        run
        for run in listing.list_all(context.engine)
        if (run.archived_at is not None) == archived and (not statuses or run.status in statuses)
    ]
    matching = language.matching(usual, language.parse(search, RunConfig().model_dump(mode="json")))
    found = queries.get_runs(context.engine, [run.id for run in matching[:limit]])
    if as_json:
        from worker.document import summaries

        return answer.print_json(summaries(context, found))
    from worker.console import print_runs

    return print_runs(found, len(matching))


@app.command()
def show(run_id: RunId, as_json: AsJson = False) -> None:
    """Show a run: state, settings, hardware, epochs, and where its files lie.

    Examples:
      ganboard show latest
      ganboard show k7m --json
    """
    from db import queries
    from worker.console import print_run

    context, found = _find(run_id)
    if as_json:
        return answer.print_document(context, found)
    engine = context.engine
    lists = queries.epochs(engine, found.id), queries.checkpoints(engine, found.id), queries.events(engine, found.id)
    return print_run(context, found, *lists)


@app.command()
def stop(run_id: RunId, as_json: AsJson = False) -> None:
    """Stop a run at its next step; it saves a checkpoint and can be resumed.

    Example:
      ganboard stop latest
    """
    from db.models import ENDED
    from worker import submit

    context, found = _find(run_id)
    now = submit.stop(context, found.id)
    said = f"Run {found.id} is stopped." if now in ENDED else f"Run {found.id} stops after the step it is in."
    answer.changed(context, found.id, said, as_json)


@app.command()
def resume(run_id: RunId, as_json: AsJson = False) -> None:
    """Queue a stopped or failed run again; it goes on from its newest checkpoint.

    Example:
      ganboard resume k7m
    """
    from worker import submit

    context, found = _find(run_id)
    resumed = submit.resume(context, found.id)
    answer.changed(context, found.id, f"Run {found.id} is queued again.{answer.waiting(context, resumed)}", as_json)


@app.command()
def clone(run_id: RunId, changes: Changes = None, name: Name = None, as_json: AsJson = False) -> None:
    """Queue a new run with another's settings, some of them changed.

    Example:
      ganboard clone latest --set precision=mixed_bfloat16 --name "the same in bfloat16"
    """
    from gan.config import parse_assignments
    from worker import submit

    values = parse_assignments(changes or [])
    context, found = _find(run_id)
    cloned = submit.clone(context, found.id, values, name=name)
    answer.changed(context, cloned.id, f"Queued run {cloned.id}: {cloned.name}{answer.waiting(context, cloned)}", as_json)


@app.command()
def delete(run_id: RunId, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False, as_json: AsJson = False) -> None:
    """Delete a run with its log, images and checkpoints, for good.

    Example:
      ganboard delete k7m --yes
    """
    from worker import submit
    from worker.console import clean

    context, found = _find(run_id)
    what = f"run {found.id} ({clean(found.name)}) with {found.epoch} finished epoch{'s' * (found.epoch != 1)}"
    if not yes:
        if as_json or not sys.stdin.isatty():
            answer.complain(f"deleting {what} cannot be undone: say --yes.")
            raise typer.Exit(1)
        if not typer.confirm(f"Delete {what}, its log, images and checkpoints?", err=True):
            answer.complain("nothing was deleted.")
            raise typer.Exit(1)
    submit.delete(context, found.id)
    if as_json:
        answer.print_json({"id": found.id, "name": found.name, "deleted": True})
    else:
        typer.echo(f"Deleted {what}.")


@app.command()
def export(
    run_id: RunId, directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty directory.")], as_json: AsJson = False
) -> None:
    """Write a run as files: run.json, epochs.csv, steps.csv, quality.csv, events.csv, grids/*.png and train.log.

    Example:
      ganboard export latest results/baseline
    """
    from worker import export as exporter

    context, found = _find(run_id)
    files = [(str(path.relative_to(directory)), path.stat().st_size) for path in exporter.export(context, found, directory)]
    if as_json:
        return answer.print_json(
            {"id": found.id, "directory": str(directory.resolve()), "files": [{"path": p, "bytes": b} for p, b in files]}
        )
    grids = [size for path, size in files if path.startswith("grids")]
    shown = [(path, size) for path, size in files if not path.startswith("grids")]
    if grids:
        shown.append((f"grids/ ({len(grids)} images)", sum(grids)))
    typer.echo("\n".join([f"Exported run {found.id} to {directory}", *(f"{size:>12,} bytes  {path}" for path, size in shown)]))
    return None


@app.command()
def worker() -> None:
    """Run one worker in the foreground; GANBOARD_REDIS_URL and GANBOARD_DATABASE_URL say for whom.

    Example:
      GANBOARD_REDIS_URL=redis://queue:6379 GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard worker
    """
    from worker import rq_worker

    raise typer.Exit(rq_worker.main())


@app.command()
def painter() -> None:
    """Run one painter in the foreground: it draws what the playground asks of stored generators. `ganboard up` has one.

    Example:
      GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard painter
    """
    from worker import painter as painting

    painting.main()


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check what this machine has, what is missing and what to do; the exit code is 1 when something must be mended.

    Example:
      ganboard doctor --json
    """
    from dataclasses import asdict

    from db.settings import Settings
    from worker import doctor as examination
    from worker.console import print_check

    found = []
    for check in examination.checks(Settings()):
        found.append(check)
        if not as_json:
            print_check(check)
    well = all(check.status != "fail" for check in found)
    if as_json:
        answer.print_json({"ok": well, "checks": [asdict(check) for check in found]})
    raise typer.Exit(0 if well else 1)


app.command(context_settings=cli_marks.UNSIGNED)(cli_marks.tag)
app.command()(cli_marks.note)
app.command()(cli_marks.archive)
app.command()(cli_marks.restore)
app.command()(cli_sweep.sweep)
app.command()(cli_proof.bench)
app.command()(cli_proof.selftest)


@database.command()
def upgrade() -> None:
    """Bring the database to this version's schema; every command does so, this one says what it found.

    Example:
      ganboard db upgrade
    """
    from db import migrate

    context = _open()
    where = context.engine.url.render_as_string(hide_password=True)
    typer.echo(f"{where} has schema {migrate.revision(context.engine)}, the newest.")


def _open(*, pooled: bool = False) -> Context:
    from worker.context import open_context

    return open_context(pooled=pooled)


def _find(run_id: str) -> tuple[Context, Run]:
    from db import queries

    context = _open()
    return context, queries.find_run(context.engine, run_id)


def _config(preset: str | None, changes: list[str] | None) -> RunConfig:
    from gan import presets
    from gan.config import parse, parse_assignments

    values = parse_assignments(changes or [])
    return parse(values) if preset is None else presets.load(preset, values)
