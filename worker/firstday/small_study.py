"""The part that launches a study within its smallest budget and trains its runs here, one after the
other, without queue and worker."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from ganboard.db import studies
from ganboard.db.errors import DbError, LeaseLost, NotAllowed
from ganboard.db.models import ENDED, Run
from ganboard.db.models import Study as Stored
from ganboard.db.runs import annotations as notes
from ganboard.db.runs import commands, queries
from ganboard.gan.config import ConfigError
from ganboard.gan.studies import built_in
from ganboard.worker.firstday.day import Day, Result
from ganboard.worker.formatting import duration, rate
from ganboard.worker.studies import study as launcher
from ganboard.worker.terminal.run_view import View

STUDY, BUDGET = "precision-xla", "tiny"
TAG = "firstday"
_POLL_SECONDS = 1.0
_LEAST_SECONDS = 15.0  # to start another run with


def study(day: Day) -> Result:
    """Train the study's runs as far as the time goes; what it has not is listed."""
    changes = day.settings()
    del changes["dataset"], changes["batch_size"]
    try:
        stored, queued = launcher.launch(day.context, built_in(STUDY, BUDGET, changes))
    except (ConfigError, DbError) as error:
        return Result("fail", f"The study cannot be launched: {error}")
    runs = launcher.runs_of(day.context, stored.id)
    day.runs += [run.id for run in runs]
    notes.add_tags(day.context.engine, run_ids=[run.id for run in runs], tags=[TAG])
    for number, run in enumerate(runs, 1):
        if run.status in ENDED or day.left() < _LEAST_SECONDS:
            continue
        day.doing(f"run {number} of {len(runs)}: {run.name}")
        _train(day, run)
        ended = queries.find_run(day.context.engine, run.id)
        if ended.status == "stopped" and day.left() > _LEAST_SECONDS:
            break  # Ctrl-C
    _stop_the_rest(day, [run.id for run in queued])
    return _result(day, stored)


def _train(day: Day, run: Run) -> None:
    """Train a run in processes of its own until it ends or the time is over."""
    from ganboard.worker.queue.job import train_here

    def stop() -> None:
        with suppress(DbError):
            commands.request_stop(day.context.engine, run_id=run.id)

    timer = threading.Timer(max(1.0, day.left()), stop)
    timer.start()
    try:
        train_here(day.context, run.id, View())
    except LeaseLost:
        _wait(day, run)
    finally:
        timer.cancel()


def _wait(day: Day, run: Run) -> None:
    """A worker of this installation trains it: wait for that, as long as there is time."""
    while day.left() > 0:
        if queries.find_run(day.context.engine, run.id).status in ENDED:
            return
        time.sleep(_POLL_SECONDS)


def _stop_the_rest(day: Day, run_ids: list[str]) -> None:
    """Nobody should train later what this day had no time for."""
    for run in queries.get_runs(day.context.engine, run_ids):
        if run.status not in ENDED:
            with suppress(NotAllowed):
                commands.request_stop(day.context.engine, run_id=run.id)


def _result(day: Day, stored: Stored) -> Result:
    runs = launcher.runs_of(day.context, stored.id)
    finished = [run for run in runs if run.status == "finished"]
    failed = [f"{run.name}: {run.error}" for run in runs if run.status == "failed"]
    rows = [
        (run.name, run.status, duration(run.seconds or None), rate(run.images_per_second))
        for run in runs
    ]
    missing = [run.name for run in runs if run.status not in ("finished", "failed")]
    text = f"{len(finished)} of {len(runs)} runs of the study {STUDY} finished."
    for one in _findings(day, stored, finished):
        text += f" {one.title}: {one.finding}"
    how = f"`ganboard study {STUDY} --preset {BUDGET}`, trained here one after the other."
    columns = ("run", "state", "training", "images/s")
    if failed:
        return Result("fail", "; ".join(failed), how, columns, rows, missing)
    return Result("ok" if finished else "not done", text, how, columns, rows, missing)


def _findings(day: Day, stored: Stored, finished: list[Run]) -> list[Any]:
    """What the study says of its finished runs."""
    if not finished:
        return []
    from ganboard.worker.studies import results
    from ganboard.worker.studies.results.study_data import StudyData

    definition = studies.find(day.context.engine, stored.id).definition
    data = StudyData.of(day.context.engine, finished, definition)
    return results.make(data, list(definition["figures"]))
