"""The command that states a claim: `ganboard claim`. Thin, as those of `worker.cli.main`."""

from __future__ import annotations

from typing import Annotated

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, DryRun, Preset, open_database


def claim(
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="CLAIM",
            help="What the treatment is claimed to be, relative to the control (docs/claims.md).",
        ),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against", metavar="KEY=VALUE", help="What the control has instead; can be repeated."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Setting of the treatment, and of the control unless --against has it.",
        ),
    ] = None,
    preset: Preset = None,
    pairs: Annotated[
        int, typer.Option("--pairs", metavar="N", help="Number of pairs of runs, at most 100.")
    ] = 10,
    hours: Annotated[
        float | None,
        typer.Option("--hours", metavar="H", help="Hours after which no further pair starts."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the first pair; others count up.")
    ] = 0,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence of the intervals.")
    ] = 0.95,
    power: Annotated[
        float, typer.Option("--power", help="Power for which the number of pairs is planned.")
    ] = 0.8,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """State a claim and have it tested: pairs of runs with equal seeds, one after another, until
    the interval decides or the budget ends. `ganboard up` must be running; `ganboard claims` shows
    what was found.

    Example:
      ganboard claim "at least 1.3x as fast at equal fid (margin 0.5)" --preset tiny \\
        --set precision=mixed_bfloat16 --against precision=float32 --pairs 8
    """
    from ganboard.db.claims import records
    from ganboard.worker.claims import stating

    asked = stating.Asked(
        sentence, against or (), changes or (), preset or "", pairs, hours, confidence, power, seed
    )
    context = open_database(create=True)
    prepared = stating.prepare(context, asked)
    stored = prepared.claim if dry_run else records.store(context.engine, prepared.claim)
    if as_json:
        return output.print_json(
            {
                "id": None if dry_run else stored.id,
                "statement": stored.statement,
                "runs": len(prepared.members),
                "cost": prepared.cost,
                "evaluation": prepared.evaluation,
            }
        )
    typer.echo(f"{stating.title(stored)}: {stored.statement}")
    typer.echo(prepared.cost)
    typer.echo(prepared.evaluation)
    if dry_run:
        return typer.echo("Nothing was stored. Omit --dry-run to test it.")
    return typer.echo(f"Claim {stored.id} is open. See it: ganboard claims show {stored.id}")
