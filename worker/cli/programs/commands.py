"""The commands for programs and assistants: `ganboard token`, `ganboard mcp`. Thin, as those of
`worker.cli.main`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, open_database

if TYPE_CHECKING:
    from ganboard.db.models import ApiToken

token_app = typer.Typer(no_args_is_help=True, help="Tokens for the REST API (docs/api.md).")


@token_app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")],
    scope: Annotated[
        str, typer.Option("--scope", help="read, or write: launch, change and delete as well.")
    ] = "read",
    days: Annotated[int, typer.Option("--days", help="Valid for so many days, at most 366.")] = 90,
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="EMAIL",
            help="Whose token it is; with sign-in a person who may sign in, by default this"
            " account.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it. It is not stored and not shown again.

    Examples:
      ganboard token create nightly
      ganboard token create launcher --scope write --days 30 --owner olga@lab.example
    """
    from ganboard.worker.api.granting import grant

    context = open_database(create=True)
    whose = context.user if owner is None else owner
    token, text = grant(context, name=name, owner=whose, scope=scope, days=days)
    if as_json:
        return output.print_json(_document(token) | {"token": text})
    said = (
        f"Token {token.id} of {token.owner}, scope {token.scope}, valid until"
        f" {token.expires_at:%Y-%m-%d}. Keep it: it is not shown again."
    )
    typer.echo(said, err=True)
    return typer.echo(text)


@token_app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the valid tokens, without their text.

    Example:
      ganboard token list --json
    """
    from ganboard.db.access import tokens

    found = tokens.listed(open_database().engine)
    if as_json:
        return output.print_json([_document(token) for token in found])
    from ganboard.worker.terminal.tokens import print_tokens

    return print_tokens(found)


@token_app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token.")],
    as_json: AsJson = False,
) -> None:
    """End a token at once.

    Example:
      ganboard token revoke k7m2abcdef
    """
    from ganboard.db.access import tokens

    context = open_database()
    token = tokens.revoke(context.engine, token_id=token_id, who=context.user)
    if as_json:
        return output.print_json(_document(token))
    return typer.echo(f"Token {token.id} is revoked.")


def mcp(
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="A dashboard elsewhere, with the token of GANBOARD_API_TOKEN; by default this"
            " installation's database.",
        ),
    ] = None,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes",
            help="Let the assistant launch, stop, tag, evaluate and register; it never deletes.",
        ),
    ] = False,
) -> None:
    """Let an assistant that speaks the Model Context Protocol read runs: rankings, comparisons,
    explanations, images. It talks on standard input and output (docs/api.md).

    Examples:
      ganboard mcp
      ganboard mcp --allow-changes
      ganboard mcp --url https://ganboard.example.org
    """
    from importlib.util import find_spec

    from ganboard.db.settings import Settings, SettingsError

    if find_spec("mcp") is None:
        raise SettingsError("The MCP SDK is not installed. Run `pip install 'ganboard[mcp]'`.")
    from ganboard.worker.assistant import api_client, server

    if url is None:
        client = api_client.here(open_database(pooled=True), "write" if allow_changes else "read")
    else:
        client = api_client.elsewhere(url, Settings().api_token)
    server.serve(client, changes=allow_changes)


def _document(token: ApiToken) -> dict[str, Any]:
    return token.model_dump(exclude={"digest"})
