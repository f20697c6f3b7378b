"""The web application as ASGI: Streamlit's pages, a health check, what other programs read, and Plotly's script from this origin."""

from __future__ import annotations

from pathlib import Path

import pandas  # noqa: F401  # Streamlit loads it with the first table: the first visitor would wait for that
import plotly
import streamlit as st
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

from app import api, errors
from app.state import context
from worker.errors import CLEAR_ERRORS

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PLOTLY_PATH = "/vendor/plotly.min.js"


def plotly_js(request: Request) -> Response:
    """Plotly.js out of the installed wheel: charts work offline and no other host is asked."""
    return FileResponse(PLOTLY_JS, media_type="text/javascript", headers={"Cache-Control": "public, max-age=604800"})


def health(request: Request) -> Response:
    """200 when the database answers a query now, else 503 with the reason; what a container's health check should ask."""
    try:
        with context().engine.connect() as connection:
            connection.execute(text("SELECT 1 FROM run LIMIT 1"))
    except CLEAR_ERRORS as error:
        return JSONResponse({"status": "unhealthy", "reason": str(error)}, status_code=503)
    except SQLAlchemyError as error:
        return JSONResponse({"status": "unhealthy", "reason": f"The database does not answer ({type(error).__name__})."}, status_code=503)
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


# a folder named pages makes Streamlit run its scripts without main.py until a first visit has called st.navigation:
# a fresh server would show the bare script to whoever opens the address of a run
PagesManager.uses_pages_directory = False

# plain functions run in Starlette's thread pool: a slow database holds up no page
app = st.App(
    Path(__file__).with_name("main.py"),
    routes=[Route(PLOTLY_PATH, plotly_js), Route("/api/health", health), *api.ROUTES],
    on_script_error=errors.show,  # fragments and callbacks run outside main.py
)
