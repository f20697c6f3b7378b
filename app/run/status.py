"""What a run is doing, in words: its phase, its progress, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from ganboard.app.run import script
from ganboard.db.models import ACTIVE, WAITING, WORKERS, Event, Run
from ganboard.db.runs import holders, runtime_estimation
from ganboard.worker import formatting
from ganboard.worker.training import start

TILE = 165  # pixels: two fit on a phone


@dataclass(frozen=True)
class Progress:
    """How far a run is: the fraction of its steps, epochs begun, and the seconds left
    (`db.runs.runtime_estimation.time_left`)."""

    fraction: float
    epoch: int
    epochs: int
    step: int
    steps: int | None
    seconds_left: float | None


def progress(run: Run) -> Progress:
    """Seconds left are None until a speed was measured; compiling that may still come is not in
    them. A script may not say how many epochs it plans: then they are 0."""
    if run.external:
        epochs = script.planned_epochs(run)
        total = epochs * (run.steps_per_epoch or 0) or None
        share = min(1.0, run.step / total) if total else 0.0
        return Progress(share, run.epoch, epochs, run.step, total, None)
    epochs = int(run.config["epochs"])
    if not run.steps_per_epoch:
        return Progress(0.0, 0, epochs, run.step, None, None)
    steps = epochs * run.steps_per_epoch
    left = runtime_estimation.time_left(run) if run.status in ACTIVE else None
    begun = min(epochs, run.step // run.steps_per_epoch + (1 if run.status in ACTIVE else 0))
    return Progress(min(1.0, run.step / steps), begun, epochs, run.step, steps, left)


def activity(
    run: Run, *, ahead: int, workers: int, now: datetime, awaited: holders.Awaited | None = None
) -> str:
    """One sentence, as Markdown without anything that a person typed, on what a run is doing.

    `ahead` is the number of waiting runs before it, `workers` that of live workers, `now` the
    database's time, `awaited` what keeps a waiting run from a free worker.
    """
    if run.external:
        return script.activity(run, now)
    if run.status in WAITING:
        if awaited is not None and (workers or run.placement != WORKERS):
            left = (
                ""
                if awaited.seconds_left is None
                else f"; it ends in {formatting.duration(awaited.seconds_left)}"
            )
            return f"{formatting.escape(awaited.reason)}{left}."
        place = "next in line" if ahead == 0 else f"{formatting.plural(ahead, 'run')} ahead"
        if workers:
            return f"Waiting for a free worker: {place}."
        return (
            f"Waiting: {place}, but no worker is running. Start one with `ganboard up` or"
            " `ganboard worker`."
        )
    if run.status == "failed":
        return "Ended with an error."
    if run.status not in ACTIVE:
        return formatting.STATUS[run.shown_status].meaning
    if run.lease_until is not None and is_silent(run, now):
        silent = formatting.duration((now - run.lease_until).total_seconds())
        return f"No heartbeat for {silent}; another worker will resume from the latest checkpoint."
    if run.stop_requested_at is not None:
        return "Stopping: a checkpoint is saved after the current step."
    if run.phase == "training":
        done = progress(run)
        return f"Training epoch {done.epoch} of {done.epochs}."
    since = ""
    if run.phase_since is not None:
        since = f" for {formatting.duration(max(0.0, (now - run.phase_since).total_seconds()))}"
    starting = start.seconds_of_start(run, now)
    slow = f" ({start.SLOW})" if starting is not None and starting >= start.SLOW_SECONDS else ""
    far = f": {formatting.escape(run.phase_progress)}" if run.phase_progress else ""
    return f"{formatting.phase_word(run.phase) or 'Starting'}{since}{far}{slow}."


def is_silent(run: Run, now: datetime) -> bool:
    return run.status in ACTIVE and run.lease_until is not None and run.lease_until < now


def alert(run: Run, troubles: list[Event]) -> tuple[str, str] | None:
    """The one thing that a person must know now, as Markdown for one line, and all of it; None
    while all is well.

    `troubles` are the run's warnings and errors, newest first; those of earlier attempts count only
    if they were errors.
    """
    present = [
        event for event in troubles if event.attempt == run.attempt or event.level == "error"
    ]
    broken = [
        name
        for name, loss in (("generator", run.g_loss), ("discriminator", run.d_loss))
        if loss is not None and not math.isfinite(loss)
    ]
    if broken:
        sentence = (
            f"The run has diverged: the loss of the {' and of the '.join(broken)} is no longer"
            " finite."
        )
        return f":red[:material/error: **{sentence}**]", "\n".join(
            [sentence, *(event.text for event in present[:1])]
        )
    if not present:
        return None
    newest, more = (
        present[0],
        (
            f" · {formatting.plural(len(present), 'warning')}, see Events"
            if len(present) > 1
            else ""
        ),
    )
    colour, icon = ("red", "error") if newest.level == "error" else ("orange", "warning")
    return (
        (
            f":{colour}[:material/{icon}:"
            f" {formatting.escape(formatting.shorten(newest.text, 90))}]{more}"
        ),
        newest.text,
    )


def tiles(entries: Sequence[tuple[str, str, str]]) -> None:
    """Metrics in a row, two per row on a phone: label, value and explanation."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap="small"):
        for label, value, meaning in entries:
            st.metric(label, value, help=meaning, width=TILE)
