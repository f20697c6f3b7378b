"""Checks and headers for every HTTP response and WebSocket of the dashboard.

Only its own pages and host names are served; security headers, closed media, the end of a sign-in.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganboard.app import auth
from ganboard.app.navigation import context
from ganboard.app.web import callers, index, origin
from ganboard.db.errors import DbError
from ganboard.db.settings import Settings
from ganboard.worker.access import sign_in

# the index page begins with a few lines of script: allowed are these, ours and Streamlit's as it is
# installed, and no others
_INLINE = re.findall(r"<script>(.*?)</script>", index.HTML, re.DOTALL)
_DIGESTS = [
    base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in _INLINE
]

log = logging.getLogger(__name__)

POLICY = {
    "default-src": "'none'",
    # Plotly's parallel coordinates make their drawing code from text (regl), and say "WebGL is not
    # supported" where that is forbidden
    "script-src": " ".join(
        ["'self'", "blob:", "'unsafe-eval'", *(f"'sha256-{digest}'" for digest in _DIGESTS)]
    ),
    "style-src": "'self' 'unsafe-inline'",  # Streamlit's styles are made in the browser
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "media-src": "'self' blob:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "manifest-src": "'self'",
    "base-uri": "'self'",
    "form-action": "'self'",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # addresses name runs
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
MEDIA = "/media/"  # images and downloads of pages, under names that are digests
READING = ("/api/", "/metrics")
# for whoever watches over the server; it gives no reasons where people sign in
OPEN = "/api/health"
NO_STORE = {"Cache-Control": "no-store"}
UNAVAILABLE = "The database that knows the tokens is unavailable. Try again shortly."
# contains: streamlit, CSRF token, session to resume
PROTOCOL = "sec-websocket-protocol"


def framing(origins: Sequence[str]) -> dict[str, str]:
    """The headers that say which pages may show the dashboard in a frame: none but those of
    `origins`."""
    policy = POLICY | {"frame-ancestors": " ".join(origins) or "'none'"}
    headers = {"Content-Security-Policy": "; ".join(map(" ".join, policy.items()))}
    # the older header knows no list of origins
    return headers if origins else {**headers, "X-Frame-Options": "DENY"}


class SecurityHeaders:
    """ASGI middleware; the settings are read once, as the server is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._settings = Settings()
        self._headers = HEADERS | framing(self._settings.frame_origins)
        self._signs_in = sign_in(self._settings) is not None
        self._encrypted = self._settings.public_url.startswith("https://")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                if self._encrypted:
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                    message["headers"] = [_secure(*header) for header in message["headers"]]
            await send(message)

        app = self._app
        path = scope["path"]
        if reason := origin.refusal(Headers(scope=scope), self._settings.public_url):
            app = JSONResponse({"error": reason}, status_code=403, headers=NO_STORE)
        elif self._signs_in and path != OPEN and (MEDIA in path or path.startswith(READING)):
            refused = await run_in_threadpool(self._refusal, HTTPConnection(scope))
            app = app if refused is None else refused
        await app(scope, receive, with_headers)

    def _refusal(self, connection: HTTPConnection) -> JSONResponse | None:
        """The answer to a request that may not read."""
        try:
            found = callers.identify(self._settings, connection, context)
        except (DbError, DBAPIError):
            log.warning("The database does not answer who may read", exc_info=True)
            return JSONResponse({"error": UNAVAILABLE}, status_code=503, headers=NO_STORE)
        if isinstance(found, str):
            return JSONResponse({"error": found}, status_code=401, headers=NO_STORE)
        return None

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if reason := origin.refusal(headers, self._settings.public_url):
            log.warning(
                "A WebSocket of origin %.100r at host %.100r is refused. %s",
                headers.get("origin"),
                headers.get("host"),
                reason,
            )
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
            return
        _as_same_origin(scope)
        if self._signs_in:
            await self._until_expired(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _until_expired(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Closes WebSockets when the session expires, since fragments that update themselves are
        not checked again."""
        claims = auth.cookie_claims(self._settings, HTTPConnection(scope).cookies)
        at_gate = not _lasts(claims)  # which rejects everyone
        if at_gate:
            _forget_session(scope)  # to begin there, not in the midst of an old page

        async def until_expired() -> Message:
            message = await receive()
            if not at_gate and not _lasts(claims) and message["type"] == "websocket.receive":
                await send(
                    {"type": "websocket.close", "code": 1008, "reason": "the sign-in has expired"}
                )
                return {"type": "websocket.disconnect", "code": 1008}
            return message

        await self._app(scope, until_expired, send)


def _lasts(claims: Mapping[str, Any]) -> bool:
    expires = claims.get("exp")
    return isinstance(expires, int | float) and expires > time.time()


def _secure(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A cookie of ours never travels in the clear; Streamlit leaves that out."""
    if name.lower() == b"set-cookie" and b"secure" not in value.lower().split(b"; "):
        return name, value + b"; Secure"
    return name, value


def _forget_session(scope: Scope) -> None:
    kept = [part.strip() for part in Headers(scope=scope).get(PROTOCOL, "").split(",")][:2]
    _replace(scope, PROTOCOL, ", ".join(kept))


def _as_same_origin(scope: Scope) -> None:
    """Have Host say what Origin says, as text: for others Streamlit asks the Internet for its own
    address."""
    page = urlsplit(Headers(scope=scope).get("origin", "")).netloc
    if page:
        _replace(scope, "host", page)


def _replace(scope: Scope, name: str, value: str) -> None:
    others = [header for header in scope["headers"] if header[0] != name.encode()]
    scope["headers"] = [*others, (name.encode(), value.encode("latin-1"))]
