"""Streamlit's index page for the addresses of our pages, with a few lines of script before the
others.

The server's address: without it the page of `/run` requests its server below `/run/` first, two
requests that end with 404 on every direct load (getPossibleBaseUris in Streamlit's client). And
Plotly, loaded as soon as the browser has nothing else to do: the first chart of the next page would
wait for it. Then it draws a figure out of sight, which makes the first real one quicker.
"""

from __future__ import annotations

from pathlib import Path

import plotly
import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

PAGES = sorted(path.stem for path in (Path(__file__).parents[1] / "pages").glob("[!_]*.py"))
PLOTLY_PATH = "/vendor/plotly.min.js"
# cached for good by the browser, so the version is part of its name
PLOTLY = f"{PLOTLY_PATH}?v={plotly.__version__}"
SCRIPT = f"const PLOTLY = '{PLOTLY}';\n{Path(__file__).with_suffix('.js').read_text()}"

_THEIRS = (Path(streamlit.__file__).parent / "static" / "index.html").read_text()
HTML = _THEIRS.replace("<head>", f"<head>\n    <script>{SCRIPT}</script>", 1)


def index(request: Request) -> Response:
    return HTMLResponse(HTML, headers={"Cache-Control": "no-cache"})


ROUTES = [Route(f"/{page}", index) for page in ("", *PAGES, "account")]
