"""What a shell would run for a block of commands: bash reads it, and records each program instead
of starting it. Quotes, variables, `;`, pipes and here-documents mean what they mean in a terminal.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# bash calls this where no program is found, and PATH is empty
RECORDER = r"""
command_not_found_handle() {
  local name input=
  # first: in a pipe it ends when the program before has been recorded
  [[ -p /dev/stdin || -f /dev/stdin ]] && input=$(</dev/stdin)
  exec 8>&1
  { for name in $(compgen -e); do
      [[ $name == GANBOARD_* || $name == AWS_* ]] && printf '%s\0' "$name=${!name}"
    done
    printf '%s\0' -- "$@" END "$(/bin/readlink /proc/self/fd/8)" "$input"
  } >&9
}
date() { /bin/date "$@"; }
# folders and environments that earlier commands would have made
cd() { :; }
.() { :; }
set -o pipefail
PATH=/nowhere
"""


@dataclass(frozen=True)
class Call:
    """A program with its arguments, the variables that it is called with, its input, and the file
    that its output goes to."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    given: str
    output: Path | None


def calls(text: str, folder: Path, home: Path) -> list[Call]:
    """The programs that a shell would start for `text` in `folder`, in this order."""
    record = folder / ".calls"
    done = subprocess.run(
        ["bash", "--norc", "-c", f"exec 9>'{record}'\n{RECORDER}\n{text}"],
        cwd=folder,
        env={"HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, f"bash does not understand\n{text}\n{done.stderr}"
    fields = os.fsdecode(record.read_bytes()).split("\0")[:-1]
    found = []
    while fields:
        begin, end = fields.index("--"), fields.index("END")
        variables = dict(field.split("=", 1) for field in fields[:begin])
        output, given = fields[end + 1 : end + 3]
        file = Path(output) if output.startswith(str(folder)) else None
        found.append(Call(tuple(fields[begin + 1 : end]), variables, given, file))
        fields = fields[end + 3 :]
    return found
