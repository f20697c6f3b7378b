"""The latent wall on the page of a run and in comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run.charts import nothing
from ganboard.app.run.requested import evaluation
from ganboard.app.wall import data, widget
from ganboard.app.wall.widget import Metric, Open
from ganboard.db.curves import series
from ganboard.db.ids import is_id
from ganboard.db.models import Run
from ganboard.gan.quality.declared import METRICS
from ganboard.worker import formatting
from ganboard.worker.context import Context

USUAL = 16  # latents
ALL = 0
CHOICES = (8, USUAL, 32, 64, ALL)
HOW = (
    "Columns are epochs, 0 is before training. Drag to move, wheel or pinch to zoom, double click"
    " to reset; click an image to follow it through all epochs."
)
OF_SCRIPTS = (
    "As the script made them: a position is the same sample in all epochs only if the script kept"
    " its inputs."
)


@dataclass(frozen=True)
class Options:
    latents: int  # ALL: as many as there are


def controls_of_run(context: Context, run: Run) -> Options:
    """How many latents, and the evaluation of a run that has none."""
    if not run.external:
        evaluation.of_run(context, run)
    return _choice()


def controls(engine: Engine, compared: Compared) -> Options:
    """How many latents, and the evaluation of runs that have none."""
    evaluation.of_runs(navigation.context(), compared.runs)
    return _choice()


def _choice() -> Options:
    chosen = st.segmented_control(
        "Latents",
        CHOICES,
        default=USUAL,
        required=True,
        format_func=lambda count: str(count) if count else "All",
        key="latents",
        bind="query-params",
        help="The first images of each grid, row by row: one row of the wall for each.",
    )
    return Options(chosen if chosen in CHOICES else USUAL)


def draw_run(engine: Engine, run: Run, options: Options) -> None:
    """The tab of a run."""
    if not _draw(engine, Compared([run], run), options, key=f"wall-{run.id}"):
        nothing(run, "The first column appears before the first step.")
        return
    thing = data.word([run]).lower()
    same = f"Every row is the same {thing} in all epochs." if data.known(run) else OF_SCRIPTS
    st.caption(f"{same} {HOW}")


def draw(engine: Engine, compared: Compared, options: Options) -> None:
    """The tab of a comparison."""
    if not _draw(engine, compared, options, key="wall-compared"):
        st.caption("None of these runs has saved an image grid yet.")
        return
    if said := data.sharing(compared.runs, compared.labels()):
        st.caption(f":material/info: {formatting.escape(said)}")
    st.caption(HOW)


def _draw(engine: Engine, compared: Compared, options: Options, *, key: str) -> bool:
    """Whether there is anything to draw."""
    frame = series.quality_frame(engine, compared.ids, METRICS)
    measure = compared.headline(frame)
    frames = by_run(compared, frame)
    among = {run.id for run in compared.comparable(measure)}
    wall = data.build(
        engine,
        compared.runs,
        compared.labels(),
        latents=options.latents,
        values={run_id: own for run_id, own in frames.items() if run_id in among},
        measure=measure,
        metric=Metric(compared.called(measure), METRICS[measure].digits),
        opened=asked(),
    )
    if wall is None:
        return False
    without = [run for run in compared.runs if run.id not in {block.id for block in wall.runs}]
    if without:
        st.caption(f":material/info: Without images: {_names(without, compared)}.")
    widget.show(wall, key=key)
    if wall.metric is None:
        st.caption(":material/info: There is no curve, since no epoch was evaluated.")
    elif sentence := compared.conflict(measure):
        st.caption(
            f":material/info: {formatting.escape(sentence)} Only runs with"
            f" {compared.source.label} features have a curve."
        )
    return True


def _names(runs: list[Run], compared: Compared) -> str:
    labels = compared.labels()
    return formatting.escape(", ".join(labels[run.id] for run in runs))


def asked() -> Open | None:
    """The image that `?latent=3&of=RUN&at=5` names, which counts latents from 1."""
    latent, epoch = st.query_params.get("latent", ""), st.query_params.get("at", "")
    if not (latent.isascii() and latent.isdigit() and 1 <= int(latent[:9]) <= 256):
        return None
    run = st.query_params.get("of", "")
    at = int(epoch[:9]) if epoch.isascii() and epoch.isdigit() else 2**31
    return Open(int(latent[:9]) - 1, run if is_id(run) else None, at)
