"""What other programs read: runs as JSON, tables as CSV, its log, grids as PNG, all of a run or its
model as ZIP. Nothing here writes.

Every error is `{"error": sentence}` with its status. RUN in an address is an id, the beginning of
one, or `latest`. Functions without `async` run in Starlette's thread pool, so a slow database holds
up no page.
"""

from __future__ import annotations

import io
import logging
import re
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import BoundedSemaphore

from PIL import Image
from sqlalchemy.exc import DBAPIError
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from ganboard.app.navigation import context
from ganboard.app.web import responses
from ganboard.db.errors import BadSearch, UnknownRun, UnknownVersion
from ganboard.db.ids import is_id
from ganboard.db.models import STATUSES, Run
from ganboard.db.runs import listing, queries, search
from ganboard.gan.settings.metadata import all_defaults
from ganboard.worker import placement
from ganboard.worker.artifacts import run_logs
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.interchange.document import live_document, summaries
from ganboard.worker.interchange.export import TABLES as EXPORTED
from ganboard.worker.interchange.export import (
    ExportFailed,
    export_zip,
    logged_csv,
    model_zip,
    steps_csv,
)
from ganboard.worker.safe_files import open_inside

TABLES = {**EXPORTED, "losses.csv": steps_csv, "logged.csv": logged_csv}
LISTED = 50  # default limit of /api/runs
MAX_LISTED = 1000
MAX_SCALE = 16
MAX_THUMBNAIL = 512
FOREVER = "private, max-age=31536000, immutable"
A_WHILE = "private, max-age=3600"
_EPOCH = re.compile(r"-?\d{1,9}", re.ASCII)
_packing = BoundedSemaphore(2)  # files that are made at once

logger = logging.getLogger(__name__)
Respond = Callable[[Request], Response]


class BadRequest(Exception):
    """The address asks for something that cannot be; the message is one sentence."""


class Busy(Exception):
    """Too many concurrent requests; the message is one sentence."""


def responding(respond: Callable[[Context, Request], Response]) -> Respond:
    """`respond` with its errors as JSON sentences."""

    @wraps(respond)
    def handler(request: Request) -> Response:
        try:
            return respond(context(), request)
        except (BadRequest, BadSearch) as error:
            return responses.error(400, str(error))
        except (UnknownRun, UnknownVersion, ExportFailed) as error:
            return responses.error(404, str(error))
        except (Busy, *CLEAR_ERRORS) as error:
            return responses.error(503, str(error))
        except DBAPIError as error:
            logger.warning("The database refused a statement", exc_info=error)
            return responses.error(
                503,
                "The database is unavailable. Check that it is running and that its disk is not"
                " full.",
            )

    return handler


@responding
def list_runs(context: Context, request: Request) -> Response:
    """Runs without their epochs, newest first, filtered like `ganboard runs`: status (repeatable),
    search, archived, limit."""
    given = request.query_params
    if unknown := set(given) - {"status", "search", "archived", "limit"}:
        raise BadRequest(
            f"There is no filter {min(unknown)[:40]!r}: choose from status, search, archived and"
            " limit."
        )
    statuses = given.getlist("status")
    if unknown := set(statuses) - set(STATUSES):
        raise BadRequest(
            f"{min(unknown)[:40]!r} is not a state: choose from {', '.join(STATUSES)}."
        )
    archived = given.get("archived", "false")
    if archived not in ("true", "false"):
        raise BadRequest(f"archived={archived[:40]!r} is neither true nor false.")
    limit = number(given.get("limit", str(LISTED)), "limit", 1, MAX_LISTED)
    tests = search.parse(given.get("search", ""), all_defaults())
    runs = [
        run
        for run in listing.list_all(context.engine)
        if (run.archived_at is not None) == (archived == "true")
    ]
    found = [
        run.id for run in search.matching(runs, tests) if not statuses or run.status in statuses
    ]
    return responses.json(summaries(context, queries.get_runs(context.engine, found[:limit])))


@responding
def one_run(context: Context, request: Request) -> Response:
    """A run with its epochs and evaluations, as `ganboard show --json` prints it."""
    return responses.json(live_document(context, run_of(context, request)))


@responding
def table(context: Context, request: Request) -> Response:
    """One of TABLES as CSV, sent while it is read."""
    run, name = run_of(context, request), request.path_params["table"]
    if name not in TABLES:
        raise UnknownRun(f"There is no table {name[:40]!r}: choose from {', '.join(TABLES)}.")
    return StreamingResponse(
        responses.chunks(TABLES[name](context, run)),
        media_type="text/csv",
        headers=responses.named(f"{run.id}-{name}"),
    )


