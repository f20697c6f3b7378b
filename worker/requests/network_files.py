"""A network of a stored checkpoint as one file, written on request, as `ganboard networks` writes
it."""

from __future__ import annotations

import shutil
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.db.runs import queries
from ganboard.gan import files
from ganboard.gan.generation.formats import KERAS, ONNX, SAVED_MODEL
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.worker.artifacts import network_files
from ganboard.worker.context import Context
from ganboard.worker.interchange import networks
from ganboard.worker.interchange.export import ExportFailed
from ganboard.worker.process import machine
from ganboard.worker.requests.loop import OnProgress

KEPT = 10  # files of a run, the newest
# a SavedModel is a folder
SUFFIXES = {KERAS: ".keras", SAVED_MODEL: ".zip", ONNX: ".onnx"}
SHARES = {"loading": 0.05, "reading": 0.4, "writing": 0.6}  # done when a phase begins


class NetworkFile(BaseModel):
    """The options of a request for a network as a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    network: Literal["generator", "discriminator"]
    format: Literal["keras", "saved_model", "onnx"] = "keras"
    epoch: Annotated[int | None, Field(ge=0)] = None  # of a checkpoint; None: the newest
    weights: Literal["average", "training"] | None = None  # None: the average where there is one


def ask(context: Context, run: Run, asked: NetworkFile) -> str:
    """Store a request and return its id. Raises ExportFailed and ConfigError for what cannot be,
    and as `db.requests.ask` does."""
    networks.check(
        context,
        run,
        formats=[asked.format],
        names=[asked.network],
        epoch=asked.epoch,
        weights=asked.weights,
    )
    options = asked.model_dump()
    return requests.ask(context.engine, requests.NETWORK_FILE, [run.id], options)


def compute(
    context: Context, request: Request, on_progress: OnProgress
) -> tuple[bytes, dict[str, Any]]:
    """Write the file; the facts have its name for a download, `size`, `digest` and how it is used.
    It takes the place of older ones for the same request, and of those beyond KEPT. Raises errors
    in one sentence, and Withdrawn."""
    try:
        asked = NetworkFile.model_validate(request.options)
    except ValidationError as error:
        raise InvalidRequest(
            f"The request cannot be read ({error.errors()[0]['msg']}). Ask again."
        ) from None
    run = queries.find_run(context.engine, request.run_id)
    path = network_files.folder(context, run.id) / request.id
    with tempfile.TemporaryDirectory(prefix="ganboard-", ignore_cleanup_errors=True) as place:
        made = networks.write(
            context,
            run,
            Path(place, "network"),
            formats=[asked.format],
            names=[asked.network],
            epoch=asked.epoch,
            weights=asked.weights,
            progress=_phases(on_progress),
        )
        [written] = made.written
        stem = f"{run.id}-{asked.network}-epoch-{made.epoch}"
        if asked.weights == networks.TRAINING and run.config.get("ema"):
            stem += f"-{asked.weights}"
        on_progress("storing", 0.9)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            source = written.path
            if source.is_dir():
                source = _zipped(source.parent, stem, Path(place, "network.zip"))
            with source.open("rb") as file, files.whole_file(path) as target:
                shutil.copyfileobj(file, target)
            size, digest = files.measure(path)
        except OSError as error:
            raise ExportFailed(
                f"{path} cannot be written ({error.strerror}). Free some space, or check the disk."
            ) from None
    name = f"{stem}{SUFFIXES[asked.format]}"
    try:
        on_progress("finishing", 0.99)
    except BaseException:  # nobody wants it any more
        files.remove(path)
        raise
    network_files.remove(context, run.id, _superseded(context, request))
    return b"", {
        "file": name,
        "size": size,
        "digest": digest,
        "epoch": made.epoch,
        "step": made.step,
        "machine": machine.name(context.settings),
        "difference": written.difference,
        "about": networks.described(written).partition(": ")[2],
        "usage": textwrap.dedent(
            networks.usage(written, None if written.path.is_dir() else name)
        ).strip(),
    }


def _phases(on_progress: OnProgress) -> Callable[[str], None]:
    """For `networks.write`, whose sentences begin with one of SHARES."""

    def report(text: str) -> None:
        phase = text.partition(" ")[0]
        on_progress(phase, SHARES[phase])

    return report


def _zipped(folder: Path, stem: str, path: Path) -> Path:
    """All of a folder as a ZIP file at `path`, below `stem/`."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for one in sorted(folder.rglob("*")):
            archive.write(one, f"{stem}/{one.relative_to(folder).as_posix()}")
    return path


def _superseded(context: Context, request: Request) -> list[str]:
    """The answered requests that this one takes the place of, and those beyond KEPT."""
    found = requests.of_runs(context.engine, requests.NETWORK_FILE, [request.run_id])
    answered = [one for one in found if one.answered_at is not None and one.id != request.id]
    return [
        one.id
        for place, one in enumerate(answered)
        if one.error or one.options == request.options or place >= KEPT - 1
    ]
