"""The commands of alerts: `ganboard alerts`. Thin, as those of `worker.cli.main`, which lists
them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ganboard.worker.cli import output
from ganboard.worker.cli.options import AsJson, open_database

if TYPE_CHECKING:
    from ganboard.worker.context import Context

alerts_app = typer.Typer(invoke_without_command=True)
LISTED = 10  # deliveries

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name or id of a channel.")]
Which = Annotated[
    str, typer.Argument(metavar="CHANNEL-OR-RULE", help="Name or id of a channel, or id of a rule.")
]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="FILE",
        help="File with the webhook's address or the mail password; standard input by default.",
    ),
]


@alerts_app.callback()
def alerts(context: typer.Context, as_json: AsJson = False) -> None:
    """Send alerts about runs to Slack, Teams, Discord, a webhook or by mail. Without a command,
    list channels, rules and the latest deliveries (docs/alerts.md).

    Examples:
      ganboard alerts
      ganboard alerts add-channel lab --kind slack < address
      ganboard alerts add-rule lab --event failed
    """
    if context.invoked_subcommand is not None:
        return
    from ganboard.worker.alerts import listing

    found = listing.document(open_database().engine, limit=LISTED)
    if as_json:
        output.print_json(found)
    else:
        typer.echo(listing.text(found))


@alerts_app.command("add-channel")
def add_channel(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the channel.")],
    kind: Annotated[
        str, typer.Option("--kind", help="slack, teams, discord, webhook (plain JSON) or email.")
    ],
    secret_file: SecretFile = None,
    host: Annotated[str, typer.Option("--host", help="Mail server.")] = "",
    port: Annotated[
        int | None, typer.Option("--port", help="Its port; by default 587, 465 with tls.")
    ] = None,
    security: Annotated[
        str, typer.Option("--security", help="Encryption of mail: starttls, tls or none.")
    ] = "starttls",
    user: Annotated[
        str, typer.Option("--user", help="User at the mail server; then a password is read.")
    ] = "",
    sender: Annotated[str, typer.Option("--from", help="Sender's e-mail address.")] = "",
    recipients: Annotated[
        list[str] | None, typer.Option("--to", help="Recipient; can be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a channel. The webhook's address, or the password of the mail server, is read from
    standard input or a file, never from the command line, and is not shown again.

    Examples:
      ganboard alerts add-channel lab --kind slack --secret-file slack-address
      ganboard alerts add-channel me --kind email --host mail.example.org --user lab \\
        --from lab@example.org --to me@example.org --secret-file mail-password
    """
    from ganboard.worker.alerts import configuration, listing
    from ganboard.worker.alerts.addresses import Mail

    mail = None
    if kind == "email":
        mail = Mail(host, sender, tuple(recipients or ()), port, security, user)
    needed = kind != "email" or bool(user)
    secret = _secret(secret_file) if needed else ""
    channel = configuration.add_channel(
        open_database(), name=name, kind=kind, secret=secret, mail=mail
    )
    if as_json:
        return output.print_json(listing.channel(channel))
    return typer.echo(
        f"Added channel {channel.name} ({channel.masked}). Test it: ganboard alerts test"
        f" {channel.id}"
    )


