"""What a run is doing: its status, phase, progress and latest metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from ganboard.app import navigation
from ganboard.app.run import script
from ganboard.db import heartbeats
from ganboard.db.models import ACTIVE, WAITING, Event, Run
from ganboard.db.runs import holders, queries, runtime_estimation
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.training import start

TILE = 165  # pixels: two fit on a phone
# two lines: a warning moves nothing
STEADY = ".st-key-trouble {min-height: 3rem; justify-content: center}"


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
    database's time, `awaited` the machine that a waiting run is left to.
    """
    if run.external:
        return script.activity(run, now)
    if run.status in WAITING:
        if awaited is not None and workers:
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
        return formatting.STATUS[run.status].meaning
    if run.lease_until is not None and _is_silent(run, now):
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


def _is_silent(run: Run, now: datetime) -> bool:
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


@dataclass(frozen=True)
class Link:
    """A way to another run, at the head of the page."""

    label: str
    run: str  # an id, or "latest"
    icon: str
    help: str


def show(context: Context, run: Run, link: Link) -> None:
    """The live head of a run's page; its lines are always there, so that nothing below them
    moves."""
    now = queries.database_time(context.engine)
    waiting = run.status in WAITING
    ahead = queries.queue_position(context.engine, run) if waiting else 0
    workers = sum(worker.alive for worker in heartbeats.workers(context.engine)) if waiting else 0
    awaited = (
        holders.awaited(context.engine, run, context.settings.machine_wait_seconds)
        if waiting
        else None
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            formatting.status_badge(run.status),
            width="content",
            help=formatting.STATUS[run.status].meaning,
        )
        st.markdown(
            activity(run, ahead=ahead, workers=workers, now=now, awaited=awaited), width="stretch"
        )
        st.caption(
            _origin(run, now),
            width="content",
            help="Submission time, worker, number of attempts and run id.",
        )
        st.page_link(
            navigation.RUN_PAGE,
            label=link.label,
            icon=link.icon,
            query_params={"run": link.run},
            help=link.help,
            width="content",
        )
    if run.status == "failed":
        _failure(run)
    bar, trouble = st.columns([3, 2], vertical_alignment="center", gap="medium")
    with bar:
        _bar(run)
    with trouble, st.container(key="trouble"):
        _alert(context, run, stuck=(waiting and not workers) or _is_silent(run, now))
    if run.external and run.g_loss is None:
        tiles(script.newest(context, run))
        return
    _metrics(run)


def _alert(context: Context, run: Run, *, stuck: bool) -> None:
    """The newest trouble; `stuck` is one that `activity` states already."""
    if run.status == "failed":
        st.markdown("", width="stretch")
        return
    troubles = queries.events(context.engine, run.id, levels=("warning", "error"))
    if said := alert(run, troubles):
        st.markdown(said[0], help=formatting.escape(said[1]), width="stretch")
        return
    word = "" if stuck else ":material/check: No warnings"
    if troubles:
        word = (
            f":material/history: {formatting.plural(len(troubles), 'warning')} before this attempt,"
            " see Events"
        )
    about = "Problems during training are shown here and listed under Events."
    st.markdown(word and f":gray[{word}]", help=about if word else None, width="stretch")


def _origin(run: Run, now: datetime) -> str:
    parts = [f"submitted {formatting.ago((now - run.created_at).total_seconds())}"]
    if run.worker:
        parts.append(f"on {formatting.escape(formatting.shorten(run.worker))}")
    if run.attempt > 1:
        parts.append(f"attempt {run.attempt}")
    return " · ".join([*parts, f"`{run.id}`"])


def _failure(run: Run) -> None:
    with st.container(border=True):
        st.markdown(":red[:material/error: **The run failed.**]")
        st.text(run.error or "No error message was recorded.")
        st.caption(
            "Its script reported this, or stopped reporting; see **Events**."
            if run.external
            else "See the **Log** and **Events** tabs. After fixing the cause, **Resume** continues"
            " from the latest checkpoint; **Clone** starts a new run with other settings."
        )


def _bar(run: Run) -> None:
    done = progress(run)
    if run.external and not done.steps:
        st.caption(script.progress(run))
        return
    parts = (
        [f"Epoch {done.epoch} of {done.epochs}"]
        if done.steps
        else [formatting.plural(done.epochs, "epoch") + " planned"]
    )
    if done.steps:
        parts.append(f"step {done.step:,} of {done.steps:,}")
    if done.seconds_left is not None:
        parts.append(f"about {formatting.duration(done.seconds_left)} left")
    st.progress(done.fraction, text=" · ".join(parts))


def _metrics(run: Run) -> None:
    left = run.epoch and run.seconds / run.epoch
    entries = (
        (
            "Generator loss",
            formatting.decimal(run.g_loss),
            "Loss of the latest step, or the mean of an epoch that has just ended.",
        ),
        (
            "Discriminator loss",
            formatting.decimal(run.d_loss),
            "Loss of the latest step, or the mean of an epoch that has just ended.",
        ),
        (
            "Images per second",
            formatting.rate(run.images_per_second),
            f"{runtime_estimation.RATE}.",
        ),
        (
            "Seconds per epoch",
            formatting.duration(left or None),
            "Mean over the finished epochs, without compilation.",
        ),
        (
            "Training time",
            formatting.duration(run.seconds or None),
            "Training time of all finished epochs, without compilation and waiting.",
        ),
    )
    tiles(entries)


def tiles(entries: Sequence[tuple[str, str, str]]) -> None:
    """Metrics in a row, two per row on a phone: label, value and explanation."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap="small"):
        for label, value, meaning in entries:
            st.metric(label, value, help=meaning, width=TILE)
