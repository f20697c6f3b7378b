"""Answers of the HTTP API: headers, JSON, errors, and files piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

from starlette.responses import JSONResponse, Response

from ganboard.worker.interchange.document import encode

LINES = 2000  # of a table that are sent together
PIECE = 1 << 16  # bytes of a log that are sent together


def chunks(lines: Iterable[str]) -> Iterator[str]:
    rest = iter(lines)
    while chunk := "".join(islice(rest, LINES)):
        yield chunk


def pieces(file: BinaryIO) -> Iterator[bytes]:
    """What the file holds now; a run may write faster than somebody reads."""
    with file:
        left = file.seek(0, os.SEEK_END)
        file.seek(0)
        while left > 0 and (piece := file.read(min(left, PIECE))):
            left -= len(piece)
            yield piece


def named(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }


def json(content: object) -> Response:
    return Response(
        encode(content), media_type="application/json", headers={"Cache-Control": "no-store"}
    )


def error(status: int, sentence: str) -> Response:
    return JSONResponse(
        {"error": sentence}, status_code=status, headers={"Cache-Control": "no-store"}
    )
