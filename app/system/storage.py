"""How much is stored, which runs store most, and which data sets are here."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ganboard.app.runs import trash as trash_actions
from ganboard.db import stats
from ganboard.db.runs import trash
from ganboard.worker import doctor, formatting
from ganboard.worker.context import Context

SIZES_SECONDS = 60  # how long measured sizes are shown before they are measured again
LARGEST = 10


def show_sizes(context: Context) -> None:
    st.header("Storage", anchor=False)
    stored = totals(context, str(context.engine.url))
    places = (
        ("Losses and rates of every step", "series", "database"),
        ("Image grids", "grids", "database"),
        ("Checkpoints", "checkpoints", "files"),
    )
    sizes = [stored[name] for _, name, _ in places]
    rows = [(what, formatting.size(stored[name], sizes), where) for what, name, where in places]
    held = trash.held(context.engine)
    rows.append(
        (
            f"Of these in the trash ({formatting.plural(held.runs, 'run')})",
            formatting.size(held.grids + held.checkpoints, sizes),
            "both",
        )
    )
    st.dataframe(
        pd.DataFrame(rows, columns=["What", "Size", "Where"]),
        hide_index=True,
        key="sizes",
        column_config={
            "Size": st.column_config.TextColumn(
                help=f"Approximate, without indexes and overhead; updated every {SIZES_SECONDS} s"
            )
        },
    )
    with st.container(horizontal=True, gap="small"):
        if st.button(
            "Show largest runs",
            icon=":material/search:",
            help="Shows the runs with the largest checkpoints. Nothing is deleted.",
        ):
            _largest_runs(context)
        trash_actions.empty_button(context)


@st.cache_data(max_entries=4, ttl=SIZES_SECONDS, show_spinner=False)
def totals(_context: Context, database: str) -> dict[str, int]:
    """Rows and bytes by kind; measured anew after SIZES_SECONDS. `database` keys the cache."""
    return stats.statistics(_context.engine) | stats.stored_bytes(_context.engine)


@st.dialog("Show largest runs", icon=":material/search:", width="medium")
def _largest_runs(context: Context) -> None:
    """The runs with the largest checkpoints; deleting is the business of the page Runs."""
    largest = stats.largest_runs(context.engine, limit=LARGEST)
    if not largest:
        st.write("No run has stored a checkpoint.")
        return
    sizes = [size for _, size in largest]
    rows = [
        (
            run.name,
            formatting.status_word(run.shown_status),
            formatting.size(size, sizes),
            f"run?run={run.id}",
        )
        for run, size in largest
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["Run", "State", "Checkpoints", "Page"]),
        hide_index=True,
        height="content",
        column_config={"Page": st.column_config.LinkColumn(display_text="Open", width="small")},
    )
    st.caption(
        "The runs with the largest checkpoints. Delete runs that are no longer needed on the Runs"
        " page or on a run's page, then empty the trash."
    )


def show_data_sets(context: Context) -> None:
    st.header("Data sets", anchor=False)
    for check in doctor.data_sets(context.settings):
        name = check.name.removeprefix("data: ")
        st.markdown(
            f"{formatting.escape(name)}"
            f" {':green-badge[Here]' if check.status == 'ok' else ':gray-badge[Absent]'}"
        )
        if check.remedy:
            st.caption(formatting.sentence(check.remedy))
