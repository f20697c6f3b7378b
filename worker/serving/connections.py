"""Connections of a server of generators: how many there may be, and how long a client may keep one
waiting.

Uvicorn limits the time between two requests and the size of headers, and this relies on it. It has
no limit for the time in which headers and bodies arrive and answers are read, and
`limit_concurrency` refuses in plain text without Retry-After and only those who have sent their
headers.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import orjson
from prometheus_client import Counter
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

MAX_CONNECTIONS = 256  # that are served; as many again get a refusal, those beyond are closed
HEADER_SECONDS = 10.0  # from the connection or the first byte to the end of the headers
BODY_SECONDS = 60.0  # from there to the end of the body
READ_SECONDS = 30.0  # in which a client must read some of an answer
REFUSED = "refused"  # the counter of refusals by status, in the application's state


class LimitedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with these limits; every refusal is JSON."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._refused: Counter = self.app_state[REFUSED]
        self._arriving: object = None  # h11's state of the client for which `_deadline` was set
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    # --- arrival of requests ---

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > 2 * MAX_CONNECTIONS:
            transport.abort()
            return
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = self._full
        self._watch_arrival()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_arrival()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_arrival()
        if self.transport.is_closing():
            self._watch_reading()

    def _watch_arrival(self) -> None:
        """Set the deadline for what comes next: headers, a body, or nothing while a request is
        answered."""
        arriving = self.conn.their_state
        if arriving is self._arriving:
            return
        self._arriving = arriving
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if arriving is h11.IDLE:
            self._deadline = self.loop.call_later(
                HEADER_SECONDS, self._late, "headers", HEADER_SECONDS
            )
        elif arriving is h11.SEND_BODY:
            self._deadline = self.loop.call_later(BODY_SECONDS, self._late, "body", BODY_SECONDS)

    def _late(self, part: str, seconds: float) -> None:
        if self.transport.is_closing():
            return
        answered = self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)
        if answered:  # and what follows the answer was only read to be thrown away
            self.transport.abort()
            return
        self._reply(
            408, f"The request's {part} did not arrive within {seconds:g} s. Send it faster."
        )

    # --- reading of answers ---

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None and not self.transport.is_closing():
            self._unread.cancel()
            self._unread = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_reading()

    def _watch_reading(self) -> None:
        """Have the connection end when nothing of what waits for the client is read any more."""
        if self._unread is None:
            size = self.transport.get_write_buffer_size()
            self._unread = self.loop.call_later(READ_SECONDS, self._abort_unless_read, size)

    def _abort_unless_read(self, before: int) -> None:
        self._unread = None
        if self.transport.get_write_buffer_size() < before:
            self._watch_reading()
        else:
            self.transport.abort()

    # --- refusals ---

    def send_400_response(self, msg: str) -> None:
        """For what h11 cannot read: no HTTP, or headers longer than
        `h11_max_incomplete_event_size`."""
        self._reply(400, "This is not HTTP/1.1, or its headers are too long; the limit is 16 KiB.")

    def _reply(self, status: int, sentence: str) -> None:
        """The end of this connection, with its reason."""
        self._refused.labels(status).inc()
        body = _body(sentence)
        for event in (
            h11.Response(status_code=status, headers=_headers(body), reason=STATUS_PHRASES[status]),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:  # whoever waits for the body learns that it will not come
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        self._watch_reading()

    async def _full(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application of a connection that is one too many."""
        self._refused.labels(503).inc()
        body = _body(
            f"There are already {MAX_CONNECTIONS} connections. Try again later, or use fewer."
        )
        headers = [*_headers(body), (b"retry-after", b"1")]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


def _body(sentence: str) -> bytes:
    return orjson.dumps({"error": sentence})


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
