"""The REST API where the dashboard serves it."""

from __future__ import annotations

from fastapi import Request
from starlette.routing import Mount

from ganboard.app.navigation import context
from ganboard.app.web import callers
from ganboard.db.settings import Settings
from ganboard.worker.api import application
from ganboard.worker.api.callers import Access, Caller


def _identify(request: Request) -> Caller | str:
    return callers.identify(Settings(), request, context)


ROUTES = [Mount(application.PATH, application.make(Access(context, _identify)))]
