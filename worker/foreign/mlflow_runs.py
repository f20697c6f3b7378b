"""Runs that MLflow tracked: parameters, metrics with their times, images, how they ended. Needs the
extra `mlflow`."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ganboard.worker.errors import WorkerError
from ganboard.worker.foreign.record import Record
from ganboard.worker.registry import mlflow_sync

MAX_RUNS = 10_000
MAX_IMAGES = 500  # of one run
MAX_IMAGE = 8 << 20  # bytes
DEPTH = 4  # of folders of artifacts
STATUSES = {"FINISHED": "finished", "FAILED": "failed", "KILLED": "stopped"}
# as log_image names them, and as ganboard does
_IMAGES = (
    re.compile(
        r"(?P<name>.+)[+%]step[+%](?P<step>\d+)[+%]timestamp[+%](?P<at>\d+)[+%][^.]+\.(png|jpe?g|gif)$"
    ),
    re.compile(r"(?P<name>.*?)[-_ ]?(?P<step>\d{1,10})\.(png|jpe?g|gif)$"),
)


class NoRuns(WorkerError):
    """A tracking server without runs; the message is one sentence."""


def runs(uri: str) -> Iterator[tuple[str, Record]]:
    """All runs of the tracking server, folder or database at `uri`, the oldest first, with names.
    Raises SettingsError, MlflowUnreachable and NoRuns, in one sentence."""
    client = mlflow_sync.client(uri)
    from mlflow.exceptions import MlflowException

    try:
        found = _listed(client)
        if not found:
            raise NoRuns(f"MLflow at {uri} has no runs.")
        for run in sorted(found, key=lambda one: one.info.start_time or 0):
            name = run.info.run_name or run.info.run_id
            yield name, _read(client, run)
    except (MlflowException, OSError) as error:
        raise mlflow_sync.down(uri, error) from error


def _listed(client: Any) -> list[Any]:
    experiments = [one.experiment_id for one in client.search_experiments()]
    found: list[Any] = []
    token = None
    while len(found) < MAX_RUNS:
        page = client.search_runs(experiments, max_results=500, page_token=token)
        found += page
        token = page.token
        if not token:
            break
    return found


def _read(client: Any, run: Any) -> Record:
    info = run.info
    record = Record(
        status=STATUSES.get(info.status, "stopped"),
        identity=f"mlflow {info.run_id}".encode(),
        host=run.data.tags.get("mlflow.host", ""),
    )
    for moment in (info.start_time, info.end_time):
        if moment:
            record.mark(moment / 1000)
    record.settings = {name: _typed(value) for name, value in run.data.params.items()}
    for name in run.data.metrics:
        points = record.scalars.setdefault(name, {})
        for one in client.get_metric_history(info.run_id, name):
            if one.step >= 0:
                points[one.step] = (one.timestamp / 1000, one.value)
                record.mark(one.timestamp / 1000)
    if record.last == 0:
        record.mark(1.0)
    _add_images(client, info.run_id, record)
    if info.status not in STATUSES:
        record.problems.append(f"MLflow calls the run {info.status}: it is imported as stopped.")
    return record


def _add_images(client: Any, run_id: str, record: Record) -> None:
    left = MAX_IMAGES
    with tempfile.TemporaryDirectory() as folder:
        for artifact in _artifacts(client, run_id, "", DEPTH):
            match = next((m for form in _IMAGES if (m := form.match(artifact.path))), None)
            if match is None or (artifact.file_size or 0) > MAX_IMAGE:
                continue
            if not left:
                record.problems.append(f"Of its images {MAX_IMAGES} are kept.")
                return
            left -= 1
            path = Path(client.download_artifacts(run_id, artifact.path, folder))
            at = int(match["at"]) / 1000 if "at" in match.groupdict() else record.last
            points = record.images.setdefault(match["name"], {})
            points.setdefault(int(match["step"]), (at, []))[1].append(path.read_bytes())


def _artifacts(client: Any, run_id: str, folder: str, depth: int) -> Iterator[Any]:
    for one in client.list_artifacts(run_id, folder):
        if not one.is_dir:
            yield one
        elif depth:
            yield from _artifacts(client, run_id, one.path, depth - 1)


def _typed(text: str) -> str | float | bool:
    """MLflow keeps parameters as texts."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
