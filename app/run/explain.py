"""The tab Explain: what went wrong in a run, where on its curves, in its images, and a clone that
avoids it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.run.cache import by_epoch
from ganboard.app.widgets.live_plotly import Chart
from ganboard.db.curves import series
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import queries
from ganboard.gan.diagnosis.explain import Explanation
from ganboard.gan.diagnosis.trace import Finding, Kind
from ganboard.gan.quality.declared import METRICS
from ganboard.worker import diagnosis, formatting
from ganboard.worker.figures import diagnosis as bands
from ganboard.worker.figures import losses, quality

# the tab that shows the curve a finding follows from
TABS: dict[Kind, str] = {
    "not_finite": "Losses",
    "collapse": "Images",
    "discriminator": "Losses",
    "overflow": "Losses",
    "declined": "Quality",
    "plateau": "Quality",
    "spikes": "Losses",
    "straggler": "Events",
    "slow_epochs": "Timings",
    "restarts": "Events",
}
TIMING: frozenset[Kind] = frozenset({"straggler", "slow_epochs", "restarts"})  # change no image
SIDE = 132  # pixels of a picture


def draw(engine: Engine, run: Run) -> None:
    """The tab Explain."""
    if why := diagnosis.unexplained(run):
        st.caption(formatting.escape(why))
        return
    found, charts = by_epoch(engine, run, "explain", (), lambda: _explained(engine, run))
    if found.findings:
        for chart in charts:
            chart.show()
    else:
        st.markdown(":green[:material/check_circle: **No problem found.**]")
    grids = queries.grid_attempts(engine, run.id)
    for number, finding in enumerate(found.findings, 1):
        with st.container(border=True):
            _finding(engine, run, number, finding, grids)
    so_far = "" if run.status in ENDED else " so far"
    st.caption(f"Checked{so_far}: {formatting.escape('; '.join(found.checked))}.")


def _explained(engine: Engine, run: Run) -> tuple[Explanation, list[Chart]]:
    found = diagnosis.explained(engine, run)
    done = series.epochs_frame(engine, [run.id])
    evaluated = series.quality_frame(engine, [run.id], METRICS)
    plots = [losses.epochs(done)] if len(done) else []
    measure = quality.headline(run.config)
    if evaluated[measure].notna().any():
        plots.append(quality.course(evaluated, (measure,), x="epoch"))
    return found, [
        Chart.of(bands.mark(plot, found.findings), f"explain-{place}-{run.id}")
        for place, plot in enumerate(plots)
    ]


def _finding(
    engine: Engine, run: Run, number: int, finding: Finding, grids: dict[int, int]
) -> None:
    words, pictures = st.columns([3, 2], vertical_alignment="center")
    with words:
        st.markdown(f"**{number}. {finding.title}** &ensp;:gray[{finding.span}]")
        st.markdown(formatting.escape(finding.evidence))
        if finding.advice:
            st.markdown(f":material/lightbulb: {formatting.escape(finding.advice)}")
        with st.container(horizontal=True, vertical_alignment="center"):
            if finding.remedy and st.button(
                f"Clone with {changes(finding)}",
                icon=":material/content_copy:",
                key=f"clone_remedy_{number}",
                help="Opens the launch form with this run's settings and these changes.",
            ):
                navigation.open_launch(clone=run.id, changes=changes(finding, separator=","))
            tab = TABS[finding.kind]
            st.page_link(
                navigation.RUN_PAGE,
                label=f"Show {tab}",
                icon=":material/show_chart:",
                query_params={"run": run.id, "view": tab},
            )
    if finding.kind in TIMING:
        return
    with pictures, st.container(horizontal=True, gap="small"):
        for epoch in around(sorted(epoch for epoch in grids if epoch >= 0), finding):
            caption = f"Epoch {epoch}"
            png = _picture(engine, str(engine.url), run.id, grids[epoch], epoch)
            st.image(png, width=SIDE, caption=caption, alt=f"Generated images after epoch {epoch}")


def changes(finding: Finding, separator: str = ", ") -> str:
    """The settings of the remedy: "beta_1=0.5"."""
    return separator.join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in finding.remedy.items()
    )


def around(epochs: Sequence[int], finding: Finding) -> list[int]:
    """The epochs of the pictures of a finding: the last before it, the last within it; of `epochs`
    in ascending order, those that have a picture."""
    before = [epoch for epoch in epochs if epoch < finding.first]
    within = [epoch for epoch in epochs if finding.first <= epoch <= finding.last]
    return before[-1:] + within[-1:]


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(_engine: Engine, database: str, run_id: str, attempt: int, epoch: int) -> bytes:
    grid = queries.grid(_engine, run_id, epoch)
    return grid.png if grid else b""
