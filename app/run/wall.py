"""The fixed latents of a run over all epochs, beside its quality."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app.run.charts import nothing
from ganboard.app.run.requested import evaluation
from ganboard.app.wall import controls as wall_controls
from ganboard.app.wall import data, widget
from ganboard.app.wall.widget import Metric, Wall
from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import recorded
from ganboard.worker.context import Context
from ganboard.worker.figures import quality

OF_SCRIPTS = (
    "As the script made them: a row is the same sample in all epochs only if the script kept its"
    " inputs."
)


def controls(context: Context, run: Run) -> int:
    """The evaluation of a run that has none, and how many latents are shown."""
    if not run.external:
        evaluation.of_run(context, run)
    return wall_controls.latents()


def draw(engine: Engine, run: Run, latents: int) -> None:
    """The tab Latent wall."""
    evaluated = series.quality_frame(engine, [run.id], METRICS)
    wall = of_run(engine, run, evaluated, latents)
    if wall is None:
        nothing(run, "The first column appears before the first step.")
        return
    widget.show(wall, key=f"wall-{run.id}")
    if wall.metric is None:
        st.caption(wall_controls.UNEVALUATED)
    same = f"Every row is the same {wall.word.lower()} in all epochs."
    st.caption(f"{same if data.known(run) else OF_SCRIPTS} {wall_controls.HOW}")


def of_run(
    engine: Engine, run: Run, evaluated: pd.DataFrame, latents: int = wall_controls.ALL
) -> Wall | None:
    """The wall of one run, with the metric of `evaluated`, its `db.curves.series.quality_frame`;
    None without any image."""
    measure = quality.headline(run.config)
    return data.build(
        engine,
        [run],
        {run.id: run.name},
        latents=latents,
        values={run.id: evaluated},
        measure=measure,
        metric=Metric(METRICS[measure].called(recorded(run.facts)), METRICS[measure].digits),
        opened=wall_controls.asked(),
    )
