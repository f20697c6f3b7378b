"""Whether a request comes from the dashboard itself: its Host header and, where it has one, its
Origin.

A page of another site can have a browser send requests here, under a name of its own that resolves
to this machine (DNS rebinding) or from another port of it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

PORTS = {"http": 80, "https": 443}
HOST = (
    "This host name is not served: use 127.0.0.1, or list the name in"
    " STREAMLIT_SERVER_ALLOWED_HOSTS (GANBOARD_HOSTS in docker-compose.yml)."
)
ORIGIN = (
    "Pages of other origins may not use this dashboard: open it at its own address, and behind a"
    " proxy that changes the Host header set GANBOARD_PUBLIC_URL."
)
Origin = tuple[str, str, int]  # scheme, host name, port


def refusal(headers: Headers, public_url: str) -> str | None:
    """Why a request is not answered, None when it is. `public_url` may be empty."""
    host = headers.get("host")
    if host is None or not is_host_allowed(host):
        return HOST
    origin = headers.get("origin")
    if origin is None:  # no browser, or one that loads a page or part of it
        return None
    page = parsed(origin)
    public = parsed(public_url)
    if page is None:
        return ORIGIN
    if public and page[1] == public[1]:
        return None if page == public else ORIGIN
    return None if page == parsed(f"{page[0]}://{host}") else ORIGIN


def parsed(url: str) -> Origin | None:
    """The origin of a URL, its default port included; None for what has none, such as `null`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or PORTS[parts.scheme]
