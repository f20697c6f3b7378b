"""The FastAPI application, and the OpenAPI document that describes it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
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

EVENTS = "text/event-stream"
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
        generate_unique_id_function=_operation,
        middleware=[Middleware(Audited)],
    )
    app.state.access = access
    for part in PARTS:
        app.include_router(part.router)
    errors.answer_in_sentences(app)

    @app.get("/openapi.json", include_in_schema=False)
    def openapi(_: Reading) -> dict[str, Any]:
        return _document(app)

    return app


def _operation(route: APIRoute) -> str:
    """The name of a function in a generated client: runs_show, searches_stop."""
    return "_".join([*map(str, route.tags[-1:]), route.name])


def _document(app: FastAPI) -> dict[str, Any]:
    """FastAPI describes server-sent events by `itemSchema`, which OpenAPI 3.2 has, in a document of
    3.1, so that validators refuse it."""
    found = app.openapi()
    for operations in found["paths"].values():
        for operation in operations.values():
            content = operation["responses"].get("200", {}).get("content", {})
            if content.get(EVENTS, {}).pop("itemSchema", None):
                content[EVENTS]["schema"] = {"type": "string"}
    return found


def document() -> dict[str, Any]:
    """The OpenAPI document, as `PATH/openapi.json` answers it."""

    def absent(*_: object) -> Any:
        raise AssertionError("describing the API calls nothing")

    return _document(make(Access(absent, absent)))
