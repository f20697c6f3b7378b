"""Streamlit's index page for the addresses of our pages, with the line that contains the server's
address.

Without that line the page of `/run` requests its server below `/run/` first: two requests that end
with 404 on every direct load (getPossibleBaseUris in Streamlit's client).
"""

from __future__ import annotations

from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

PAGES = sorted(path.stem for path in (Path(__file__).parents[1] / "pages").glob("[!_]*.py"))
SCRIPT = 'window.__streamlit = {BACKEND_BASE_URL: window.location.origin + "/"}'

_THEIRS = (Path(streamlit.__file__).parent / "static" / "index.html").read_text()
HTML = _THEIRS.replace("<head>", f"<head>\n    <script>{SCRIPT}</script>", 1)


def index(request: Request) -> Response:
    return HTMLResponse(HTML, headers={"Cache-Control": "no-cache"})


ROUTES = [Route(f"/{page}", index) for page in ("", *PAGES, "account")]
