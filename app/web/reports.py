"""What scripts send about the runs that they train themselves: the only addresses that write.

Every request needs the token of GANBOARD_API_TOKEN in a header that no other site's page can send.
Errors are `{"error": sentence}`; 5xx means that sending the same again may help.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ganboard.app.navigation import context
from ganboard.db.errors import LeaseLost, NotAllowed, UnknownRun, Unreachable
from ganboard.db.settings import Settings
from ganboard.worker.access import SHORTEST_SECRET
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.external import recording
from ganboard.worker.external.limits import MAX_BODY
from ganboard.worker.external.recording import BadReport
from ganboard.worker.external.schema import Report, Start

AT_ONCE = 4  # bodies that are held in memory together
NO_STORE = {"Cache-Control": "no-store"}

logger = logging.getLogger(__name__)
Handler = Callable[[Request], Awaitable[Response]]
_held = 0


class _Refused(Exception):
    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def receiving(store: Callable[[Context, str, bytes], dict[str, object]]) -> Handler:
    """`store` with the run's id and the body, for whoever knows the token; its errors as JSON
    sentences."""

    @wraps(store)
    async def handler(request: Request) -> Response:
        global _held
        try:
            _check_token(request)
            if _held == AT_ONCE:
                raise _Refused(503, "Too many reports arrive at once. Try again shortly.")
            _held += 1
            try:
                body = await _body(request)
                run_id = request.path_params["run"]
                answer = await run_in_threadpool(_stored, store, run_id, body)
            finally:
                _held -= 1
        except _Refused as error:
            return _error(error.status, str(error))
        except ClientDisconnect:
            return _error(400, "The request ended early.")
        return JSONResponse(answer, headers=NO_STORE)

    return handler


@receiving
def begin(context: Context, run_id: str, body: bytes) -> dict[str, object]:
    """A run that begins; its id is the script's choice, so that repeating the request is
    harmless."""
    start = recording.parse(Start, body)
    if start.id != run_id:
        raise BadReport(f"The address names run {run_id[:40]!r}, the body {start.id!r}.")
    recording.create_run(context, start)
    return {"id": run_id}


@receiving
def report(context: Context, run_id: str, body: bytes) -> dict[str, object]:
    """What happened since the report before. The answer says whether somebody pressed Stop."""
    return {"stop": recording.record(context, run_id, recording.parse(Report, body))}


def _stored(
    store: Callable[[Context, str, bytes], dict[str, object]], run_id: str, body: bytes
) -> dict[str, object]:
    try:
        opened = context()
        # the token has answered who writes; there is no page whose visitor could be asked
        engine = opened.engine.execution_options(before_writing=None)
        return store(replace(opened, engine=engine), run_id, body)
    except UnknownRun as error:
        raise _Refused(404, str(error)) from None
    except (LeaseLost, Unreachable) as error:
        raise _Refused(503, str(error)) from None
    except NotAllowed as error:
        raise _Refused(409, str(error)) from None
    except CLEAR_ERRORS as error:
        raise _Refused(400, str(error)) from None
    except DBAPIError as error:
        logger.warning("The database refused a report", exc_info=error)
        raise _Refused(503, "The database is unavailable. The report can be sent again.") from None


def _check_token(request: Request) -> None:
    token = Settings().api_token
    if len(token) < SHORTEST_SECRET:
        raise _Refused(
            403,
            "This ganboard takes no reports over HTTP. Set GANBOARD_API_TOKEN (or"
            f" GANBOARD_API_TOKEN_FILE) to at least {SHORTEST_SECRET} random characters where the"
            " dashboard runs.",
        )
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given.strip():
        raise _Refused(401, "Send the header Authorization: Bearer with GANBOARD_API_TOKEN.")
    if not hmac.compare_digest(given.strip().encode(), token.encode()):
        raise _Refused(
            403, "This ganboard does not know the token. Use the value of its GANBOARD_API_TOKEN."
        )


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise _Refused(413, f"A report has at most {MAX_BODY:,} bytes. Send smaller ones.")
    return bytes(body)


def _error(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=status, headers=NO_STORE)


ROUTES = [
    Route("/api/runs/{run}", begin, methods=["PUT"]),
    Route("/api/runs/{run}/reports", report, methods=["POST"]),
]
