"""`ganboard mlflow-sync`: logs runs to MLflow while they train: settings, losses, timings, quality,
images, how they ended.

It reads the database as the pages do, in a process of its own, so a tracking server that is slow or
down delays only the sync. The state of the sync is kept in a tag of MLflow's run, so a restart
logs nothing twice; a metric that is logged twice is equal, and MLflow keeps one of them.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ganboard.db.errors import DbError
from ganboard.db.models import ACTIVE, Epoch, Quality, Run
from ganboard.db.runs import evaluations, queries
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.quality.declared import by_qualified_name
from ganboard.gan.settings.features import Source, recorded
from ganboard.worker import logs
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.errors import WorkerError
from ganboard.worker.process.parent_death import die_with_named_parent

log = logging.getLogger("ganboard.mlflow_sync")

EXPERIMENT = "ganboard"
POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 60.0
RUN_TAG = "ganboard.run_id"
STATE_TAG = "ganboard.told"  # keeps its former name: stored in MLflow
STATUSES = {
    "queued": "SCHEDULED",
    "suspended": "SCHEDULED",
    "starting": "RUNNING",
    "running": "RUNNING",
    "finished": "FINISHED",
    "failed": "FAILED",
    "stopped": "KILLED",
}
_METRICS, _PARAMS = 1000, 100  # that MLflow takes at a time
_LONGEST = 500  # characters of a parameter in older servers
# MLflow as it must be here: nothing is sent to its makers, and a server that is down is noticed at
# once
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}


class MlflowUnreachable(WorkerError):
    """MLflow does not accept data at present."""


class SyncState(NamedTuple):
    """What MLflow knows of a run: the last epochs whose losses, evaluation and images it has, and
    its status."""

    epoch: int = 0
    evaluated: int = 0
    grid_epoch: int = -1
    status: str = ""

    def differs(self, now: SyncState) -> bool:
        """Whether there is news, images left out: they come with epochs."""
        return self._replace(grid_epoch=now.grid_epoch) != now

    @classmethod
    def read(cls, text: str) -> SyncState:
        epoch, evaluated, grid_epoch, status = text.split(",")
        return cls(int(epoch), int(evaluated), int(grid_epoch), status)

    def __str__(self) -> str:
        return ",".join(map(str, self))


class MlflowSync:
    """Raises SettingsError without MLflow or with an address that it does not know, and
    MlflowUnreachable whenever it does not answer."""

    def __init__(self, context: Context, uri: str) -> None:
        self._engine, self._uri = context.engine, uri
        self._client = client(uri)
        self._experiment = ""
        self._describe: dict[
            str, tuple[str, SyncState]
        ] = {}  # by run: MLflow's id of it, and what it knows

    def round(self) -> int:
        """Log new data to MLflow; returns the number of affected runs."""
        from mlflow.exceptions import MlflowException

        changed = 0
        try:
            self._experiment = self._experiment or self._found_experiment()
            evaluated = evaluations.last_epochs(self._engine)  # some only after a run's end
            for run_id, status, epoch in queries.states(self._engine):
                details = self._describe.get(run_id)
                now = SyncState(epoch, evaluated.get(run_id, 0), status=status)
                if details is None or status in ACTIVE or details[1].differs(now):
                    run = queries.get_run(self._engine, run_id)
                    changed += run is not None and self._log(run)
        except (MlflowException, OSError) as error:
            raise down(self._uri, error) from error
        return changed

    def _log(self, run: Run) -> bool:
        from mlflow.entities import RunTag

        there, details = self._describe.get(run.id) or self._found(run)
        epochs, evaluated = (
            queries.epochs(self._engine, run.id, after=details.epoch),
            queries.qualities(self._engine, run.id, after=details.evaluated),
        )
        metrics = [*_losses(epochs), *_quality(evaluated, recorded(run.facts))]
        for first in range(0, len(metrics), _METRICS):
            self._client.log_batch(there, metrics=metrics[first : first + _METRICS])
        now = details._replace(
            epoch=epochs[-1].epoch if epochs else details.epoch,
            evaluated=evaluated[-1].epoch if evaluated else details.evaluated,
        )
        for epoch in queries.grid_epochs(self._engine, run.id):
            if epoch > now.grid_epoch:
                self._draw(there, run.id, epoch)
                now = now._replace(grid_epoch=epoch)
        now = now._replace(status=run.status)
        if now != details:
            self._client.log_batch(
                there, tags=[RunTag(STATE_TAG, str(now)), RunTag("ganboard.error", run.error or "")]
            )
            if STATUSES[now.status] != STATUSES.get(details.status):
                self._client.update_run(there, status=STATUSES[now.status])
        self._describe[run.id] = there, now
        return now != details

    def _draw(self, there: str, run_id: str, epoch: int) -> None:
        grid = queries.grid(self._engine, run_id, epoch)
        if grid is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, f"epoch-{epoch:04d}.png")
                path.write_bytes(grid.png)
                self._client.log_artifact(there, str(path), "grids")

    def _found(self, run: Run) -> tuple[str, SyncState]:
        """MLflow's run for this one, made where there is none."""
        from mlflow.entities import Param

        for found in self._client.search_runs(
            [self._experiment], f"tags.`{RUN_TAG}` = '{run.id}'", max_results=1
        ):
            return found.info.run_id, SyncState.read(
                found.data.tags.get(STATE_TAG, str(SyncState()))
            )
        tags = {RUN_TAG: run.id, "ganboard.preset": run.preset}
        made = self._client.create_run(
            self._experiment, start_time=_milliseconds(run.created_at), tags=tags, run_name=run.name
        )
        params = [
            # a script may use characters that MLflow refuses in names
            Param(re.sub(r"[^\w./: -]", "_", name), str(value)[:_LONGEST])
            for name, value in sorted(run.config.items())
        ]
        for first in range(0, len(params), _PARAMS):
            self._client.log_batch(made.info.run_id, params=params[first : first + _PARAMS])
        return made.info.run_id, SyncState()

    def _found_experiment(self) -> str:
        found = self._client.get_experiment_by_name(EXPERIMENT)
        return str(found.experiment_id if found else self._client.create_experiment(EXPERIMENT))


