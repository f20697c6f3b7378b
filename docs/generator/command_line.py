"""The reference of the command line, from the commands of `ganboard` as Typer knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer
from typer.core import TyperCommand, TyperGroup

from docs.generator.markdown import code, table, text
from ganboard.worker.cli.main import app

HEAD = """# Command line

`ganboard COMMAND --help` prints the same. Errors are one line on stderr, with an exit code that is
not 0. `--json` prints one JSON document on stdout and nothing else there. `RUN` is the id of a run,
a beginning of one, or `latest`.

"""
INDENTED = re.compile(r"^ {2,}")


def page() -> str:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return HEAD + "".join(_commands(group, typer.Context(group, info_name="ganboard")))


def _commands(group: TyperGroup, context: typer.Context) -> Iterator[str]:
    """A section per command that is not hidden, sub-commands after their group."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert isinstance(command, TyperCommand | TyperGroup)
        if command.hidden:
            continue
        below = typer.Context(command, info_name=name, parent=context)
        yield _section(command, below)
        if isinstance(command, TyperGroup):
            yield from _commands(command, below)


def _section(command: TyperCommand | TyperGroup, context: typer.Context) -> str:
    path = context.command_path
    usage = " ".join((path, *command.collect_usage_pieces(context)))
    parts = [f"## {path}\n\n", f"```text\n{usage}\n```\n\n", described(command.help or "")]
    for kind in ("argument", "option"):
        records = [
            parameter.get_help_record(context)
            for parameter in command.get_params(context)
            if parameter.param_type_name == kind and "--help" not in parameter.opts
        ]
        rows = [(code(record[0]), text(record[1])) for record in records if record]
        if rows:
            parts.append(table((kind, "meaning"), rows))
    return "".join(parts)


def described(help_text: str) -> str:
    """The help of a command as Markdown: its indented lines, such as examples, become code."""
    blocks: list[tuple[bool, list[str]]] = []
    for line in help_text.splitlines():
        is_code = bool(INDENTED.match(line))
        if not blocks or blocks[-1][0] != is_code:
            blocks.append((is_code, []))
        blocks[-1][1].append(line)
    parts = []
    for is_code, lines in blocks:
        if is_code:
            joined = "\n".join(line.removeprefix("  ") for line in lines)
            parts.append(f"```text\n{joined}\n```")
        else:
            parts.append("\n".join(map(text, lines)).strip())
    return "".join(f"{part}\n\n" for part in parts if part)
