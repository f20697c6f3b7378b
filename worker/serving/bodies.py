"""Bodies of requests in memory: how large one may be, and how many bytes all of them may have
together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException
from starlette.requests import Request

MAX_BYTES = 32 << 20  # of a request, and of what an npz unpacks to
HELD_BYTES = 128 << 20  # of all requests that are being received or read


class Bodies:
    """Receives bodies and counts their bytes."""

    def __init__(self) -> None:
        self.held = 0  # bytes

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[bytearray]:
        """All of a request's body, whose bytes count until the block ends.

        Bytes count as they arrive, not as they are announced: an announcement costs a client
        nothing. Raises HTTPException, and ClientDisconnect when the client leaves before the end.
        """
        announced = request.headers.get("content-length", "")
        if announced.isdecimal():
            _check_size(int(announced))
        body = bytearray()
        try:
            async for chunk in request.stream():
                _check_size(len(body) + len(chunk))
                if self.held + len(chunk) > HELD_BYTES:
                    raise HTTPException(
                        503,
                        f"The {HELD_BYTES:,} bytes available for requests are in use. Try again"
                        " later, or send fewer examples per request.",
                        {"Retry-After": "1"},
                    )
                body += chunk
                self.held += len(chunk)
            yield body
        finally:
            self.held -= len(body)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise HTTPException(
            413,
            f"The request has {size:,} bytes or more; the limit is {MAX_BYTES:,}. Send fewer"
            " examples per request.",
        )
