"""Files that are made for whoever asks: reports, profiler traces and networks of runs, pictures and
ZIP files of versions of models. Nothing here writes to the database."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ganboard.app.web import responses
from ganboard.app.web.api import FOREVER, MAX_THUMBNAIL, number, packed, reduced, responding, run_of
from ganboard.db import requests, versions
from ganboard.db.errors import UnknownVersion
from ganboard.db.ids import is_id
from ganboard.db.models import ModelVersion
from ganboard.worker.artifacts import network_files
from ganboard.worker.context import Context
from ganboard.worker.registry import download
from ganboard.worker.registry import versions as models
from ganboard.worker.reports import page, pdf
from ganboard.worker.reports import run as reports
from ganboard.worker.tensorboard import profile


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


@responding
def report_html(context: Context, request: Request) -> Response:
    """A run as one HTML file, as `ganboard report RUN --html` writes it."""
    run = run_of(context, request)
    return packed(
        lambda path: page.write(path, reports.render(context, run)),
        f"{run.id}-report.html",
        "text/html; charset=utf-8",
    )


@responding
def report_pdf(context: Context, request: Request) -> Response:
    """The same as PDF, printed by a Chromium of this machine."""
    run = run_of(context, request)
    if pdf.browser() is None:
        raise page.ReportFailed(pdf.NONE)
    return packed(
        lambda path: pdf.write(reports.render(context, run), path),
        f"{run.id}-report.pdf",
        "application/pdf",
    )


@responding
def profile_zip(context: Context, request: Request) -> Response:
    """The profiler traces of a run on this machine; unpacked, a folder for TensorBoard."""
    run = run_of(context, request)
    try:
        return packed(lambda path: profile.pack(context, run.id, path), f"{run.id}-profile.zip")
    except profile.NoTrace as absent:
        return responses.error(404, str(absent))


@responding
def profile_timeline(context: Context, request: Request) -> Response:
    """The newest of them as Chrome's trace events, for Perfetto."""
    run = run_of(context, request)
    try:
        file = profile.opened(context, run.id, profile.timeline(context, run.id))
    except profile.NoTrace as absent:
        return responses.error(404, str(absent))
    return StreamingResponse(
        responses.pieces(file),
        media_type="application/gzip",
        headers=responses.named(f"{run.id}.trace.json.gz"),
    )


@responding
def network_file(context: Context, request: Request) -> Response:
    """A network of a run as a file that was requested before, its digest checked."""
    run, asked = run_of(context, request), request.path_params["request"]
    found = requests.find(context.engine, asked) if is_id(asked) else None
    ours = found is not None and (found.kind, found.run_id) == (requests.NETWORK_FILE, run.id)
    if found is None or not ours or "file" not in found.facts:
        return responses.error(404, f"Run {run.id} has no file of a network {asked[:40]!r}.")
    try:
        file = network_files.opened(context, found)
    except network_files.NoNetworkFile as absent:
        return responses.error(404, str(absent))
    headers = responses.named(found.facts["file"])
    headers["Content-Length"] = str(found.facts["size"])
    return StreamingResponse(
        responses.pieces(file), media_type="application/octet-stream", headers=headers
    )


def _version(context: Context, request: Request) -> ModelVersion:
    asked = request.path_params["version"]
    found = versions.get(context.engine, asked) if is_id(asked) else None
    if found is None or found.removed_at is not None:
        raise UnknownVersion(
            f"There is no version {asked[:40]!r}: `ganboard models --json` has the ids of all."
        )
    return found


ROUTES = [
    Route("/api/runs/{run}/profile.zip", profile_zip),
    Route("/api/runs/{run}/trace.json.gz", profile_timeline),
    Route("/api/runs/{run}/networks/{request}", network_file),
    Route("/api/runs/{run}/report.html", report_html),
    Route("/api/runs/{run}/report.pdf", report_pdf),
    Route("/api/models/{version}.png", version_picture),
    Route("/api/models/{version}.zip", version_zip),
]
