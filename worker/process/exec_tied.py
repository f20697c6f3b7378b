"""`python -m ganboard.worker.process.exec_tied COMMAND...` becomes COMMAND, tied to its parent's
life: for programs that cannot tie themselves."""

from __future__ import annotations

import os
import signal
import sys

from ganboard.worker.process.parent_death import die_with_named_parent

if __name__ == "__main__":
    die_with_named_parent(signal.SIGTERM)
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606  # becoming another program is the purpose
