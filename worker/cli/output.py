"""What a command says at its end: one JSON document, words, or one line about an error; and its
exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from ganboard.db.models import Run
    from ganboard.worker.context import Context

EXIT_CODES = {"finished": 0, "failed": 1, "stopped": 3, "suspended": 3}
INTERRUPTED = 130
SENTENCE_LENGTH = 1000


class Commands(TyperGroup):
    """Turns foreseeable errors into one line on stderr and exit code 1; only defects keep their
    traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.Abort, KeyboardInterrupt):
            complain("interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            sentence = _sentence(error)
            if sentence is None:
                raise
            complain(sentence)
            raise typer.Exit(1) from None


def complain(sentence: str) -> None:
    from ganboard.worker.formatting import clean

    line = clean(" ".join(sentence.split()))
    typer.echo(
        f"ganboard: {line if len(line) <= SENTENCE_LENGTH else line[:SENTENCE_LENGTH] + ' ...'}",
        err=True,
    )


def confirm(question: str, remedy: str, *, yes: bool, as_json: bool) -> None:
    """Ask before something is deleted for good, unless `yes`; exits with 1 and `remedy` where
    nobody can be asked."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        complain(remedy)
        raise typer.Exit(1)
    if not typer.confirm(question, err=True):
        complain("nothing was deleted.")
        raise typer.Exit(1)


def print_json(document: Any) -> None:
    from ganboard.worker.interchange.document import encode

    typer.echo(encode(document))


def print_document(context: Context, run: Run) -> None:
    from ganboard.worker.interchange.document import live_document

    print_json(live_document(context, run))


def print_settings(as_json: bool) -> None:
    from ganboard.worker.terminal import settings

    if as_json:
        print_json(settings.settings_document())
    else:
        settings.print_settings()


def waiting(context: Context, run: Run) -> str:
    """What a run that was just queued is waiting for, and remarks on its settings, each on its own
    line; empty if there is nothing to say."""
    from ganboard.gan.config import parse
    from ganboard.gan.devices import capabilities
    from ganboard.worker.errors import QueueUnreachable
    from ganboard.worker.submission.submit import machines
    from ganboard.worker.terminal.run_progress import why_waiting

    if context.settings.redis_url:
        try:
            context.redis().close()
        except QueueUnreachable as error:
            complain(f"{error} Run {run.id} is stored and will start once it does.")
    config = parse(run.config)
    machine = machines(context).able(config)
    remarks = capabilities.remarks(config, machine) if machine else []
    return "".join(f"\n{line}" for line in (why_waiting(context, run), *remarks) if line)


def changed(context: Context, run_id: str, said: str, as_json: bool) -> None:
    """The run as it is now, or the words."""
    if as_json:
        from ganboard.db.runs import queries

        print_document(context, queries.find_run(context.engine, run_id))
    else:
        typer.echo(said)


def follow(context: Context, run: Run, as_json: bool) -> None:
    """Show a run's progress until it has ended; exits by its outcome, or with 130 when the person
    leaves."""
    from ganboard.worker.terminal import run_progress, run_view

    try:
        with run_view.make_view(quiet=as_json) as view:
            view.say(f"Run {run.id}: {run.name}")
            ended = run_progress.follow(context, run.id, view)
    except KeyboardInterrupt:
        typer.echo(
            f"\nLeft run {run.id}: it continues. See it: ganboard show {run.id}   Stop it: ganboard"
            f" stop {run.id}",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    report(context, ended, as_json)


def report(context: Context, run: Run, as_json: bool) -> None:
    """How a run ended, and the exit code that says so."""
    from ganboard.db.runs import queries
    from ganboard.worker.formatting import duration, rate
    from ganboard.worker.terminal.one_run import time_spent

    if as_json:
        print_document(context, run)
    elif run.status != "failed":
        speed = rate(run.images_per_second)
        typer.echo(
            f"Run {run.id} {run.status} after epoch {run.epoch}: {duration(run.seconds)} of"
            f" training at {speed} images/s."
        )
        if spent := time_spent(
            queries.epochs(context.engine, run.id), queries.qualities(context.engine, run.id)
        ):
            typer.echo(f"Time: {spent}.")
    if run.status == "failed":
        complain(f"run {run.id} failed: {run.error} Log: {context.settings.log_path(run.id)}")
    raise typer.Exit(EXIT_CODES[run.status])


def _sentence(error: Exception) -> str | None:
    """What a person should read about a foreseeable error; None for a defect, and for what Typer
    shows itself."""
    if isinstance(error, typer.Exit | typer.TyperException):
        return None
    from sqlalchemy.exc import DBAPIError

    from ganboard.worker.clear_errors import CLEAR_ERRORS

    if isinstance(error, CLEAR_ERRORS):
        return str(error)
    if isinstance(error, DBAPIError):
        return f"The database failed ({error.orig}): see `ganboard doctor`."
    if isinstance(error, UnicodeEncodeError):
        return "The command line is not valid UTF-8."
    return None
