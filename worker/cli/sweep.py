"""The command that launches many runs at once: `ganboard sweep`. Thin, as those of
`worker.cli.main`, which lists it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, DryRun, Preset, open_database

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a setting in all runs; can be repeated."
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", metavar="KEY=VALUE,VALUE", help="Setting and its values; can be repeated."
    ),
]


def sweep(
    preset: Preset = None,
    changes: Changes = None,
    vary: Vary = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            min=1,
            max=200,
            help="Number of repetitions of each combination with consecutive seeds.",
        ),
    ] = 1,
    name: Annotated[
        str,
        typer.Option(
            "--name", help="Prefix of the names, up to 40 characters; defaults to the preset."
        ),
    ] = "",
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Skip combinations for which a finished run with the same settings exists.",
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Queue a sweep: every combination of the varied values, with an estimate for each. Runs are
    evaluated after their last epoch unless --set, --vary or the preset says quality_every.

    Combinations that cannot run are listed with their reason and left out. At most 200 runs; they
    are stored all or none.

    Example:
      ganboard sweep --preset starter --vary batch_size=32,64 --vary xla=false,true --dry-run
    """
    from ganboard.gan import presets
    from ganboard.gan.config import ConfigError, parse_assignments
    from ganboard.gan.settings.metadata import defaults
    from ganboard.worker.submission import evaluation
    from ganboard.worker.submission import sweep as grids

    given = parse_assignments(changes or [])
    base = {**(presets.values(preset) if preset is not None else {}), **given}
    varied = grids.repeated(grids.axes(vary or []), base, seeds)
    if not varied:
        raise ConfigError(
            "Nothing to vary. Use `ganboard run` for a single run, or add --vary batch_size=32,64"
            " or --seeds 3."
        )
    title = grids.check_title(name, preset or "", {**defaults(base), **base})
    context = open_database(create=True)
    evaluated = evaluation.of_sweep(context, base, varied)
    grid = grids.examine(context, base, varied, title=title, evaluation=evaluated)
    chosen = [member for member in grid if not member.problem and not (reuse and member.finished)]
    if all(member.problem for member in grid):
        raise ConfigError(f"None of the {len(grid)} combinations can run. {grid[0].problem}")
    launched = (
        grids.launch(context, chosen, preset=preset or "") if chosen and not dry_run else None
    )
    asked: list[str] = []
    if reuse and not dry_run:
        reused = [str(member.finished) for member in grid if member.finished]
        asked = evaluation.evaluate_reused(context, reused, evaluated)
    if as_json:
        return output.print_json(_document(context, grid, chosen, launched, evaluated.sentence))
    _show(grid, chosen, launched, reuse, evaluated.sentence)
    if asked:
        typer.echo(f"Requested the evaluation of reused runs: {', '.join(asked)}.")
    return None


def _document(
    context: Any, grid: list[Any], chosen: list[Any], launched: str | None, evaluation: str
) -> dict[str, Any]:
    from ganboard.db.runs import queries
    from ganboard.worker.submission import sweep as grids

    ids = (
        iter(run.id for run in queries.sweep_runs(context.engine, launched))
        if launched
        else iter(())
    )
    likely, low, high, unknown = grids.totals(chosen)
    return {
        "sweep": launched,
        "count": len(chosen),
        "seconds": likely,
        "seconds_low": low,
        "seconds_high": high,
        "without_estimate": unknown,
        "evaluation": evaluation,
        "runs": [
            {
                "id": next(ids, None) if member in chosen else None,
                "name": member.name,
                "changes": member.changes,
                "steps": member.plan.total_steps if member.plan else None,
                "seconds": member.seconds(),
                "basis": member.estimate.basis if member.estimate else None,
                "finished": member.finished,
                "problem": member.problem,
            }
            for member in grid
        ],
    }


def _show(
    grid: list[Any], chosen: list[Any], launched: str | None, reuse: bool, evaluation: str
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ganboard.worker.formatting import clean, duration
    from ganboard.worker.submission import sweep as grids
    from ganboard.worker.terminal.console import make_console

    table = Table("run", "steps", "time", "remark", box=box.SIMPLE_HEAD, pad_edge=False)
    for member in grid:
        left_out = member.problem or (
            f"skipped: {member.finished} is finished" if reuse and member.finished else ""
        )
        note = left_out or (f"same as finished run {member.finished}" if member.finished else "")
        style = "dim strike" if left_out else ""
        steps = f"{member.plan.total_steps:,}" if member.plan else "-"
        table.add_row(
            Text(clean(member.name), style=style),
            steps,
            duration(member.seconds()),
            Text(clean(note), style="yellow"),
        )
    console = make_console()
    console.print(table)
    likely, low, high, unknown = grids.totals(chosen)
    span = duration(likely) if high < 1.1 * low else f"{duration(low)} to {duration(high)}"
    known = "" if unknown == len(chosen) else f", about {span} in sequence"
    lacking = (
        f", {unknown} of unknown length not counted" if unknown and unknown < len(chosen) else ""
    )
    console.print(f"{len(chosen)} of {len(grid)} combinations to train{known}{lacking}.")
    console.print(evaluation)
    if launched:
        console.print(
            f"Queued as sweep {launched}. See them: ganboard runs --search sweep:{launched}"
        )
    elif chosen:
        console.print("Nothing was stored. Omit --dry-run to launch them.")
