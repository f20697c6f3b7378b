"""One evaluation: its images, what it cost, and the ways to its run."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.compare.images import enlarged
from ganboard.app.frontier.controls import Options
from ganboard.app.frontier.points import COSTS
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.comparison.comparable import Entry
from ganboard.worker.context import Context


def draw(context: Context, entry: Entry, row: pd.Series[Any], words: str, options: Options) -> None:
    """`row` is of `app.frontier.points.points`, `words` say what sets the run apart."""
    run, engine = entry.run, context.engine
    with st.container(border=True, key="preview", gap="small"):
        st.page_link(
            navigation.RUN_PAGE,
            label=formatting.escape(formatting.shorten(run.name, 60)),
            icon=formatting.STATUS[run.shown_status].icon,
            query_params={"run": run.id, "at": str(row["grid"])},
        )
        value = formatting.decimal(row["y"], options.metric.digits)
        spent = "–" if pd.isna(row["x"]) else COSTS[options.cost].words(float(row["x"]))
        st.markdown(
            f"**{formatting.escape(options.metric.label)} {value}** after {spent}, epoch"
            f" {row['epoch']}"
        )
        if words:
            st.caption(formatting.escape(words))
        _images(engine, run.id, int(row["grid"]), int(row["epoch"]))
        st.page_link(
            navigation.LAUNCH_PAGE,
            label="Clone",
            icon=":material/content_copy:",
            query_params={"clone": run.id},
            help="Open the launch form with these settings.",
        )


def _images(engine: Engine, run_id: str, epoch: int, evaluated: int) -> None:
    attempts = queries.grid_attempts(engine, run_id)
    image = None
    if epoch in attempts:
        image = enlarged(engine, str(engine.url), run_id, epoch, attempts[epoch])
    if image is None:
        st.caption("No images were saved up to this evaluation.")
        return
    when = "Before training" if epoch == 0 else f"After epoch {epoch}"
    caption = when if epoch == evaluated else f"{when}, the last saved before epoch {evaluated}"
    st.image(image, width="stretch", output_format="PNG", caption=caption, alt=caption)
