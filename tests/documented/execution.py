"""Executes documented commands: those of ganboard in this process where they are quick, and in one
of their own where they load TensorFlow or run until they are ended."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer import testing
from typer.main import get_command

from ganboard.gan.settings import registry
from ganboard.worker.cli.main import app
from tests.documented import programs, shell, table
from tests.documented.blocks import Block
from tests.documented.home import Prepared, Words
from tests.documented.shell import Call

COMMAND: Any = get_command(app)  # made once: it takes a tenth of a second


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it the working directory, and its `.ganboard` the state directory."""
    for name in [name for name in os.environ if name.startswith("GANBOARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GANBOARD_ALERT_PLAIN_HOSTS", "127.0.0.1")
    monkeypatch.setenv("GANBOARD_DATA_DIR", str(folder / ".ganboard" / "data"))
    monkeypatch.chdir(folder)


def called(block: Block, prepared: Prepared) -> list[Call]:
    """The programs that the block calls, as documented except for placeholders of its text."""
    text = block.text
    for placeholder, real in table.PLACEHOLDERS.items():
        text = text.replace(placeholder, real)
    return shell.calls(text, prepared.folder, prepared.folder / "user")


def fitting(rules: Collection[str], words: Sequence[str]) -> str | None:
    """The longest of `rules` that the command begins with."""
    text = f"{shlex.join(words)} "
    # a rule that ends in the middle of a word leaves the rest of it open
    fits = [rule for rule in rules if text.startswith(rule if rule[-1:] in "=./-" else f"{rule} ")]
    return max(fits, key=len, default=None)


def real(words: Sequence[str], ids: Words) -> list[str]:
    """The command with its placeholders replaced, and changed as the table says."""
    known = dict(table.WORDS)
    for rule in sorted([*ids, *table.WORDS_OF], key=len):
        if not rule or fitting([rule], words):
            known |= {**table.WORDS_OF.get(rule, {}), **ids.get(rule, {})}
    pattern = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, known))})(?![\w.-])")
    found = [pattern.sub(lambda match: known[match[1]], word) for word in words[1:]]
    if rule := fitting(table.CHANGED, words):
        changed = table.CHANGED[rule]
        found = [*(word for word in found if word not in changed.without), *changed.plus]
    matched = (sorted(glob.glob(word)) or [word] for word in found)
    return [words[0], *(word for some in matched for word in some)]


def check(words: Sequence[str]) -> None:
    """The program has the options and arguments of this call."""
    if words[0] in programs.CHECKS:
        words = programs.CHECKS[words[0]](words) or ()
    if words[:1] != ("ganboard",) or names_only(words):
        return
    command, rest = COMMAND, list(words[1:])
    try:
        context = command.make_context("ganboard", rest)
        while hasattr(command, "resolve_command"):
            rest = [*context._protected_args, *context.args]
            if not rest and command.invoke_without_command:
                return
            name, command, rest = command.resolve_command(context, rest)
            context = command.make_context(name, rest, parent=context)
    except typer.Exit:  # --version
        return


def names_only(words: Sequence[str]) -> bool:
    """Whether a command is only named, as in "`ganboard models publish` needs ..."."""
    command = COMMAND
    for word in words[1:]:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return False
    return True


def run_here(call: Call, prepared: Prepared) -> None:
    """Run a command of ganboard in this process; it must succeed."""
    words = real(call.words, prepared.words)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in call.variables.items():
            patched.setenv(name, value)
        if "GANBOARD_MODELS" in call.variables:
            _forget_models()
        patched.setattr(testing, "_get_command", lambda _: COMMAND)
        result = testing.CliRunner().invoke(
            app, words[1:], input=call.given, catch_exceptions=False
        )
    if "GANBOARD_MODELS" in call.variables:
        _forget_models()
    assert result.exit_code == 0, f"{shlex.join(words)}\n{result.output}"


def _forget_models() -> None:
    for cached in (registry._found, registry.declared, registry.datasets):
        cached.cache_clear()
