"""Errors of the API: `{"error": sentence}`, with a status that says whether asking again helps."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from ganboard.db.errors import (
    LeaseLost,
    NotAllowed,
    NoteChanged,
    UnknownAlert,
    UnknownClaim,
    UnknownRun,
    UnknownSearch,
    UnknownStudy,
    UnknownToken,
    UnknownVersion,
    Unreachable,
)
from ganboard.worker.api.callers import Refused
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.errors import QueueUnreachable

# the first class that fits decides
STATUS: Mapping[type[Exception], int] = {
    UnknownRun: 404,
    UnknownStudy: 404,
    UnknownSearch: 404,
    UnknownClaim: 404,
    UnknownAlert: 404,
    UnknownVersion: 404,
    UnknownToken: 404,
    NotAllowed: 409,
    NoteChanged: 409,
    LeaseLost: 503,
    Unreachable: 503,
    QueueUnreachable: 503,
}
NO_STORE = {"Cache-Control": "no-store"}
UNAVAILABLE = "The database is unavailable. Check that it is running and that its disk is not full."

log = logging.getLogger(__name__)


def answer_in_sentences(app: FastAPI) -> None:
    """Have every error that a person can act on answered as JSON."""
    for error in CLEAR_ERRORS:
        app.add_exception_handler(error, _clear)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(DBAPIError, _database)
    app.add_exception_handler(Exception, _unexpected)


def status_of(error: Exception) -> int:
    """The status of HTTP for an error with a clear sentence."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)


async def _clear(_: Request, error: Exception) -> JSONResponse:
    return _said(status_of(error), str(error))


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    answer = _said(error.status, str(error))
    if error.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return _said(400, sentence(error.errors()))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    said = str(error.detail)
    if error.status_code == 404:
        said = f"There is no address {request.url.path[:80]}: /api/v1/openapi.json lists them."
    if error.status_code == 405:
        said = f"{request.url.path[:80]} has no method {request.method}."
    answer = _said(error.status_code, said)
    if error.status_code == 405:  # Starlette's own names the methods of one route only
        answer.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return answer


def _methods(request: Request) -> set[str]:
    """The methods of an address."""
    app: FastAPI = request.app
    address = request.url.path.removeprefix(request.scope.get("root_path", ""))
    return {
        method.upper()
        for path, operations in app.openapi()["paths"].items()
        if compile_path(path)[0].fullmatch(address)
        for method in operations
    }


async def _database(_: Request, error: Exception) -> JSONResponse:
    log.warning("The database refused a statement", exc_info=error)
    return _said(503, UNAVAILABLE)


async def _unexpected(_: Request, error: Exception) -> JSONResponse:
    log.error("A request to the API failed", exc_info=error)
    return _said(500, "Something went wrong in ganboard; its log has the details.")


def _said(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status_code=status, headers=NO_STORE)


def sentence(problems: Sequence[Any]) -> str:
    """The first problem of a validation in words: where, and what is wrong there."""
    first = problems[0]
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['ctx']['error']} at character {first['loc'][-1]}."
    place = ".".join(str(part) for part in first["loc"][1:]) or "The body"
    wrong = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
    given = "" if first["type"] == "missing" else f" (given: {first['input']!r:.40})"
    return f"{place}: {wrong}{given}."
