"""The commands of stored claims: `ganboard claims`. Thin, as those of `worker.cli.main`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, Yes, open_database

if TYPE_CHECKING:
    from ganboard.db.models import StatedClaim
    from ganboard.worker.claims.verdict import Result

claims_app = typer.Typer(invoke_without_command=True)
ClaimId = Annotated[
    str, typer.Argument(metavar="CLAIM", help="Claim id, a prefix of one, or `latest`.")
]


@claims_app.callback()
def claims(context: typer.Context, as_json: AsJson = False) -> None:
    """Show claims about two configurations and what pairs of runs say about them. Without a
    command, list all, newest first (docs/claims.md).

    Examples:
      ganboard claims
      ganboard claims show latest
      ganboard claims export latest claim.html
    """
    if context.invoked_subcommand is not None:
        return None
    from ganboard.db.claims import records

    found = records.listed(open_database().engine)
    if as_json:
        return output.print_json([_summary(one) for one in found])
    if not found:
        return typer.echo("There is no claim yet. State one: ganboard claim --help")
    for one in found:
        typer.echo(
            f"{one.id}  {one.created_at:%Y-%m-%d %H:%M}  {one.status:<10}"
            f" {len(one.evidence):>3} of {one.pairs} pairs  {one.statement}"
        )
    return None


@claims_app.command()
def show(claim: ClaimId, as_json: AsJson = False) -> None:
    """Show a claim: verdict, estimates with their intervals, pairs, caveats, and the command that
    repeats it.

    Example:
      ganboard claims show latest
    """
    from ganboard.db import heartbeats
    from ganboard.db.claims import records
    from ganboard.worker.claims import stating, verdict

    engine = open_database().engine
    result = verdict.of(records.find(engine, claim))
    if as_json:
        return output.print_json(_document(result))
    typer.echo(f"{result.claim.id}  {stating.title(result.claim)}: {result.claim.statement}")
    typer.echo(result.headline)
    for found in result.found:
        typer.echo(f"  {found.sentence}")
    if not result.table.empty:
        typer.echo(result.table.to_string(index=False, float_format="{:.5g}".format))
    for caveat in result.caveats:
        typer.echo(f"- {caveat}")
    typer.echo(stating.command(result.claim))
    working = any(one.alive for one in heartbeats.claim_runners(engine))
    if result.claim.status == records.OPEN and not working:
        output.complain(stating.NO_RUNNER)
    return None


@claims_app.command()
def stop(claim: ClaimId, as_json: AsJson = False) -> None:
    """End an open claim without a verdict and stop its runs.

    Example:
      ganboard claims stop latest
    """
    from ganboard.db.claims import records
    from ganboard.worker.claims import stopping

    context = open_database()
    found = records.find(context.engine, claim)
    stopping.stop(context, found)
    if as_json:
        return output.print_json({"id": found.id, "status": "stopped"})
    return typer.echo(f"Stopped claim {found.id} without a verdict.")


@claims_app.command()
def remove(claim: ClaimId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a claim that has ended, with its evidence; its runs stay.

    Example:
      ganboard claims remove k7m --yes
    """
    from ganboard.db.claims import records

    context = open_database()
    found = records.find(context.engine, claim)
    what = f"claim {found.id} ({found.statement})"
    output.confirm(
        f"Delete {what} with its evidence?",
        f"deleting {what} cannot be undone. Confirm with --yes.",
        yes=yes,
        as_json=as_json,
    )
    records.remove(context.engine, found.id)
    if as_json:
        return output.print_json({"id": found.id, "removed": True})
    return typer.echo(f"Deleted {what}. Its runs stay: ganboard runs --search sweep:{found.id}")


@claims_app.command()
def export(
    claim: ClaimId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="HTML file to write.")],
) -> None:
    """Write a claim as one HTML file that needs nothing else: verdict, chart, data, machine,
    settings, and the command that repeats it.

    Example:
      ganboard claims export latest claim.html
    """
    from ganboard.db.claims import records
    from ganboard.worker.claims import report, verdict

    context = open_database()
    typer.echo(report.write(verdict.of(records.find(context.engine, claim)), file))


@claims_app.command()
def work() -> None:
    """Run one process of claims in the foreground: it submits their runs and gives verdicts.
    `ganboard up` has one as soon as a claim is open.

    Example:
      GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard claims work
    """
    from ganboard.worker.claims import runner

    raise typer.Exit(runner.main())


def _summary(claim: StatedClaim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "statement": claim.statement,
        "status": claim.status,
        "reasons": claim.reasons,
        "pairs": len(claim.evidence),
        "budget_pairs": claim.pairs,
        "created_at": claim.created_at,
        "ended_at": claim.ended_at,
    }


def _document(result: Result) -> dict[str, Any]:
    from ganboard.worker.claims import report

    return {**_summary(result.claim), **report.document(result)}
