"""/api/health: can the web process serve? /api/ready: are the services available that runs need?"""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ganboard.app.navigation import context
from ganboard.db.settings import Settings
from ganboard.worker import doctor
from ganboard.worker.access import sign_in
from ganboard.worker.clear_errors import CLEAR_ERRORS

NO_STORE = {"Cache-Control": "no-store"}


def health(request: Request) -> Response:
    """200 when the database answers a query now, else 503; for a container's health check. Without
    sign-in it says the reason."""
    if reason := _complaint():
        # it contains hosts and files, and the endpoint is public
        details = {"reason": reason} if sign_in(Settings()) is None else {}
        return JSONResponse({"status": "unhealthy", **details}, status_code=503, headers=NO_STORE)
    return JSONResponse({"status": "ok"}, headers=NO_STORE)


def ready(request: Request) -> Response:
    """The doctor's quick findings on queue, workers of both kinds and disk; 503 only when the web
    itself cannot serve.

    `status` is the worst of them: ok, warn or fail.
    """
    if reason := _complaint():
        return JSONResponse(
            {"status": "unhealthy", "reason": reason}, status_code=503, headers=NO_STORE
        )
    opened = context()
    checks = [doctor.Check("database", "ok", "answers"), doctor.home(opened.settings)]
    checks += doctor.installation(opened.settings, opened.engine)
    worst = max((check.status for check in checks), key=("ok", "warn", "fail").index)
    return JSONResponse(
        {"status": worst, "checks": [asdict(check) for check in checks]}, headers=NO_STORE
    )


def _complaint() -> str | None:
    """Why the database cannot be used now, in one sentence."""
    try:
        with context().engine.connect() as connection:
            connection.execute(text("SELECT 1 FROM run LIMIT 1"))
    except CLEAR_ERRORS as error:
        return str(error)
    except SQLAlchemyError as error:
        return f"The database is unavailable ({type(error).__name__})."
    return None


ROUTES = [Route("/api/health", health), Route("/api/ready", ready)]
