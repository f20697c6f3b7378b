"""The row of filters above the table of runs: search, states, which list, columns."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ganboard.app.runs import column_order
from ganboard.app.runs.columns import COLUMNS, SETTINGS, USUAL
from ganboard.app.runs.listing import ACTIVE, PLACES, Choice
from ganboard.db.errors import BadSearch
from ganboard.db.models import SHOWN
from ganboard.db.runs import search
from ganboard.db.runs.listing import DISTANCES, Listed
from ganboard.gan.settings.features import LABELS
from ganboard.worker import formatting
from ganboard.worker.panels import columns as own_columns
from ganboard.worker.panels.errors import BadPanel

MOST = 60  # columns

SEARCH_HINT = (
    "Search: a word, `tag:x` · `status:failed` · `batch_size>=128` · `fid<20` · `/regex/` · `-not`"
)
SEARCH_HELP = """All terms must match; a minus before a term negates it.

| Search | finds runs |
|---|---|
| `paper` | with this text in the name, note or a tag, or at the start of the id |
| `"two words"` | with this exact phrase |
| `tag:baseline` | with this tag |
| `status:failed`, `status:pruned` | in this state |
| `preset:paper`, `sweep:ID` | launched from a preset, or in a sweep or search |
| `precision=float32`, `xla=true` | with a setting |
| `batch_size>=128`, `d_steps!=1` | with a setting; also `>`, `<`, `<=` |
| `fid<20`, `epoch>5`, `g_loss=nan` | metrics: epoch, step, seconds, g_loss, d_loss, \
images_per_second, fid (best, by classifier features), fid_encoder, fid_inception, memorization \
(highest) |
| `/^paper.*32$/` | whose name matches a regular expression |
| `-tag:old` | without this tag |
"""


def keep_old_addresses() -> None:
    """`?archived=true` was the address of the archived runs; call it before `show`."""
    if "archived" in st.query_params:
        if st.query_params["archived"] == "true" and "list" not in st.query_params:
            # for the control, which has read the address already, and for the next reading of it
            st.session_state["list"] = "archived"
            st.query_params["list"] = PLACES["archived"]
        del st.query_params["archived"]


def show(runs: list[Listed], names: Sequence[str]) -> tuple[Choice, bool]:
    """The row of filters, and whether the search in them is not the one in force.

    A search that cannot be understood leaves the last good one in force and says what to mend.
    Features that the `runs` have distances by are offered first; columns can be of the metrics
    `names`.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        typed = st.text_input(
            "Search",
            key="q",
            bind="query-params",
            type="search",
            live=True,
            placeholder="Search",
            label_visibility="collapsed",
            width=260,
        )
        states = st.pills(
            "Status",
            SHOWN,
            key="status",
            bind="query-params",
            selection_mode="multi",
            format_func=formatting.status_word,
            label_visibility="collapsed",
            width="content",
        )
        place = st.segmented_control(
            "List",
            tuple(PLACES),
            default=ACTIVE,
            required=True,
            key="list",
            bind="query-params",
            format_func=PLACES.__getitem__,
            label_visibility="collapsed",
        )
        with st.popover("Columns", icon=":material/view_column:"):
            columns = st.multiselect(
                "Columns",
                list(dict.fromkeys([*COLUMNS, *own_columns.offered(names)])),
                USUAL,
                key=column_order.KEY,
                bind="query-params",
                accept_new_options=True,
                max_selections=MOST,
                help="In this order. Any setting or stored metric can be a column, and what you"
                " type: an expression such as `min(fid) * seconds`",
            )
            column_order.show(columns)
            with st.expander("Expressions", type="compact"):
                st.markdown(own_columns.HELP)
            fid = st.number_input(
                "FID to reach",
                min_value=0.0,
                value=None,
                format="%g",
                placeholder="such as 20",
                key="fid",
                bind="query-params",
                help=(
                    "Adds a column with the training seconds until an evaluation first reached"
                    " this distance or less"
                ),
            )
            features = st.selectbox(
                "By features",
                _by_presence(runs),
                key="fid_features",
                bind="query-params",
                format_func=LABELS.__getitem__,
                filter_mode=None,
                help="FIDs by different features cannot be compared",
            )
    wanted = (typed or "").strip()
    good = _understood(wanted)
    expressions = _expressions(columns, names)
    kept = tuple(name for name in columns if name in COLUMNS or name in expressions)
    chosen = Choice(good, tuple(states), place, kept, fid, expressions, features)
    return chosen, good != wanted


def _expressions(chosen: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The columns among the `chosen` that are expressions; what is wrong with others is said."""
    found: list[str] = []
    for text in dict.fromkeys(chosen):
        if text in COLUMNS:
            continue
        try:
            own_columns.check(text, names)
            if len(found) >= own_columns.COLUMNS:
                raise BadPanel(f"At most {own_columns.COLUMNS} columns can be expressions.")
        except BadPanel as mistake:
            said = formatting.sentence(
                f"The column {formatting.shorten(text)} is left out: {mistake}"
            )
            st.markdown(f":small[:red[:material/error: {said}]]")
        else:
            found.append(text)
    return tuple(found)


def _by_presence(runs: list[Listed]) -> tuple[str, ...]:
    """The kinds of features, first those that any run has an FID by."""
    found = {name for name, field in DISTANCES.items() if any(getattr(run, field) for run in runs)}
    return tuple(sorted(LABELS, key=lambda name: name not in found))


def _understood(typed: str) -> str:
    """The search in force, and below the box the hint or what is wrong."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        try:
            search.parse(typed, SETTINGS)
        except BadSearch as mistake:
            good = st.session_state.get("runs_search", "")
            rows = f"the previous valid search, “{good}”" if good else "no search"
            said = formatting.sentence(f"{mistake} The rows below are those of {rows}.")
            st.markdown(f":small[:red[:material/error: {said}]]", width="content")
        else:
            st.session_state["runs_search"] = typed
            st.caption(SEARCH_HINT, width="content")
        with st.popover("All terms", type="tertiary", help="Search syntax"):
            st.markdown(SEARCH_HELP)
    return str(st.session_state.get("runs_search", ""))
