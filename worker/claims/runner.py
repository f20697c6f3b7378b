"""`ganboard claims work`: submits the runs of claims and gives verdicts, until it is asked to end.

`ganboard up` starts one as soon as a claim is open. Several may run.
"""

from __future__ import annotations

import sys
import threading

from ganboard.db.models import CLAIMS
from ganboard.worker import rounds
from ganboard.worker.claims import driver
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context


def serve(context: Context, ended: threading.Event) -> None:
    """Go on with open claims until `ended`."""
    rounds.serve(context, CLAIMS, lambda: driver.advance(context), ended)


def main() -> int:
    """Serve until SIGINT or SIGTERM."""
    return rounds.run(serve)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
