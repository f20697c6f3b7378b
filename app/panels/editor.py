"""The dialogs of one panel: what it shows, and the chart at full width."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import streamlit as st
from sqlalchemy import Engine

from ganboard.app import errors
from ganboard.app.panels import boards
from ganboard.db.curves import reduction, stored
from ganboard.db.curves.stored import AXES, TIME, Cadence
from ganboard.worker.panels.board import CURVES, TITLE, Board, Panel, check
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import HELP, LENGTH, parse, quoted, unknown
from ganboard.worker.panels.metrics import CADENCES, meaning

WIDTHS = {"third": "One third", "half": "Half", "full": "Full"}


# a dismissed dialog forgets what was typed: the next one may be of another panel
@st.dialog("Panel", icon=":material/add_chart:", width="medium", on_dismiss="rerun")
def edit(engine: Engine, run_ids: Sequence[str], board: Board, place: int | None) -> None:
    """Change the panel in this place of the board, or add one where it is None."""
    found = stored.available(engine, run_ids)
    before = Panel(y="g_loss") if place is None else board.panels[place]
    key = "new" if place is None else str(place)
    names = [quoted(name) for name in found]
    y = _expressions(() if place is None else before.curves, [*names, *AXES], key)
    axes = list(dict.fromkeys([before.x, *AXES, TIME, *names]))
    x = st.selectbox(
        "X axis",
        axes,
        key=f"panel_x_{key}",
        accept_new_options=True,
        help="An axis, or any other metric or expression, which can be typed; time is the wall"
        " clock in UTC.",
    )
    title = st.text_input(
        "Title",
        before.title,
        max_chars=TITLE,
        key=f"panel_title_{key}",
        placeholder="The expressions",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        width = st.segmented_control(
            "Width",
            tuple(WIDTHS),
            default=before.width,
            required=True,
            key=f"panel_width_{key}",
            format_func=WIDTHS.__getitem__,
        )
        smoothing = st.select_slider(
            "Smoothing",
            sorted({*reduction.WEIGHTS, before.smoothing}),
            before.smoothing,
            format_func="{:g}".format,
            key=f"panel_smoothing_{key}",
            width=160,
            help="Weight of past values in the exponential moving average.",
        )
        log_y = st.toggle("Log y", before.log_y, key=f"panel_log_y_{key}")
        log_x = st.toggle("Log x", before.log_x, key=f"panel_log_x_{key}")
    if st.button("Save", type="primary", icon=":material/check:", key="panel_save"):
        with errors.sentences():
            values = {"y": y, "x": x or "", "title": title, "log_x": log_x, "log_y": log_y}
            drawn = {"smoothing": smoothing, "width": width, "pinned": before.pinned}
            panel = check(values | drawn)
            refuse_unknown(panel, [*AXES, *found])
            boards.put(board.with_panel(panel, place))
            st.rerun()
    with st.expander("Metrics and functions"):
        _explain(found)


def _expressions(before: Sequence[str], names: Sequence[str], key: str) -> list[str]:
    """What is typed, a field for each curve, without the empty ones but the first; a metric that
    is chosen is added to the last field."""
    fields = [f"panel_y_{key}", *(f"panel_y_{key}_{place}" for place in range(1, CURVES))]
    count, chosen = f"panel_curves_{key}", f"panel_insert_{key}"
    if fields[0] not in st.session_state:  # the dialog has just been opened
        st.session_state[count] = max(len(before), 1)
        for field, text in zip_longest(fields, before, fillvalue=""):
            st.session_state[field] = text
    shown = fields[: st.session_state[count]]
    for field in shown:
        # set again: a browser that has not drawn the fields yet would begin with empty ones
        st.session_state[field] = st.session_state[field]

    def insert() -> None:
        name = st.session_state[chosen] or ""
        st.session_state[shown[-1]] = f"{st.session_state[shown[-1]].rstrip()} {name}".strip()
        st.session_state[chosen] = None

    for place, field in enumerate(shown[:-1]):
        _field(place, field)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _field(len(shown) - 1, shown[-1])
        st.selectbox(
            "Insert a metric",
            names,
            index=None,
            key=chosen,
            on_change=insert,
            placeholder="Choose",
            width=220,
        )
    if len(shown) < CURVES:
        st.button(
            "Add a curve",
            icon=":material/add:",
            type="tertiary",
            key=f"panel_more_{key}",
            on_click=lambda: st.session_state.update({count: len(shown) + 1}),
            help="Another metric or expression in the same chart; an empty field draws nothing",
        )
    typed = [st.session_state[field].strip() for field in shown]
    return [text for text in typed if text] or [""]


def _field(place: int, key: str) -> None:
    st.text_input(
        f"Curve {place + 1}" if place else "Metric or expression",
        key=key,
        max_chars=LENGTH,
        placeholder="For example: d_loss / g_loss",
        help="Any stored metric, or an expression such as d_loss / g_loss.",
    )


def _explain(found: Mapping[str, Cadence]) -> None:
    names = [*AXES, *found]
    st.dataframe(
        {
            "Metric": [quoted(name) for name in names],
            "Meaning": [meaning(name, found.get(name)) for name in names],
            "Stored": [CADENCES[found[name]] if name in found else "always" for name in names],
        },
        hide_index=True,
        key="panel_metrics",
    )
    st.markdown(HELP)


def refuse_unknown(panel: Panel, known: Sequence[str]) -> None:
    """Raise BadPanel where a metric of the panel is not among the `known`."""
    texts = panel.curves if panel.x == TIME else (*panel.curves, panel.x)
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
