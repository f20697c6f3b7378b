"""`ganboard search drive`: submits and prunes the runs of searches, until it is asked to end.

`ganboard up` starts one as soon as there is a search. It keeps nothing: several may run, and any
may be killed.
"""

from __future__ import annotations

import logging
import sys
import threading

from ganboard.db.models import SEARCHES
from ganboard.db.searches import searches
from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import DatasetError
from ganboard.worker import rounds
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.searches import rounds as search_rounds

log = logging.getLogger("ganboard.searches")


def advance(context: Context) -> int:
    """Look after every running search once; returns how many runs were submitted. Raises errors of
    the database."""
    made = 0
    for search in searches.running(context.engine):
        try:
            made += len(search_rounds.make(context, search))
            problem = None
        except (ConfigError, DatasetError) as error:
            problem = str(error)
        if problem != search.message:
            if problem:
                log.warning("Search %s: %s", search.id, problem)
            searches.remark(context.engine, search.id, problem)
    return made


def serve(context: Context, ended: threading.Event) -> None:
    """Go round until `ended`."""
    rounds.serve(context, SEARCHES, lambda: advance(context), ended)


def main() -> int:
    """Serve until SIGINT or SIGTERM."""
    return rounds.run(serve)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