@alerts_app.command("add-rule")
def add_rule(
    channel: Channel,
    event: Annotated[
        str,
        typer.Option(
            "--event",
            metavar="EVENT",
            help="failed, finished, nan, collapse, metric or no_progress.",
        ),
    ],
    condition: Annotated[
        str, typer.Option("--condition", help="Of metric: a search, such as 'fid<5'.")
    ] = "",
    minutes: Annotated[
        int | None, typer.Option("--minutes", help="Of no_progress; 30 by default.")
    ] = None,
    search: Annotated[
        str, typer.Option("--search", help="Only runs that this search finds; all by default.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Send alerts to a channel about what happens to runs from now on.

    Examples:
      ganboard alerts add-rule lab --event failed
      ganboard alerts add-rule lab --event metric --condition "fid<5" --search "tag:paper"
      ganboard alerts add-rule lab --event no_progress --minutes 20
    """
    from ganboard.db.alerts import channels
    from ganboard.worker.alerts import configuration, listing

    context = open_database()
    found = channels.find(context.engine, channel)
    rule = configuration.add_rule(
        context, found, event=event, condition=condition, minutes=minutes, sought=search
    )
    if as_json:
        return output.print_json(listing.rule(rule, found.name))
    return typer.echo(f"Added rule {rule.id}: {listing.sentence(rule)}, to {found.name}.")


@alerts_app.command("test")
def send_test(channel: Channel, as_json: AsJson = False) -> None:
    """Send a test message now; exits with 1 if it does not arrive.

    Example:
      ganboard alerts test lab
    """
    from ganboard.db.alerts import channels
    from ganboard.worker.alerts import sending

    context = open_database()
    found = channels.find(context.engine, channel)
    error = sending.send_test(context, found)
    if as_json:
        output.print_json({"channel": found.name, "sent": error is None, "error": error})
    elif error:
        output.complain(f"{found.name}: {error}")
    else:
        typer.echo(f"Sent a test message to {found.name} ({found.masked}).")
    raise typer.Exit(1 if error else 0)


@alerts_app.command("on")
def switch_on(which: Which, as_json: AsJson = False) -> None:
    """Switch a channel or a rule on; what happened while it was off is not sent.

    Example:
      ganboard alerts on lab
    """
    _switch(which, as_json, on=True)


@alerts_app.command("off")
def switch_off(which: Which, as_json: AsJson = False) -> None:
    """Switch a channel or a rule off; what waits is cancelled.

    Example:
      ganboard alerts off lab
    """
    _switch(which, as_json, on=False)


@alerts_app.command()
def remove(which: Which, as_json: AsJson = False) -> None:
    """Remove a rule, or a channel with its rules and its secret.

    Example:
      ganboard alerts remove lab
    """
    from ganboard.db.alerts import channels, rules

    context = open_database()
    kind, found_id, name = _found(context, which)
    (channels if kind == "channel" else rules).remove(context.engine, found_id)
    _say(as_json, {"id": found_id, "removed": True}, f"Removed {kind} {name}.")


@alerts_app.command()
def send() -> None:
    """Send alerts in the foreground until Ctrl-C. `ganboard up` does so itself once there is a
    channel.

    Example:
      GANBOARD_DATABASE_URL=postgresql://me@db/ganboard ganboard alerts send
    """
    from ganboard.worker.alerts import sender

    raise typer.Exit(sender.main())


def _switch(which: str, as_json: bool, *, on: bool) -> None:
    from ganboard.db.alerts import channels, rules

    context = open_database()
    kind, found_id, name = _found(context, which)
    (channels if kind == "channel" else rules).switch(context.engine, found_id, on=on)
    word = "on" if on else "off"
    _say(as_json, {"id": found_id, "enabled": on}, f"Switched {kind} {name} {word}.")


def _found(context: Context, which: str) -> tuple[str, str, str]:
    """Kind, id and name of what is meant. Raises UnknownAlert."""
    from ganboard.db.alerts import channels, rules
    from ganboard.db.errors import UnknownAlert

    try:
        channel = channels.find(context.engine, which)
    except UnknownAlert:
        rule = rules.find(context.engine, which)
        return "rule", rule.id, rule.id
    return "channel", channel.id, channel.name


def _secret(file: Path | None) -> str:
    """From a file, from a prompt that shows nothing, or from standard input. Raises BadAlert."""
    import sys

    from ganboard.db.errors import BadAlert

    try:
        if file is not None:
            text = file.expanduser().read_text(encoding="utf-8")
        elif sys.stdin.isatty():
            text = str(typer.prompt("Address or password", hide_input=True, err=True))
        else:
            text = sys.stdin.read()
    except OSError as error:
        raise BadAlert(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadAlert(f"{file or 'Standard input'} is not text in UTF-8.") from None
    return text.strip()


def _say(as_json: bool, document: dict[str, Any], words: str) -> None:
    if as_json:
        output.print_json(document)
    else:
        typer.echo(words)
