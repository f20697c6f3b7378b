"""The header of a run's page, which stays in view: name, state, actions, progress and five numbers;
and the lines below it, which scroll away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ganboard.app import navigation
from ganboard.app.run import buttons, origin, script
from ganboard.app.run.status import activity, alert, is_silent, progress
from ganboard.app.theme import style
from ganboard.db import heartbeats
from ganboard.db.models import WAITING, WORKERS, Run
from ganboard.db.placement import backlog
from ganboard.db.runs import queries, runtime_estimation
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.placement import waiting as why

TILE = 118  # pixels of a number: what it says changes nothing beside it
STYLE = """
[data-testid="stMain"] { scroll-padding-top: 13rem; }
[data-testid="stLayoutWrapper"]:has(> .st-key-run_header) {
  position: sticky; top: 3.75rem; z-index: 9999;
  background: light-dark(#ffffff, #10151c);
  border-bottom: 1px solid light-dark(#dfe4ea, #2b3642);
}
.st-key-run_header { gap: .3rem; padding-bottom: .4rem; }
.st-key-run_header h1 { font-size: 1.2rem; padding: 0; }
.st-key-run_title { flex-wrap: nowrap; }
.st-key-run_title > :has(h1) { min-width: 4rem; }
.st-key-run_title > :not(:has(h1)) { flex-shrink: 0; }
.st-key-run_header button { min-height: 2rem; padding: 0 .6rem; }
.st-key-run_header [data-testid="stMetricValue"] { font-size: 1rem; padding: 0; }
.st-key-run_header [data-testid="stMetricLabel"] { min-height: 0; }
.st-key-run_header [data-testid="stMetricLabel"] p { font-size: .75rem; }
.st-key-run_header [data-testid="stProgress"] p { font-size: .85rem; }
.st-key-run_lines { min-height: 1.75rem; }
@media (max-width: 640px) {
  .st-key-run_header { gap: .2rem; }
  .st-key-run_title, .st-key-run_numbers { flex-wrap: wrap; row-gap: .2rem; }
  .st-key-run_title > :has(h1) { max-width: calc(100% - 9.5rem); }
  .st-key-run_title > :has(> .st-key-run_buttons) { flex: 1 0 100%; }
  .st-key-run_buttons, .st-key-run_tiles { flex-wrap: nowrap; overflow-x: auto; }
  .st-key-run_buttons { justify-content: flex-start; }
  .st-key-run_lines { row-gap: .2rem; }
  .st-key-run_buttons button { min-height: 1.75rem; }
  .st-key-run_buttons button p { position: absolute; clip-path: inset(50%); }
}
"""


@dataclass(frozen=True)
class Head:
    """The places of what is drawn anew with every tick."""

    state: DeltaGenerator  # beside the name
    numbers: DeltaGenerator
    lines: DeltaGenerator


@dataclass(frozen=True)
class Link:
    """A way to another run."""

    label: str
    run: str  # an id, or "latest"
    icon: str
    help: str


def place(context: Context, run: Run) -> Head:
    """Draw the name and the buttons; `show` draws the rest."""
    style.apply(STYLE)
    with st.container(key="run_header"):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key="run_title"
        ):
            name = formatting.escape(formatting.shorten(run.name, 80))
            st.title(name, anchor=False, width="content", wrap=False)
            state = st.container(
                horizontal=True, vertical_alignment="center", gap="xsmall", width="content"
            )
            buttons.show(context, run)
        numbers = st.container()
    return Head(state, numbers, st.container())


def show(context: Context, run: Run, head: Head, link: Link) -> None:
    """What is so now; every line is always there, so that nothing below moves."""
    troubles = queries.events(context.engine, run.id, levels=("warning", "error"))
    said = None if run.status == "failed" else alert(run, troubles)
    with head.state:
        st.markdown(
            formatting.status_badge(run.shown_status),
            width="content",
            help=formatting.STATUS[run.shown_status].meaning,
        )
        if said:
            serious = said[0].startswith(":red")
            many = str(max(1, len(troubles)))
            st.badge(
                many,
                icon=":material/error:" if serious else ":material/warning:",
                color="red" if serious else "orange",
                help=formatting.escape(said[1]),
            )
    with (
        head.numbers,
        st.container(horizontal=True, vertical_alignment="center", gap="medium", key="run_numbers"),
    ):
        _bar(run)
        _tiles(
            script.newest(context, run) if run.external and run.g_loss is None else _metrics(run)
        )
    with head.lines:
        _lines(context, run, link, said, len(troubles))
        if run.status == "failed":
            _failure(run)


def _lines(
    context: Context, run: Run, link: Link, said: tuple[str, str] | None, troubles: int
) -> None:
    """One line: what the run does, what is wrong, where it comes from, and the way to others."""
    now = queries.database_time(context.engine)
    waiting = run.status in WAITING
    ahead = backlog.queue_position(context.engine, run) if waiting else 0
    workers = sum(worker.alive for worker in heartbeats.workers(context.engine)) if waiting else 0
    awaited = why.reasons(context, [run]).get(run.id)
    doing = activity(run, ahead=ahead, workers=workers, now=now, awaited=awaited)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="run_lines"):
        st.markdown(doing, width="content")
        stuck = (waiting and not workers and run.placement == WORKERS) or is_silent(run, now)
        _alert(run, said, troubles=troubles, stuck=stuck)
        st.caption(
            _origin(run, (now - run.created_at).total_seconds()),
            width="content",
            help="Submission time, worker, number of attempts and run id.",
        )
        if run.sweep:
            origin.link(context, run.sweep, length=28)
        st.page_link(
            navigation.RUN_PAGE,
            label=link.label,
            icon=link.icon,
            query_params={"run": link.run},
            help=link.help,
            width="content",
        )


def _alert(run: Run, said: tuple[str, str] | None, *, troubles: int, stuck: bool) -> None:
    """The newest trouble; `troubles` counts all, `stuck` is one that `activity` states
    already."""
    if said:
        st.markdown(said[0], help=formatting.escape(said[1]), width="stretch", wrap=False)
        return
    word = "" if stuck or run.status == "failed" else ":material/check: No warnings"
    if troubles and run.status != "failed":
        many = formatting.plural(troubles, "warning")
        word = f":material/history: {many} before this attempt, see Events"
    about = "Problems during training are shown here and listed under Events."
    st.markdown(word and f":gray[{word}]", help=about if word else None, width="stretch")


def _origin(run: Run, age: float) -> str:
    parts = [f"submitted {formatting.ago(age)}"]
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


def _metrics(run: Run) -> Sequence[tuple[str, str, str]]:
    """Label, value and explanation of the five numbers."""
    each = run.epoch and run.seconds / run.epoch
    of_losses = "Loss of the latest step, or the mean of an epoch that has just ended."
    return (
        ("Generator loss", formatting.decimal(run.g_loss), of_losses),
        ("Discriminator loss", formatting.decimal(run.d_loss), of_losses),
        (
            "Images per second",
            formatting.rate(run.images_per_second),
            f"{runtime_estimation.RATE}.",
        ),
        (
            "Seconds per epoch",
            formatting.duration(each or None),
            "Mean over the finished epochs, without compilation.",
        ),
        (
            "Training time",
            formatting.duration(run.seconds or None),
            "Training time of all finished epochs, without compilation and waiting.",
        ),
    )


def _tiles(entries: Sequence[tuple[str, str, str]]) -> None:
    """Metrics in a row: label, value and explanation."""
    with st.container(horizontal=True, gap="small", width="content", key="run_tiles"):
        for label, value, meaning in entries:
            st.metric(label, value, help=meaning, width=TILE)
