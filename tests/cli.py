"""Ways to drive the command line: in this process, and as a program on a terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from typing import Any

from typer.testing import CliRunner, Result

from ganboard.worker.cli.main import app

# the program on standard input's terminal, which becomes its own, so that a typed Ctrl-C reaches
# it; tests that were started in the background have inherited that Ctrl-C is ignored
PROGRAM = [
    sys.executable,
    "-c",
    (
        "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        " signal.signal(signal.SIGINT, signal.default_int_handler); from ganboard.worker.cli.main"
        " import app; app(prog_name='ganboard')"
    ),
]


def ganboard(*arguments: str, code: int = 0) -> Result:
    """Run one command in this process; a traceback is a failure of the test."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def document(*arguments: str, code: int = 0) -> Any:
    """The one JSON document on stdout; refuses NaN and Infinity, which are not JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(ganboard(*arguments, "--json", code=code).stdout, parse_constant=refuse)


def refused(*arguments: str) -> str:
    """The one line on stderr of a command that fails."""
    result = ganboard(*arguments, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("ganboard: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def on_a_terminal(arguments: list[str], *, after: str = "", typed: bytes = b"") -> tuple[str, int]:
    """Output and exit code of the program on a terminal of its own, where `typed` is typed once
    `after` has appeared."""
    ours, theirs = pty.openpty()
    pressed: int | None = None
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=environment,
    ) as it:
        os.close(theirs)
        output, deadline = b"", time.monotonic() + 90
        while time.monotonic() < deadline:
            readable = select.select([ours], [], [], 0.5)[0]
            try:
                output += os.read(ours, 65536) if readable else b""
            except OSError:  # the program has ended
                break
            # typed again while only its echo is seen: a Ctrl-C that meets input() as it begins to
            # read is lost
            if (
                typed
                and after.encode() in output
                and (pressed is None or not (readable or output[pressed:].strip(b"^C\r\n")))
            ):
                pressed = len(output)
                os.write(ours, typed)
        else:
            it.kill()
    os.close(ours)
    return output.decode(errors="replace"), it.returncode