def client(uri: str) -> Any:
    """A client of the MLflow at `uri`. Raises SettingsError."""
    require()
    os.environ.update(_QUIET)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        return MlflowClient(uri)
    except MlflowException as error:
        cause = str(error).strip().splitlines()[0][:200]
        raise SettingsError(f"MLflow at {uri[:100]} cannot be used: {cause}") from None


def down(uri: str, error: Exception) -> MlflowUnreachable:
    """What to say when MLflow at `uri` has answered with `error`, or not at all."""
    cause = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return MlflowUnreachable(
        f"MLflow at {uri} does not accept data ({cause}). Check that it is running; training"
        " continues."
    )


def address(asked: str | None, settings: Settings) -> str:
    """The address of MLflow. Raises SettingsError without one."""
    if found := asked or settings.mlflow_uri:
        return found
    raise SettingsError("No MLflow server is configured. Set GANBOARD_MLFLOW_URI or use --to.")


def require() -> None:
    """Raises SettingsError when MLflow is not installed."""
    if find_spec("mlflow") is None:
        raise SettingsError(
            "MLflow is not installed. Run `pip install 'ganboard[mlflow]'`; to do without, unset"
            " GANBOARD_MLFLOW_URI."
        )


def sync(context: Context, uri: str, ended: threading.Event) -> None:
    """Go round until `ended`; while MLflow is down, ask again more and more slowly."""
    held, pause = MlflowSync(context, uri), POLL_SECONDS
    while not ended.is_set():
        try:
            held.round()
            if pause != POLL_SECONDS:
                log.info("MLflow at %s accepts data again.", uri)
            pause = POLL_SECONDS
        except (MlflowUnreachable, DbError) as error:
            if pause == POLL_SECONDS:
                log.warning("%s", error)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        ended.wait(pause)


def main(uri: str | None, *, once: bool) -> int:
    """Serve until SIGINT or SIGTERM, or go round `once`."""
    context = open_context()
    uri = address(uri, context.settings)
    if once:
        MlflowSync(context, uri).round()
        return 0
    die_with_named_parent()
    logs.configure()
    ended = threading.Event()
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: ended.set())
    sync(context, uri, ended)
    return 0


def _losses(epochs: Iterable[Epoch]) -> Iterator[Any]:
    from mlflow.entities import Metric

    for epoch in epochs:
        own = {
            "g_loss": epoch.g_loss,
            "d_loss": epoch.d_loss,
            "seconds": epoch.seconds,
            "compile_seconds": epoch.compile_seconds,
        }
        rate = {"images_per_second": epoch.images / epoch.seconds} if epoch.seconds else {}
        for name, value in (own | rate | epoch.measures).items():
            if value is not None:
                yield Metric(name, value, _milliseconds(epoch.finished_at), epoch.epoch)


def _quality(evaluations: Iterable[Quality], source: Source) -> Iterator[Any]:
    """MLflow compares metrics by their names: numbers of other features have others."""
    from mlflow.entities import Metric

    for evaluated in evaluations:
        for name, value in by_qualified_name(evaluated.measures, source).items():
            yield Metric(
                f"quality/{name}", value, _milliseconds(evaluated.made_at), evaluated.epoch
            )


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


if __name__ == "__main__":
    try:
        sys.exit(main(None, once=False))
    except CLEAR_ERRORS as error:
        print(f"ganboard: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