@responding
def grid(context: Context, request: Request) -> Response:
    """The grid of an epoch (-1: the real images) as PNG; `scale` repeats each pixel so often, and
    `height` makes a thumbnail of at most as many pixels.

    With the `attempt` that drew it the address means one picture for good, and may be kept; a
    thumbnail may be kept for a while.
    """
    run, asked = run_of(context, request), request.path_params["epoch"]
    if not _EPOCH.fullmatch(asked):
        raise BadRequest(f"{asked[:40]!r} is not an epoch: write a whole number.")
    scale = number(request.query_params.get("scale", "1"), "scale", 1, MAX_SCALE)
    height = request.query_params.get("height")
    if height is not None:
        highest = number(height, "height", 1, MAX_THUMBNAIL)
    found = queries.grid(context.engine, run.id, int(asked)) if abs(int(asked)) < 2**31 else None
    if found is None:
        raise UnknownRun(f"Run {run.id} has no grid of epoch {int(asked)}.")
    lasting = request.query_params.get("attempt") == str(found.attempt)
    png = found.png if scale == 1 else _enlarged(found.png, scale)
    headers = {
        "Cache-Control": FOREVER if lasting else "no-cache" if height is None else A_WHILE,
        "X-Content-Type-Options": "nosniff",
    }
    return Response(
        png if height is None else reduced(png, highest), media_type="image/png", headers=headers
    )


@responding
def everything(context: Context, request: Request) -> Response:
    """What `ganboard export` writes, as a ZIP file."""
    run = run_of(context, request)
    return packed(lambda path: export_zip(context, run, path), f"{run.id}.zip")


@responding
def model(context: Context, request: Request) -> Response:
    """The newest checkpoint with a text on how to load it, as a ZIP file."""
    run = run_of(context, request)
    return packed(lambda path: model_zip(context, run, path), f"{run.id}-model.zip")


@responding
def log(context: Context, request: Request) -> Response:
    """The log as it is now, sent while it is read: the newest, or that of `machine`."""
    run = run_of(context, request)
    asked = request.query_params.get("machine")
    found = run_logs.parts(context, run.id)
    path = next((one.path for one in found if asked in (None, one.machine)), None)
    try:
        if path is None:
            raise FileNotFoundError
        file = open_inside(path.parent, path.name)
    except FileNotFoundError:
        raise UnknownRun(
            placement.log_absence(context, run) or f"Run {run.id} has no log on this machine."
        ) from None
    return StreamingResponse(
        responses.pieces(file),
        media_type="text/plain; charset=utf-8",
        headers=responses.named(f"{run.id}.log"),
    )


@responding
def nothing(context: Context, request: Request) -> Response:
    raise UnknownRun("Not found: start with /api/runs.")


def run_of(context: Context, request: Request) -> Run:
    """The run that an address names. Raises UnknownRun."""
    asked = request.path_params["run"]
    if not is_id(asked):
        raise UnknownRun(f"{asked[:40]!r} is not the id of a run: ids are letters and digits.")
    return queries.find_run(context.engine, asked)


def number(text: str, name: str, low: int, high: int) -> int:
    """A whole number of an address. Raises BadRequest."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and low <= int(text) <= high):
        raise BadRequest(f"{name}={text[:40]!r} is not a whole number from {low} to {high}.")
    return int(text)


def packed(
    pack: Callable[[Path], None], name: str, media_type: str = "application/zip"
) -> Response:
    """The file that `pack` makes, which is gone once it was sent."""
    if not _packing.acquire(blocking=False):
        raise Busy("Two files are already being created. Try again shortly.")
    folder = tempfile.TemporaryDirectory(prefix="ganboard-", ignore_cleanup_errors=True)
    try:
        path = Path(folder.name, name)
        pack(path)
    except BaseException:
        folder.cleanup()
        raise
    finally:
        _packing.release()
    return FileResponse(
        path,
        media_type=media_type,
        headers=responses.named(name),
        background=BackgroundTask(folder.cleanup),
    )


def _enlarged(png: bytes, factor: int) -> bytes:
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        buffer = io.BytesIO()
        image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST).save(
            buffer, "PNG", compress_level=1
        )
    return buffer.getvalue()


def reduced(png: bytes, height: int) -> bytes:
    """A thumbnail of at most `height` pixels."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        buffer = io.BytesIO()
        image.thumbnail((image.width, height))
        image.save(buffer, "PNG")
    return buffer.getvalue()


ROUTES = [
    Route("/api/runs", list_runs),
    Route("/api/runs/{run}", one_run),
    Route("/api/runs/{run}/export.zip", everything),
    Route("/api/runs/{run}/model", model),
    Route("/api/runs/{run}/train.log", log),
    Route("/api/runs/{run}/grids/{epoch}.png", grid),
    Route("/api/runs/{run}/{table}", table),
    Route("/api/{rest:path}", nothing),
]
