"""Versions of models for browsers and other programs: pictures and ZIP files. Nothing here writes
to the database."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ganboard.app.web.api import FOREVER, MAX_THUMBNAIL, number, packed, reduced, responding
from ganboard.db import versions
from ganboard.db.errors import UnknownVersion
from ganboard.db.ids import is_id
from ganboard.db.models import ModelVersion
from ganboard.worker.context import Context
from ganboard.worker.registry import download
from ganboard.worker.registry import versions as models


@responding
def version_picture(context: Context, request: Request) -> Response:
    """What a version makes of a few inputs, as PNG; `height` makes a thumbnail of at most as many
    pixels. It never changes."""
    version = _version(context, request)
    png = models.picture(context, version)
    if png is None:
        raise UnknownVersion(f"{version.name}:{version.version} has no picture.")
    if (height := request.query_params.get("height")) is not None:
        png = reduced(png, number(height, "height", 1, MAX_THUMBNAIL))
    headers = {"Cache-Control": FOREVER, "X-Content-Type-Options": "nosniff"}
    return Response(png, media_type="image/png", headers=headers)


@responding
def version_zip(context: Context, request: Request) -> Response:
    """The files of a version, with a text on how to load them."""
    version = _version(context, request)
    name = f"{version.name}-{version.version}.zip"
    return packed(lambda path: download.write(context, version, path), name)


def _version(context: Context, request: Request) -> ModelVersion:
    asked = request.path_params["version"]
    found = versions.get(context.engine, asked) if is_id(asked) else None
    if found is None or found.removed_at is not None:
        raise UnknownVersion(
            f"There is no version {asked[:40]!r}: `ganboard models --json` has the ids of all."
        )
    return found


ROUTES = [
    Route("/api/models/{version}.png", version_picture),
    Route("/api/models/{version}.zip", version_zip),
]
