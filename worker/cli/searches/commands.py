"""The commands of searches over settings: `ganboard search`. Thin, as those of `worker.cli.main`,
which lists them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, DryRun, Preset, Yes, open_database

search_app = typer.Typer(
    no_args_is_help=True, help="Search for good settings within a budget of runs (docs/search.md)."
)
SearchId = Annotated[
    str, typer.Argument(metavar="SEARCH", help="Search id, a prefix of one, or `latest`.")
]
Runs = Annotated[int, typer.Option("--runs", help="Number of runs in all, at most 1,000.")]
Hours = Annotated[
    float | None,
    typer.Option("--hours", help="Start no run after so many hours of training in all."),
]


@search_app.command()
def start(
    preset: Preset = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Override a setting in all runs; can be repeated."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=LOW..HIGH|VALUE,VALUE",
            help=(
                "Setting and its range or values; can be repeated. Ranges over more than a factor"
                " of 10 are logarithmic unless they end with :linear; :log says it for others."
            ),
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="Metric of quality; the model's main one by default.")
    ] = "",
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            help="What counts: best (of all evaluations), last, or seconds (until --target).",
        ),
    ] = "best",
    target: Annotated[
        float | None, typer.Option("--target", help="Value to reach, for --objective seconds.")
    ] = None,
    sampler: Annotated[str, typer.Option("--sampler", help="tpe or random.")] = "tpe",
    pruner: Annotated[
        str, typer.Option("--pruner", help="What stops poor runs early: none, median or halving.")
    ] = "none",
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the sampler.")] = 0,
    runs: Runs = 20,
    hours: Hours = None,
    parallel: Annotated[
        int, typer.Option("--parallel", help="Number of runs at the same time, at most 64.")
    ] = 1,
    name: Annotated[
        str,
        typer.Option(
            "--name", help="Prefix of the names, up to 40 characters; defaults to the preset."
        ),
    ] = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Start a search: runs whose settings a sampler chooses by what earlier ones have reached.
    `ganboard up` submits them; without it, `ganboard search drive` does.

    Examples:
      ganboard search start --preset mnist --vary g_learning_rate=1e-5..1e-3 \\
        --vary batch_size=32,64,128 --vary beta_1=0..0.9 --pruner halving --runs 30
      ganboard search start --preset starter --vary ema=0.9..0.9999 --objective seconds --target 2
    """
    from ganboard.gan import presets
    from ganboard.gan.config import model_of, parse_assignments
    from ganboard.gan.settings.metadata import defaults
    from ganboard.worker.searches import definition, space
    from ganboard.worker.searches import objective as objectives

    given = parse_assignments(changes or [])
    base = {**(presets.values(preset) if preset is not None else {}), **given}
    model = model_of({**defaults(base), **base})
    sought = objectives.checked(model, metric or objectives.metrics(model)[0], objective, target)
    plan = definition.plan(
        open_database(create=True),
        base,
        space.axes(vary or []),
        objective=sought,
        sampler=sampler,
        pruner=pruner,
        seed=seed,
        budget=definition.Budget(runs, hours, parallel),
        preset=preset or "",
        name=name,
    )
    context = open_database(create=True)
    started = None if dry_run else definition.start(context, plan)
    if as_json:
        return output.print_json(_plan_document(plan, started.id if started else None))
    for line in definition.sentences(plan):
        typer.echo(line)
    if started is None:
        return typer.echo("Nothing was stored. Omit --dry-run to start it.")
    typer.echo(f"Started search {started.id}. See it: ganboard search show {started.id}")
    return _say_who_submits(context)


@search_app.command("list")
def list_searches(as_json: AsJson = False) -> None:
    """List all searches, the newest first.

    Example:
      ganboard search list
    """
    from ganboard.db.searches import searches
    from ganboard.worker.cli.searches import view
    from ganboard.worker.searches import progress

    context = open_database()
    found = [progress.read(context, one) for one in searches.listed(context.engine)]
    if as_json:
        output.print_json([_without_trials(progress.document(one)) for one in found])
    else:
        view.print_searches(found)


@search_app.command()
def show(search: SearchId, as_json: AsJson = False) -> None:
    """Show how far a search is, its best run and all trials.

    Example:
      ganboard search show latest
    """
    from ganboard.db.searches import searches
    from ganboard.worker.cli.searches import view
    from ganboard.worker.searches import progress
    from ganboard.worker.searches.definition import NO_DRIVER

    context = open_database()
    found = progress.read(context, searches.find(context.engine, search))
    if as_json:
        return output.print_json(progress.document(found))
    view.print_search(found)
    if found.search.state == searches.RUNNING and not _driven(context):
        output.complain(NO_DRIVER)
    return None


