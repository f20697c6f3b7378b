"""What the addresses for other programs answer, without a server."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
from starlette.applications import Starlette

from ganboard.app.web import api, downloads, strips
from ganboard.app.web.unknown import UnknownPages

APP = UnknownPages(Starlette(routes=[*strips.ROUTES, *downloads.ROUTES, *api.ROUTES]))


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    parts: int = 0

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.body.decode(), newline="")))

    @property
    def files(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(io.BytesIO(self.body))


def get(address: str, method: str = "GET") -> Answer:
    """What the application answers to a browser."""
    parts, answer = urlsplit(address), Answer()
    scope = {
        "type": "http", "method": method, "path": unquote(parts.path),
        "raw_path": parts.path.encode(), "root_path": "", "scheme": "http",
        "query_string": parts.query.encode(), "headers": [(b"host", b"127.0.0.1")],
        "server": ("127.0.0.1", 80), "http_version": "1.1",
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = (
                message["status"],
                {k.decode(): v.decode() for k, v in message["headers"]},
            )
        else:
            answer.body += message.get("body", b"")
            answer.parts += bool(message.get("body"))

    # beside tests in a browser this one has an event loop already
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, APP, scope, receive, send).result()
    return answer


def refused(address: str, status: int) -> str:
    """The sentence of a refusal."""
    answer = get(address)
    assert (answer.status, answer.headers["content-type"], set(answer.json)) == (
        status,
        "application/json",
        {"error"},
    )
    sentence = answer.json["error"]
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    return str(sentence)
