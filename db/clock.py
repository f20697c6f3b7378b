"""The database's clock: the only one that decides whether a lease is alive, so that skewed workers cannot steal runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ColumnElement
from sqlmodel import Session, select
from sqlmodel.sql.sqltypes import UTCDateTime


class now(ColumnElement[Any]):  # noqa: N801  # reads as the SQL function that it is
    """The database's present moment plus `seconds`."""

    inherit_cache = False  # `seconds` stands in the SQL text
    type = UTCDateTime()

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = float(seconds)


@compiles(now, "sqlite")
def _sqlite(element: now, compiler: Any, **_: Any) -> str:
    # the same text as SQLAlchemy stores, six decimals, so that comparison as text is comparison in time
    return f"strftime('%Y-%m-%d %H:%M:%f', 'now', '{element.seconds:+.3f} seconds') || '000'"


@compiles(now, "postgresql")
def _postgresql(element: now, compiler: Any, **_: Any) -> str:
    return f"clock_timestamp() + make_interval(secs => {element.seconds:.3f})"


def read(session: Session) -> Any:
    """The database's time as an aware datetime."""
    return session.scalar(select(now()))
