"""The dialogs of one panel: what it shows, and the chart at full width."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import errors
from ganboard.app.panels import boards
from ganboard.db.curves import reduction, stored
from ganboard.db.curves.stored import AXES, TIME
from ganboard.worker.panels.board import TITLE, Board, Panel, check
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import HELP, parse, quoted, unknown
from ganboard.worker.panels.metrics import CADENCES, meaning

WIDTHS = {"third": "One third", "half": "Half", "full": "Full"}


@st.dialog("Panel", icon=":material/add_chart:", width="medium")
def edit(engine: Engine, run_ids: Sequence[str], board: Board, place: int | None) -> None:
    """Change the panel in this place of the board, or add one where it is None."""
    found = stored.available(engine, run_ids)
    before = None if place is None else board.panels[place]
    names = [quoted(name) for name in found]
    with st.form("panel", border=False):
        y = _expression(
            "Metric or expression",
            [*names, *AXES],
            before.y if before else None,
            key="panel_y",
            why="Choose a metric, or type an expression such as d_loss / g_loss.",
        )
        x = _expression(
            "X axis",
            [*AXES, TIME, *names],
            before.x if before else "step",
            key="panel_x",
            why="An axis, or any other metric or expression; time is the wall clock in UTC.",
        )
        title = st.text_input(
            "Title",
            before.title if before else "",
            max_chars=TITLE,
            key="panel_title",
            placeholder="The expression",
        )
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            smoothing = st.select_slider(
                "Smoothing",
                sorted({*reduction.WEIGHTS, before.smoothing if before else 0.0}),
                before.smoothing if before else 0.0,
                format_func="{:g}".format,
                key="panel_smoothing",
                width=200,
                help="Weight of past values in the exponential moving average.",
            )
            log_y = st.toggle("Log y", before.log_y if before else False, key="panel_log_y")
            log_x = st.toggle("Log x", before.log_x if before else False, key="panel_log_x")
        width = st.segmented_control(
            "Width",
            tuple(WIDTHS),
            default=before.width if before else "half",
            required=True,
            key="panel_width",
            format_func=WIDTHS.__getitem__,
        )
        wanted = st.form_submit_button("Save", type="primary", icon=":material/check:")
    if wanted:
        with errors.sentences():
            panel = check(
                {
                    "y": y or "",
                    "x": x or "",
                    "title": title,
                    "smoothing": smoothing,
                    "log_x": log_x,
                    "log_y": log_y,
                    "width": width,
                    "pinned": bool(before and before.pinned),
                }
            )
            refuse_unknown(panel, [*AXES, *found])
            boards.put(board.with_panel(panel, place))
            st.rerun()
    with st.expander("Metrics and functions"):
        st.dataframe(
            {
                "Metric": [quoted(name) for name in (*AXES, *found)],
                "Meaning": [meaning(name, found.get(name)) for name in (*AXES, *found)],
                "Stored": [
                    CADENCES[found[name]] if name in found else "always" for name in (*AXES, *found)
                ],
            },
            hide_index=True,
            key="panel_metrics",
        )
        st.markdown(HELP)


def _expression(
    label: str, offered: list[str], before: str | None, *, key: str, why: str
) -> str | None:
    """A metric that is chosen, or an expression that is typed."""
    options = list(dict.fromkeys([*([before] if before else []), *offered]))
    return st.selectbox(
        label,
        options,
        index=0 if before else None,
        key=key,
        help=why,
        accept_new_options=True,
        placeholder="Choose or type",
    )


def refuse_unknown(panel: Panel, known: Sequence[str]) -> None:
    """Raise BadPanel where a metric of the panel is not among the `known`."""
    texts = [panel.y] if panel.x == TIME else [panel.y, panel.x]
    for text in texts:
        for name in parse(text).names:
            if name not in known:
                raise BadPanel(unknown(name, known))


def full_screen(panel: Panel, draw: Callable[[], None]) -> None:
    """The chart of a panel in a dialog as wide as the page."""

    @st.dialog(panel.called, width="large")
    def shown() -> None:
        with errors.sentences():
            draw()

    shown()
