"""The FastAPI application, and the OpenAPI document that describes it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware

from ganboard.worker.api import answers, errors
from ganboard.worker.api.audited import Audited
from ganboard.worker.api.callers import Access, Reading
from ganboard.worker.api.contract import PATH
from ganboard.worker.api.routes import (
    account,
    alerts,
    claims,
    comparison,
    launching,
    machines,
    models,
    requests,
    results,
    runs,
    searches,
    stream,
    studies,
    surfaces,
)

PARTS = (
    *(runs, launching, results, comparison, stream),
    *(studies, searches, claims, surfaces),
    *(requests, models, machines, alerts, account),
)
ABOUT = (
    "Launch, watch and compare GAN training. Every request that changes something needs a token"
    ' with scope write, as `Authorization: Bearer TOKEN`. Errors are `{"error": sentence}`; 5xx'
    " means that asking again may help. RUN is an id, the beginning of one, or `latest`."
)


def make(access: Access) -> FastAPI:
    """The application, to be mounted at PATH."""
    app = FastAPI(
        title="ganboard",
        version=version("ganboard"),
        summary="REST API, version 1",
        description=ABOUT,
        # interactive pages would load their scripts from another host
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        responses={"default": {"model": answers.Error, "description": "Why it was not answered"}},
        servers=[{"url": PATH}],
        root_path_in_servers=False,
        middleware=[Middleware(Audited)],
    )
    app.state.access = access
    for part in PARTS:
        app.include_router(part.router)
    errors.answer_in_sentences(app)

    @app.get("/openapi.json", include_in_schema=False)
    def openapi(_: Reading) -> dict[str, Any]:
        return app.openapi()

    return app


def document() -> dict[str, Any]:
    """The OpenAPI document, as `PATH/openapi.json` answers it."""

    def absent(*_: object) -> Any:
        raise AssertionError("describing the API calls nothing")

    return make(Access(absent, absent)).openapi()
