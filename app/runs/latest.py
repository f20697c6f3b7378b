"""The card of a run: the one that is previewed; else the one that trains, else the newest; or
always the newest, for whoever follows it."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.app.theme import style
from ganboard.db.models import ACTIVE, WAITING, Epoch, Run
from ganboard.db.placement import backlog
from ganboard.db.runs import queries, runtime_estimation
from ganboard.gan.config import invalid_reason
from ganboard.worker import formatting
from ganboard.worker.context import Context

SPARK_EPOCHS = 60
SPARK_LEAST = 5  # fewer points are no course
# on a phone the text is beside the picture and the three metrics are in one row
STYLE = """
.st-key-latest { min-height: 190px; }  /* the table stays in place from one preview to the next */
@media (max-width: 640px) {
  [data-testid="stLayoutWrapper"]:has(> .st-key-latest_words) {
    flex: 1 1 180px; min-width: 0; width: auto;
  }
  .st-key-latest [data-testid="stElementContainer"]:has(> [data-testid="stMetric"]) {
    flex: 1 1 22%; min-width: 0; width: auto;
  }
}
"""


def card(context: Context) -> None:
    style.apply(STYLE)
    with st.container(
        border=True, horizontal=True, vertical_alignment="center", gap="medium", key="latest"
    ):
        picture = st.container(width="content")
        with st.container(width=380, gap="small", key="latest_words"):
            headline = st.container(gap="small")
            with st.container(horizontal=True, vertical_alignment="center"):
                opener = st.container(width="content")
                follow = st.toggle(
                    "Follow the newest",
                    key="follow",
                    bind="query-params",
                    help=(
                        "Show the most recently submitted run, here and on the page that Open"
                        " leads to, instead of the one that is training"
                    ),
                )
        run, previewed = _chosen(context, follow)
        if run is None:
            return
        with opener.container(horizontal=True, gap="small"):
            if st.button("Open", icon=":material/open_in_full:", key=f"open_{run.id}"):
                navigation.open_run("latest" if follow and not previewed else run.id)
            if previewed:
                st.button(
                    "Close preview",
                    icon=":material/close:",
                    key="close_preview",
                    type="tertiary",
                    help="Show the run that trains, or the newest",
                    on_click=navigation.set_preview_param,
                    args=(None,),
                )
        if not run.external and (why := invalid_reason(run.config)):
            headline.markdown(formatting.sentence(f"{formatting.shorten(run.name, 48)}: {why}"))
            return
        displayed = queries.grid_epochs(context.engine, run.id)
        if displayed:
            png = _thumbnail(context, str(context.engine.url), run.id, run.attempt, displayed[-1])
            picture.image(png, width=120, alt=f"Generated images after epoch {displayed[-1]}")
        with headline:
            _headline(context, run)
        _metrics(run, queries.epochs(context.engine, run.id, after=run.epoch - SPARK_EPOCHS))


def _chosen(context: Context, follow: bool) -> tuple[Run | None, bool]:
    """The run of the card, and whether it is there since it is previewed."""
    asked = navigation.preview_param()
    if asked and (run := queries.get_run(context.engine, asked)):
        return run, True
    active = [] if follow else queries.list_runs(context.engine, statuses=ACTIVE, limit=1)
    return next(iter(active or queries.list_runs(context.engine, limit=1)), None), False


def _headline(context: Context, run: Run) -> None:
    st.markdown(
        f"**{formatting.escape(formatting.shorten(run.name, 48))}**"
        f" &ensp;{formatting.status_badge(run.shown_status)}"
    )
    if run.external:
        st.caption(f"Trained by a script: step {run.step:,}")
        return
    total = (run.steps_per_epoch or 0) * run.config["epochs"]
    if run.status in WAITING:
        ahead = backlog.queue_position(context.engine, run)
        st.caption(
            f"Waiting for a worker, {formatting.plural(ahead, 'run')} ahead"
            if ahead
            else "Next in the queue"
        )
    elif run.status in ACTIVE and not run.step:
        st.caption(f"{formatting.phase_word(run.phase)} …")
    else:
        st.progress(
            min(1.0, run.step / total) if total else 0.0,
            text=f"Epoch {run.epoch} of {run.config['epochs']}{_left(run)}",
        )


def _left(run: Run) -> str:
    """Time left, while it trains."""
    left = runtime_estimation.time_left(run) if run.status in ACTIVE else None
    return "" if left is None else f", about {formatting.duration(left)} left"


def _metrics(run: Run, epochs: list[Epoch]) -> None:
    speeds = [epoch.images / epoch.seconds for epoch in epochs if epoch.seconds > 0]
    for label, value, series in (
        ("G loss", formatting.decimal(run.g_loss, 3), [epoch.g_loss for epoch in epochs]),
        ("D loss", formatting.decimal(run.d_loss, 3), [epoch.d_loss for epoch in epochs]),
        ("Images/s", formatting.rate(run.images_per_second), speeds),
    ):
        st.metric(
            label, value, chart_data=series if len(series) >= SPARK_LEAST else None, width=150
        )


@st.cache_data(max_entries=64, show_spinner=False)
def _thumbnail(_context: Context, database: str, run_id: str, attempt: int, epoch: int) -> bytes:
    grid = queries.grid(_context.engine, run_id, epoch)
    assert grid is not None
    return grid.png
