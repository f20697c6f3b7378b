"""Where reports go: to the database, or to a dashboard over HTTP."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import orjson

from ganboard.worker.external.values import StartError

if TYPE_CHECKING:
    from ganboard.worker.context import Context

SECONDS = 10.0  # for an answer
MAX_ANSWER = 1 << 16


class Unreachable(Exception):
    """Nothing was stored now; later it may be. The message is a clause without a full stop."""


class Refused(Exception):
    """Nothing will be stored, however often it is sent; the message is one sentence."""


class Transport(Protocol):
    """Both functions may be called again with the same document. They raise Unreachable and
    Refused."""

    name: str  # in sentences

    def create_run(self, start: dict[str, Any]) -> None: ...

    def send(self, run_id: str, report: dict[str, Any]) -> bool:
        """True when the run should stop."""


class Database:
    """The database that the environment names; it must exist. Raises Unreachable and Refused."""

    def __init__(self) -> None:
        from ganboard.worker.clear_errors import CLEAR_ERRORS
        from ganboard.worker.context import open_context

        try:
            # a script may fork, so no connection stays open
            self._context: Context = open_context(pooled=False, create=False)
        except CLEAR_ERRORS as error:
            raise Unreachable(str(error).rstrip(".")) from None
        url = self._context.engine.url
        self.name = f"the database {url.render_as_string(hide_password=True)}"

    def create_run(self, start: dict[str, Any]) -> None:
        from ganboard.worker.external import recording
        from ganboard.worker.external.schema import Start

        _attempted(lambda: recording.create_run(self._context, Start.model_validate(start)))

    def send(self, run_id: str, report: dict[str, Any]) -> bool:
        from ganboard.worker.external import recording
        from ganboard.worker.external.schema import Report

        parsed = Report.model_validate(report)
        return bool(_attempted(lambda: recording.record(self._context, run_id, parsed)))


def _attempted(action: Any) -> Any:
    from ganboard.db.errors import LeaseLost
    from ganboard.db.errors import Unreachable as DatabaseUnreachable
    from ganboard.worker.clear_errors import CLEAR_ERRORS
    from ganboard.worker.training.retry import AWAY

    try:
        return action()
    except (*AWAY, DatabaseUnreachable) as error:
        raise Unreachable(str(error).splitlines()[0].rstrip(".")) from None
    except LeaseLost as error:  # it expired between two statements: the next try reopens the run
        raise Unreachable(str(error).rstrip(".")) from None
    except CLEAR_ERRORS as error:
        raise Refused(str(error)) from None


class Dashboard:
    """A dashboard at `url`, which knows `token`. Raises StartError for an address that cannot be
    used."""

    def __init__(self, url: str, token: str) -> None:
        self._url = _checked(url)
        self._token = token.strip()
        self.name = self._url
        if not self._token:
            raise StartError(
                f"{url} needs a token: pass token=, or set GANBOARD_TOKEN to the dashboard's"
                " GANBOARD_API_TOKEN."
            )
        if not self._token.isascii() or not self._token.isprintable():
            raise StartError("The token has characters that no header can carry.")

    def create_run(self, start: dict[str, Any]) -> None:
        self._ask("PUT", f"/api/runs/{start['id']}", start)

    def send(self, run_id: str, report: dict[str, Any]) -> bool:
        return bool(self._ask("POST", f"/api/runs/{run_id}/reports", report).get("stop"))

    def _ask(self, method: str, path: str, document: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  # the scheme is checked
            self._url + path,
            data=orjson.dumps(document),
            method=method,
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                return _object(answer.read(MAX_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                said = _object(error.read(MAX_ANSWER)).get("error")
            if error.code >= 500 or error.code == 429 or not isinstance(said, str):
                raise Unreachable(
                    str(said or f"{self._url} answered {error.code}").rstrip(".")
                ) from None
            raise Refused(said) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{self._url} does not answer ({reason})") from None


def _object(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _checked(url: str) -> str:
    """The address without a path, encrypted unless it is on this machine, so that no token crosses
    a network in the clear."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.username:
        raise StartError(f"url={url[:120]} is not an address such as https://host.example:8501.")
    if parts.scheme == "http" and not _is_loopback(host):
        raise StartError(
            f"url={url[:120]} is not encrypted: use https://, or a tunnel to localhost."
        )
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def from_environment(url: str | None, token: str | None) -> Transport:
    """The dashboard at `url` or GANBOARD_URL, else the database. Raises StartError and
    Unreachable."""
    url = url or os.environ.get("GANBOARD_URL")
    if not url:
        return Database()
    return Dashboard(url, token or _token())


def _token() -> str:
    if path := os.environ.get("GANBOARD_TOKEN_FILE"):
        try:
            with open(path, encoding="utf-8") as file:
                return file.read(4096)
        except (OSError, UnicodeDecodeError) as error:
            raise StartError(f"GANBOARD_TOKEN_FILE={path} cannot be read: {error}.") from None
    return os.environ.get("GANBOARD_TOKEN", "")
