"""The files that a first day leaves: one HTML file, and a ZIP file with its results and runs, which
`worker.firstday.importing` reads."""

from __future__ import annotations

import hashlib
import platform
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import orjson

from ganboard.db.models import ENDED
from ganboard.db.runs import queries
from ganboard.gan.config import ConfigError
from ganboard.gan.files import whole_file
from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday import report
from ganboard.worker.interchange.export import export_zip

FORMAT, KIND = 1, "firstday"
MANIFEST, MACHINE, REPORT = "manifest.json", "machine.json", "report.html"
_PLAIN = re.compile(r"[^A-Za-z0-9.-]+")


def place(given: Path | None) -> Path:
    """Where the bundle goes. Refuses what cannot be written before any time is spent: raises
    ConfigError."""
    host = _PLAIN.sub("-", platform.node())[:40] or "machine"
    path = given or Path(f"firstday-{host}-{time.strftime('%Y%m%d-%H%M')}.zip")
    if path.suffix != ".zip":
        raise ConfigError(f"--bundle {path}: the file name must end in .zip.")
    for file in (path, path.with_suffix(".html")):
        there = file.exists()
        try:
            with file.open("ab"):
                pass
            if not there:
                file.unlink()
        except OSError as error:
            raise ConfigError(
                f"--bundle {file} cannot be written ({error.strerror}). Choose another path."
            ) from None
    return path


def write(context: Context, found: Mapping[str, Any], path: Path) -> Path:
    """Write the bundle at `path` and the HTML file next to it, whose path is returned. Raises
    ServiceFailed; the results are in HOME then."""
    page = path.with_suffix(".html")
    try:
        html = report.render(found).encode()
        with whole_file(page) as file:
            file.write(html)
        with tempfile.TemporaryDirectory(dir=context.settings.state, prefix="bundle-") as folder:
            _pack(context, found, html, Path(folder), path)
    except OSError as error:
        from ganboard.worker.firstday.firstday import KEPT

        raise ServiceFailed(
            f"{error.filename or path} cannot be written ({error.strerror}); the results are in"
            f" {context.settings.state / KEPT}."
        ) from None
    return page


def _pack(
    context: Context, found: Mapping[str, Any], html: bytes, folder: Path, path: Path
) -> None:
    members = {MACHINE: orjson.dumps(found, option=orjson.OPT_INDENT_2), REPORT: html}
    for run in queries.get_runs(context.engine, found["runs"]):
        if run.status in ENDED:
            exported = folder / f"{run.id}.zip"
            export_zip(context, run, exported)
            members[f"runs/{run.id}.zip"] = exported.read_bytes()
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    manifest = {"format": FORMAT, "kind": KIND, "files": digests}
    with whole_file(path) as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data, ZIP_STORED if name.endswith(".zip") else ZIP_DEFLATED)
        # last: where it is, the bundle is whole
        archive.writestr(MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
