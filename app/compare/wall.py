"""The fixed latents of several runs over all epochs, beside their quality."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.compare.comparison import Compared, by_run
from ganboard.app.run.requested import evaluation
from ganboard.app.wall import controls as wall_controls
from ganboard.app.wall import data, widget
from ganboard.app.wall.widget import Metric
from ganboard.db.curves import series
from ganboard.gan.quality.declared import METRICS
from ganboard.worker import formatting


def controls(engine: Engine, compared: Compared) -> int:
    """The evaluation of runs that have none, and how many latents are shown."""
    evaluation.of_runs(navigation.context(), compared.runs)
    return wall_controls.latents()


def draw(engine: Engine, compared: Compared, latents: int) -> None:
    """The tab Latent wall."""
    labels = compared.labels()
    evaluated = series.quality_frame(engine, compared.ids, METRICS)
    measure = compared.headline(evaluated)
    among = {run.id for run in compared.comparable(measure)}
    frames = by_run(compared, evaluated)
    wall = data.build(
        engine,
        compared.runs,
        labels,
        latents=latents,
        values={run_id: frame for run_id, frame in frames.items() if run_id in among},
        measure=measure,
        metric=Metric(compared.called(measure), METRICS[measure].digits),
        opened=wall_controls.asked(),
    )
    if wall is None:
        st.caption("None of these runs has saved an image grid yet.")
        return
    shown = {block.id for block in wall.runs}
    if without := [labels[run.id] for run in compared.runs if run.id not in shown]:
        st.caption(f":material/info: Without images: {formatting.escape(', '.join(without))}.")
    if said := data.sharing([run for run in compared.runs if run.id in shown], labels):
        st.caption(f":material/info: {formatting.escape(said)}")
    widget.show(wall, key="wall-compared")
    if wall.metric is None:
        st.caption(wall_controls.UNEVALUATED)
    elif sentence := compared.conflict(measure):
        st.caption(
            f":material/info: {formatting.escape(sentence)} Only runs with"
            f" {compared.source.label} features have a curve."
        )
    st.caption(wall_controls.HOW)