@search_app.command()
def stop(
    search: SearchId,
    now: Annotated[
        bool, typer.Option("--now", help="Also stop its runs that have not ended.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a search: no further runs are submitted. Those that train or wait go on, and can still
    be stopped one by one.

    Examples:
      ganboard search stop latest
      ganboard search stop latest --now
    """
    from ganboard.db.searches import searches
    from ganboard.worker.formatting import plural
    from ganboard.worker.searches import definition

    context = open_database()
    found = searches.find(context.engine, search)
    searches.stop(context.engine, found.id)
    stopped = definition.stop_runs(context, found) if now else 0
    if as_json:
        return output.print_json({"id": found.id, "state": searches.STOPPED, "runs": stopped})
    more = f" and {plural(stopped, 'run')}" if now else ""
    return typer.echo(f"Stopped search {found.id}{more}.")


@search_app.command("continue")
def continue_search(
    search: SearchId,
    runs: Annotated[
        int | None, typer.Option("--runs", help="New number of runs in all, at most 1,000.")
    ] = None,
    hours: Hours = None,
    no_hours: Annotated[
        bool, typer.Option("--no-hours", help="Remove the limit of hours.")
    ] = False,
    parallel: Annotated[
        int | None, typer.Option("--parallel", help="New number of runs at the same time.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a search go on, or raise the budget of one that runs.

    Example:
      ganboard search continue latest --runs 60
    """
    from dataclasses import replace

    from ganboard.db.searches import searches
    from ganboard.gan.config import ConfigError
    from ganboard.worker.searches import definition, progress

    if no_hours and hours is not None:
        raise ConfigError("Use --hours or --no-hours, not both.")
    context = open_database()
    found = searches.find(context.engine, search)
    changed: dict[str, Any] = {"runs": runs, "hours": hours, "parallel": parallel}
    given = {name: value for name, value in changed.items() if value is not None}
    if no_hours:
        given["hours"] = None
    budget = replace(definition.Budget.of(found), **given)
    found = definition.resume(context, found, budget)
    if as_json:
        return output.print_json(progress.document(progress.read(context, found)))
    typer.echo(f"Search {found.id} continues to {found.runs:,} runs.")
    return _say_who_submits(context)


@search_app.command()
def remove(search: SearchId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a search that has ended or was stopped, with its trials; its runs stay.

    Example:
      ganboard search remove k7m --yes
    """
    from ganboard.db.searches import searches
    from ganboard.worker.formatting import clean

    context = open_database()
    found = searches.find(context.engine, search)
    what = f"search {found.id} ({clean(found.name)})"
    output.confirm(
        f"Delete {what} with its list of trials?",
        f"deleting {what} cannot be undone. Confirm with --yes.",
        yes=yes,
        as_json=as_json,
    )
    searches.remove(context.engine, found.id)
    if as_json:
        return output.print_json({"id": found.id, "removed": True})
    return typer.echo(f"Deleted {what}. Its runs stay: ganboard runs --search sweep:{found.id}")


@search_app.command()
def drive() -> None:
    """Submit and prune the runs of searches in the foreground until Ctrl-C. `ganboard up` does so
    itself once there is a search.

    Example:
      GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard search drive
    """
    from ganboard.worker.searches import driver

    raise typer.Exit(driver.main())


def _plan_document(plan: Any, started: str | None) -> dict[str, Any]:
    search, total = plan.search, plan.total_seconds
    return {
        "search": started,
        **search.model_dump(include={"name", "preset", "settings", "space", "objective"}),
        **search.model_dump(include={"sampler", "pruner", "seed", "runs", "hours", "parallel"}),
        "evaluation": plan.evaluated,
        "seconds": total and total[0],
        "seconds_low": total and total[1],
        "seconds_high": total and total[2],
        "basis": plan.basis,
        "refused_share": plan.refused_share,
    }


def _without_trials(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "trials"}


def _driven(context: Any) -> bool:
    """Whether a process that submits the runs of searches is alive."""
    from ganboard.db import heartbeats

    return any(one.alive for one in heartbeats.search_drivers(context.engine))


def _say_who_submits(context: Any) -> None:
    if not _driven(context):
        typer.echo("Its runs are submitted by `ganboard up`, or by `ganboard search drive`.")
