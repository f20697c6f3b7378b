"""The web application as ASGI: Streamlit's pages, health checks, metrics, what other programs read,
and Plotly's script."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

# Streamlit loads it with the first table: the first visitor would wait for that
import pandas  # noqa: F401
import plotly
import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.state import SafeSessionState

from ganboard.app import auth, errors
from ganboard.app.web import (
    api,
    clicks,
    downloads,
    health,
    index,
    metrics,
    reports,
    rest,
    stale_ticks,
    strips,
)
from ganboard.app.web.security_headers import SecurityHeaders
from ganboard.app.web.unknown import UnknownPages
from ganboard.db.settings import Settings

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def plotly_js(request: Request) -> Response:
    """Plotly.js out of the installed wheel: charts work offline and no other host is asked."""
    headers = {"Cache-Control": "public, max-age=604800", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(_compressed_plotly(), headers=headers, media_type="text/javascript")
    return FileResponse(PLOTLY_JS, headers=headers, media_type="text/javascript")


@cache
def _compressed_plotly() -> bytes:
    """1.4 of 4.8 MB."""
    return gzip.compress(PLOTLY_JS.read_bytes(), 6)


# a folder named pages makes Streamlit run its scripts without main.py until a first visit has
# called st.navigation: a fresh server would show the bare script to whoever opens the address of a
# run
PagesManager.uses_pages_directory = False
run_script = stale_ticks.of_the_open_page(ScriptRunner._run_script)
ScriptRunner._run_script = run_script  # type: ignore[assignment, method-assign]
SafeSessionState.on_script_will_rerun = clicks.apply_first  # type: ignore[method-assign]

# plain functions run in Starlette's thread pool: a slow database holds up no page
app = st.App(
    Path(__file__).parents[1] / "main.py",
    secrets=auth.secrets(Settings()),
    routes=[
        Route(index.PLOTLY_PATH, plotly_js),
        *index.ROUTES,
        *health.ROUTES,
        *metrics.ROUTES,
        *rest.ROUTES,
        *reports.ROUTES,  # before those that only read
        *strips.ROUTES,
        *downloads.ROUTES,
        *api.ROUTES,
    ],
    middleware=[Middleware(SecurityHeaders), Middleware(UnknownPages)],
    on_script_error=errors.show,  # fragments and callbacks run outside main.py
)
