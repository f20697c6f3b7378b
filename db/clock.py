"""The database's clock: the only one that decides whether a lease is valid, so that workers with
skewed clocks cannot steal runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlmodel import Session, select
from sqlmodel.sql.sqltypes import UTCDateTime


class now(FunctionElement[datetime]):  # noqa: N801  # reads as the SQL function that it is
    """The database's present moment plus `seconds`; PostgreSQL counts microseconds, SQLite
    milliseconds."""

    inherit_cache = True
    type = UTCDateTime()

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(literal(float(seconds)))


@compiles(now, "sqlite")
def _sqlite(element: now, compiler: Any, **options: Any) -> str:
    # the same text as SQLAlchemy stores, six decimals, so that comparison as text is comparison in
    # time
    seconds = compiler.process(element.clauses, **options)
    return f"strftime('%Y-%m-%d %H:%M:%f', 'now', printf('%+.3f seconds', {seconds})) || '000'"


@compiles(now, "postgresql")
def _postgresql(element: now, compiler: Any, **options: Any) -> str:
    return (
        f"clock_timestamp() + make_interval(secs => {compiler.process(element.clauses, **options)})"
    )


def read(session: Session) -> datetime:
    """The database's time as an aware datetime."""
    present: datetime = session.execute(select(now())).scalar_one()
    return present
