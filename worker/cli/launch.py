"""The commands that start training: `ganboard run`, `train`, `resume`, `clone`. Thin, as
`worker.cli.main`."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import (
    AsJson,
    Changes,
    ListSettings,
    Name,
    Preset,
    RunId,
    find,
    open_database,
)

if TYPE_CHECKING:
    from ganboard.gan.config import RunConfig


def run(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Show progress until the run ends; Ctrl-C leaves it running."
        ),
    ] = False,
    priority: Annotated[
        int,
        typer.Option(min=-100, max=100, help="Runs with higher numbers start first (usual: 0)."),
    ] = 0,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Queue a run; a worker trains it.

    With --follow the exit code is 0 for finished, 1 for failed, 3 for stopped, and 130 after
    Ctrl-C.

    Examples:
      ganboard run --preset starter --follow
      ganboard run --preset paper --set batch_size=256 --set xla=true
      ganboard run --preset paper --set "needs=gpu_memory>=24, lab3" --priority 5
      ganboard run --settings
    """
    if settings:
        return output.print_settings(as_json)
    config = _config(preset, changes)
    from ganboard.worker.submission.submit import submit

    context = open_database(create=True)
    submitted = submit(context, config, name=name, preset=preset or "", priority=priority)
    waiting = output.waiting(context, submitted)
    if follow:
        return output.follow(context, submitted, as_json)
    said = (
        f"Queued run {submitted.id}: {submitted.name}{waiting}\nSee it: ganboard show"
        f" {submitted.id}"
    )
    return output.changed(context, submitted.id, said, as_json)


def train(
    preset: Preset = None,
    changes: Changes = None,
    name: Name = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="Accepted for compatibility with `run`; train always shows progress."
        ),
    ] = False,
    settings: ListSettings = False,
    as_json: AsJson = False,
) -> None:
    """Train a run in this process (with strategy=multi_worker in several): no Redis, no worker.
    Ctrl-C saves and stops it.

    Exit code: 0 for finished, 1 for failed, 3 for stopped. A stopped run can be resumed with
    `ganboard resume`.

    Example:
      ganboard train --preset tiny --set precision=mixed_bfloat16
    """
    if settings:
        return output.print_settings(as_json)
    config = _config(preset, changes)
    from ganboard.db.runs import queries
    from ganboard.gan.config import ConfigError
    from ganboard.worker.queue.job import train_here
    from ganboard.worker.submission.submit import submit
    from ganboard.worker.terminal.run_progress import EventFeed
    from ganboard.worker.terminal.run_view import make_view
    from ganboard.worker.training.trainer import train_in_process

    if config.hosts > 1 or config.placement != "workers":
        raise ConfigError(
            f"`ganboard train` trains on this machine, and the run asks for hosts={config.hosts},"
            f" placement={config.placement}: use `ganboard run`."
        )
    context = open_database(pooled=True, create=True)
    submitted = submit(context, config, name=name, preset=preset or "", here=True)
    # libraries that report on stdout must not mix with the document
    with (
        make_view(quiet=as_json) as view,
        contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext(),
    ):
        view.say(f"Run {submitted.id}: {submitted.name}")
        if config.effective_strategy == "multi_worker":
            train_here(context, submitted.id, view)
        else:
            train_in_process(context, submitted.id, on_event=EventFeed(config, view))
    return output.report(context, queries.find_run(context.engine, submitted.id), as_json)


def resume(
    run_id: RunId,
    without: Annotated[
        str | None,
        typer.Option(
            "--without",
            metavar="MACHINE",
            help="Give up the checkpoints on this machine, because it is lost.",
        ),
    ] = None,
    with_new_code: Annotated[
        bool,
        typer.Option(
            "--with-new-code",
            help="Start a new run with the same settings, because the source of its model changed.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Queue a stopped or failed run again; it resumes from its latest checkpoint.

    Example:
      ganboard resume k7m
    """
    from ganboard.worker.submission import submit

    context, found = find(run_id)
    if with_new_code:
        queued = submit.clone(context, found.id, {})
        said = f"Run {queued.id} is queued with the settings of {found.id} and today's code."
    else:
        queued = submit.resume(context, found.id, without)
        said = f"Run {queued.id} is queued again."
    output.changed(context, queued.id, said + output.waiting(context, queued), as_json)


def clone(
    run_id: RunId, changes: Changes = None, name: Name = None, as_json: AsJson = False
) -> None:
    """Queue a new run with the settings of another, optionally changed.

    Example:
      ganboard clone latest --set precision=mixed_bfloat16 --name "the same in bfloat16"
    """
    from ganboard.gan.config import parse_assignments
    from ganboard.worker.submission import submit

    values = parse_assignments(changes or [])
    context, found = find(run_id)
    cloned = submit.clone(context, found.id, values, name=name)
    output.changed(
        context,
        cloned.id,
        f"Queued run {cloned.id}: {cloned.name}{output.waiting(context, cloned)}",
        as_json,
    )


def fork(
    run_id: RunId,
    step: Annotated[
        int | None,
        typer.Option("--step", min=0, help="Step of the checkpoint; defaults to the latest."),
    ] = None,
    changes: Changes = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Queue a new run that continues another from one of its checkpoints, with settings changed. It
    has the epochs, images and evaluations of that run until there.

    Examples:
      ganboard fork latest --set d_learning_rate=5e-5 --set epochs=40
      ganboard fork 7k3 --step 4680 --set loss=hinge --name "hinge from epoch 5"
    """
    from ganboard.gan.config import parse_assignments
    from ganboard.worker.submission import forking

    values = parse_assignments(changes or [])
    context, found = find(run_id)
    forked = forking.fork(context, found.id, values, step=step, name=name)
    output.changed(
        context,
        forked.id,
        f"Queued run {forked.id}: {forked.name}{output.waiting(context, forked)}",
        as_json,
    )


def _config(preset: str | None, changes: list[str] | None) -> RunConfig:
    from ganboard.gan import presets
    from ganboard.gan.config import parse, parse_assignments

    values = parse_assignments(changes or [])
    return parse(values) if preset is None else presets.load(preset, values)
