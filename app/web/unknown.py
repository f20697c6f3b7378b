"""An address without a page answers 404 and leads on.

Streamlit answers every path with its application, which opens the first page instead, or nothing
at all below a second slash.
"""

from __future__ import annotations

from html import escape

from starlette.datastructures import URL, Headers
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ganboard.app import navigation

LENGTH = 80  # characters of an address that are repeated
API = "/api/"  # what is unknown there says so itself
KNOWN = {navigation.address(page) for page in (*navigation.PAGES, navigation.VIEW_PAGE)} | {
    navigation.ACCOUNT
}
_LINKS = "".join(
    f'<li><a href="/{navigation.address(page)}">{title}</a></li>'
    for page, (title, _) in navigation.PAGES.items()
)
_PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>No such page · ganboard</title>
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5 }}
html {{ background: light-dark(#fff, #10151c); color: light-dark(#1b2430, #e4e9ef) }}
body {{ max-width: 40rem; margin: 4rem auto; padding: 0 1rem }}
h1 {{ overflow-wrap: anywhere }}
a {{ color: light-dark(#0a64e1, #8ab8ff) }}
</style>
<h1>There is no page %s</h1>
<p>Error 404: the address is misspelled or the page has moved. Available pages:</p>
<ul>{_LINKS}</ul>
"""


def page(path: str) -> str:
    """HTML with the address, escaped, and links to all pages."""
    displayed = path if len(path) <= LENGTH else path[:LENGTH] + "…"
    return _PAGE.replace("%s", escape(displayed))


class UnknownPages:
    """ASGI middleware: what would be Streamlit's application at an unknown path is that page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path.strip("/") in KNOWN or path.startswith(API):
            await self._app(scope, receive, send)
            return
        if scope["path"] == "/runs":  # where the others lead one to expect the runs
            await RedirectResponse(URL(scope=scope).replace(path="/"))(scope, receive, send)
            return
        answered = False

        async def instead(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start" and _is_page(message):
                answered = True
                await HTMLResponse(page(scope["path"]), status_code=404)(scope, receive, send)
            elif not answered:
                await send(message)

        await self._app(scope, receive, instead)


def _is_page(message: Message) -> bool:
    kind = Headers(raw=message["headers"]).get("content-type", "")
    return message["status"] == 200 and kind.startswith("text/html")
