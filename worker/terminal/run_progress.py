"""Live progress of one run in the terminal, fed either by a trainer's events or by looking at the
database."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from ganboard.db import heartbeats
from ganboard.db.errors import UnknownRun
from ganboard.db.models import ENDED, WAITING, WORKERS, Run
from ganboard.db.placement import backlog
from ganboard.db.runs import queries, runtime_estimation
from ganboard.gan.config import RunConfig
from ganboard.gan.events import (
    EpochDone,
    Event,
    Note,
    Phase,
    PhaseProgress,
    Quality,
    Started,
    Steps,
)
from ganboard.worker.context import Context
from ganboard.worker.formatting import phase_progress, plural
from ganboard.worker.placement import waiting as why
from ganboard.worker.terminal.run_view import State, View
from ganboard.worker.training.start import PHASES, seconds_of_start

POLL_SECONDS = 0.5


class EventFeed:
    """A `Sink` that shows a trainer's events."""

    def __init__(self, config: RunConfig, view: View) -> None:
        self._view, self._state = view, State(epochs=config.epochs)
        self._steps_per_epoch = 0
        self._batch_size = config.batch_size
        self._timed: list[tuple[int, float]] = []

    def __call__(self, event: Event) -> None:
        state = self._state
        match event:
            case Phase():
                state.phase, state.phase_since = event.name, datetime.now(UTC)
                state.phase_progress = ""
            case PhaseProgress():
                state.phase_progress = phase_progress(event.doing, event.share, event.seconds_left)
            case Started():
                self._steps_per_epoch = event.steps_per_epoch
                state.step, state.steps = event.start_step, event.steps_per_epoch * state.epochs
            case Steps():
                state.step = (
                    (event.epoch - 1) * self._steps_per_epoch + event.first + len(event.g_losses)
                )
                state.g_loss, state.d_loss = float(event.g_losses[-1]), float(event.d_losses[-1])
            case EpochDone():
                self._timed.append((event.images, event.seconds))
                state.images_per_second = runtime_estimation.images_per_second(self._timed)
                self._view.epoch(event, state)
            case Quality():
                self._view.quality(event)
            case Note(level="warning" | "error"):
                self._view.say(event.text)
        if state.steps:
            left = (state.steps - state.step) * self._batch_size
            state.seconds_left = runtime_estimation.seconds_left(left, state.images_per_second)
        self._view.show(state)


def follow(context: Context, run_id: str, view: View) -> Run:
    """Show a stored run until it has ended; returns it. Raises UnknownRun when it is deleted
    meanwhile."""
    engine, epoch, evaluated, heard, said = context.engine, 0, 0, 0, ""
    while True:
        run = queries.get_run(engine, run_id)
        if run is None:
            raise UnknownRun(f"Run {run_id} was deleted.")
        state = _state(run)
        if run.phase in PHASES:
            state.starting = seconds_of_start(run, queries.database_time(engine))
        for done in queries.epochs(engine, run_id, after=epoch):
            epoch = done.epoch
            view.epoch(done, state)
        for quality in queries.qualities(engine, run_id, after=evaluated):
            evaluated = quality.epoch
            view.quality(quality)
        for event in queries.events(engine, run_id, limit=20)[::-1]:
            assert event.id is not None
            if event.id > heard:
                heard = event.id
                if event.level == "warning":
                    view.say(event.text)
        view.show(state)
        if run.status in ENDED:
            return run
        waiting = why_waiting(context, run)
        if waiting and waiting != said:
            view.say(waiting)
        said = waiting
        time.sleep(POLL_SECONDS)


def why_waiting(context: Context, run: Run) -> str:
    """One sentence on what a waiting run waits for; empty for any other."""
    if run.status not in WAITING:
        return ""
    alive = any(state.alive for state in heartbeats.workers(context.engine))
    if run.placement == WORKERS and not alive:
        return (
            f"No worker is running. Run {run.id} is stored and will start with `ganboard up` or"
            " `ganboard worker`."
        )
    if (awaited := why.reasons(context, [run]).get(run.id)) is not None:
        return f"{awaited.reason}."
    before = backlog.queue_position(context.engine, run)
    return (
        f"Run {run.id} is waiting for {plural(before, 'earlier run')}."
        if before
        else f"Run {run.id} is waiting for a free worker."
    )


def _state(run: Run) -> State:
    epochs = int(run.config["epochs"])
    steps = run.steps_per_epoch * epochs if run.steps_per_epoch else None
    phase = "waiting" if run.status in WAITING else run.phase or run.status
    return State(
        phase=phase,
        phase_since=None if run.status in WAITING else run.phase_since,
        phase_progress=run.phase_progress or "",
        epochs=epochs,
        step=run.step,
        steps=steps,
        g_loss=run.g_loss,
        d_loss=run.d_loss,
        images_per_second=run.images_per_second,
        seconds_left=runtime_estimation.time_left(run),
    )
