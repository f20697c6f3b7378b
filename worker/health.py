"""`python -m worker.health`: does a worker or painter of this machine live? For container health checks, so it imports little."""

from __future__ import annotations

import socket
import sys

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from db import queries
from db.engine import check_reachable, make_engine
from db.errors import DbError
from db.settings import Settings, SettingsError


def complaint(engine: Engine, host: str) -> str | None:
    """None when a worker of `host` is alive, else one sentence. Raises Unreachable."""
    check_reachable(engine)
    ages = [state.age_seconds for state in (*queries.workers(engine), *queries.painters(engine)) if state.worker.host == host]
    if not ages:
        return f"No worker of {host} is known to the database."
    if min(ages) >= queries.WORKER_ALIVE_SECONDS:
        return f"The worker of {host} gave its last sign of life {min(ages):.0f} s ago; {queries.WORKER_ALIVE_SECONDS:.0f} s is the limit."
    return None


def main() -> int:
    try:
        found = complaint(make_engine(Settings().database, pooled=False), socket.gethostname())
    except (DbError, SettingsError, SQLAlchemyError) as error:
        found = str(error).splitlines()[0]
    if found:
        print(f"ganboard: {found}", file=sys.stderr)  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
