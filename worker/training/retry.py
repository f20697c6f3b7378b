"""A database that is away, locked or full comes back: what to do until then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

log = logging.getLogger(__name__)

T = TypeVar("T")
# no connection, no lock in time, no room: all of them pass
AWAY = (OperationalError, InterfaceError)
# PostgreSQL's "Error Codes": this process stood still within a transaction, which was ended
_STOOD_STILL = {"25P03", "25P04"}


class DatabaseUnavailable(Exception):
    """The database stayed unavailable and this process had to end; the run resumes from its latest
    checkpoint."""


def retry_while_unavailable(
    write: Callable[[], T], on_away: Callable[[], None] = lambda: None
) -> T:
    """`write()`, again and again while the database is away, logged once and reported to `on_away`.
    Other errors are raised at once."""

    def away(state: RetryCallState) -> None:
        on_away()
        if state.attempt_number == 1 and state.outcome is not None:
            log.warning(
                "Writing to the database failed (%s); retrying until it succeeds.",
                str(state.outcome.exception()).splitlines()[0],
            )

    return Retrying(
        retry=retry_if_exception(_passes), wait=wait_random_exponential(max=5), before_sleep=away
    )(write)


def _passes(error: BaseException) -> bool:
    if isinstance(error, InternalError):
        return getattr(error.orig, "sqlstate", None) in _STOOD_STILL
    return isinstance(error, AWAY)
