"""The curves of several runs: one by one, as differences to the baseline, or as means of groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ganboard.app.compare.comparison import Compared
from ganboard.app.compare.grouping import groups
from ganboard.worker import formatting
from ganboard.worker.figures import compare
from ganboard.worker.figures.many import bands
from ganboard.worker.figures.many.stacks import coinciding
from ganboard.worker.figures.template import Axis, along

NAMED = 2  # coinciding runs that are named


def quality(
    compared: Compared,
    among: Collection[str],
    frames: Mapping[str, pd.DataFrame],
    measure: str,
    *,
    x: Axis,
    log_y: bool,
    title: str,
) -> go.Figure:
    """A metric of the runs `among`, by `db.curves.series.quality_frame` of each."""
    if compared.grouping and x != "time":
        return means(compared, among, frames, column=measure, x=x, title=title, log_y=log_y)
    own = [one for one in compared.series() if one.run_id in among]
    return compare.quality(own, frames, measure=measure, x=x, log_y=log_y, title=title)


def means(
    compared: Compared,
    among: Collection[str],
    frames: Mapping[str, pd.DataFrame],
    *,
    column: str,
    x: Axis,
    title: str,
    log_x: bool = False,
    log_y: bool = False,
) -> go.Figure:
    """The mean of a column for each group of the comparison, with its band."""
    assert compared.grouping
    found = groups([run for run in compared.runs if run.id in among], compared.grouping.by)
    return bands.figure(
        {name: [frames[run.id] for run in own] for name, own in found.items()},
        column=column,
        x=x,
        title=title,
        spread=compared.grouping.spread,
        log_x=log_x,
        log_y=log_y,
    )


def differences(
    frames: Mapping[str, pd.DataFrame], baseline: str, x: Axis, columns: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """The frames with the `columns` of the baseline at the same `x` subtracted, which are
    interpolated between its points and NaN beyond them."""
    base = frames[baseline]
    found = {}
    for run_id, frame in frames.items():
        at, places = along(frame, x).astype(np.float64), along(base, x).astype(np.float64)
        changed = {
            name: frame[name].to_numpy(dtype=np.float64)
            - (
                np.interp(at, places, base[name], left=np.nan, right=np.nan)
                if len(places)
                else np.nan
            )
            for name in columns
        }
        found[run_id] = frame.assign(**changed)
    return found


def note_coinciding(
    compared: Compared, frames: Mapping[str, pd.DataFrame], column: str, x: Axis
) -> None:
    """Say which curves lie on which, as one of them would seem to be missing."""
    labels = compared.labels()
    numbered = sorted(compared.runs, key=lambda run: run.number)
    stacks = coinciding({run.id: frames[run.id] for run in numbered}, column, x)
    if not stacks:
        return
    if sum(map(len, stacks.values())) > NAMED:
        count = formatting.plural(sum(map(len, stacks.values())), "curve")
        st.caption(
            f":material/info: {count} coincide with others and are drawn over them in dashes."
        )
        return
    said = [
        f"“{labels[run_id]}” coincides with “{labels[first]}” and is drawn over it in dashes."
        for first, covered in stacks.items()
        for run_id in covered
    ]
    st.caption(f":material/info: {formatting.escape(' '.join(said))}")
