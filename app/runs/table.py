"""The table of runs: one row per run, how a selection of rows stays a selection of runs, and what
clicks on names and cells mean."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import streamlit as st

from ganboard.app.runs.columns import ALL, BEST_FIDS, DOTS, FIRST, NUMBER, USUAL, Column
from ganboard.app.widgets import table_selection
from ganboard.db.runs.listing import Listed

TO_FID = "To FID"  # there when a distance to reach is given
FIRST_COLUMN = "Colour"
FOCUS = "Run"  # the column in which a previewed run has the focus
ROWS_PER_SECOND = 1000  # that are sent at most: 0.2 MB
ROW, NAME = 40, 240  # pixels: the height of a row, the width of names


def frame(
    runs: Sequence[Listed],
    columns: Sequence[str] = USUAL,
    reached: Mapping[str, float] | None = None,
    numbers: Mapping[str, Sequence[float | None]] | None = None,
) -> pa.Table:
    """A row per run in the given order, its columns in theirs; what does not exist yet is null.

    `reached` are the seconds of training until an FID was reached, by run id: a column of its own.
    `numbers` are the values of the columns that ALL does not have, by their names.
    """
    arrays = {}
    for name in dict.fromkeys([*FIRST, "Run", *columns]):
        if name in ALL:
            arrays[name] = _array(ALL[name], runs)
        elif numbers and name in numbers:
            arrays[name] = pa.array(numbers[name], NUMBER)
    if reached is not None:
        arrays[TO_FID] = pa.array([reached.get(run.id) for run in runs], NUMBER)
    return pa.table(arrays)


def _array(column: Column, runs: Sequence[Listed]) -> pa.Array:
    values = [column.value(run) for run in runs]
    if pa.types.is_dictionary(column.type):
        # always the whole dictionary: tables are joined, and ten thousand rows share a few pictures
        return pa.DictionaryArray.from_arrays(pa.array(values, column.type.index_type), DOTS)
    return pa.array(values, column.type)


def without_empty(table: pa.Table) -> pa.Table:
    """Leave out the distances by features that no run was evaluated with, but the first column of
    them."""
    empty = [
        name
        for name in tuple(BEST_FIDS)[1:]
        if name in table.column_names and table[name].null_count == len(table)
    ]
    return table.drop_columns(empty)


def interval(rows: int) -> float:
    """The least number of seconds between two ticks of the table, each of which sends all of it:
    with ten thousand rows 2 MB to every tab."""
    return rows / ROWS_PER_SECOND


def key(run_ids: list[str]) -> str:
    """The widget's key: another one whenever the rows change.

    The browser reports selected rows by position. A click on a table that has changed meanwhile
    names another widget and is dropped, instead of picking the run that has moved into that place.
    """
    return table_selection.PREFIX + hashlib.sha256(",".join(run_ids).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Clicks:
    """What was clicked in the table: run ids."""

    selected: list[str]  # ticked
    cell: tuple[str, str] | None  # the run and the column of the cell that has the focus
    opened: str | None  # whose name was clicked, just now


def show(
    table: pa.Table, run_ids: list[str], selected: list[str], preview: str | None = None
) -> Clicks:
    """Draw the table, whose rows are these runs, with some selected and the focus on the row of
    `preview`.

    A run that is not shown cannot be selected, as the effect of a button would be invisible.
    """
    table = without_empty(table)
    widget = key(run_ids)
    if not table_selection.holds(widget):
        chosen = set(selected)
        rows = [row for row, run_id in enumerate(run_ids) if run_id in chosen]
        focus = [(run_ids.index(preview), FOCUS)] if preview in run_ids else []
        table_selection.place(widget, rows, focus)
    opened = f"{widget}_opened"
    state = st.dataframe(
        table,
        key=widget,
        on_select="rerun",
        selection_mode=["multi-row", "single-cell"],
        hide_index=True,
        height=min(38 + ROW * max(len(run_ids), 1), 640),
        row_height=ROW,
        column_config={name: _drawn(name, opened) for name in table.column_names},
        lazy=False,
        placeholder="–",
    )
    selection = state["selection"]
    rows = sorted(row for row in selection["rows"] if 0 <= row < len(run_ids))
    cells = [(run_ids[row], name) for row, name in selection["cells"] if 0 <= row < len(run_ids)]
    click = st.session_state.get(opened)
    return Clicks(
        [run_ids[row] for row in rows],
        cells[0] if cells else None,
        run_ids[click["row"]] if click and 0 <= click["row"] < len(run_ids) else None,
    )


def _drawn(name: str, opened: str) -> Any:
    """How the browser draws a column. A link of Streamlit's would open another tab, and be sorted
    and exported by its address; a button opens the page in place."""
    if name == "Run":
        return st.column_config.ButtonColumn(
            width=NAME,
            pinned=True,
            alignment="left",
            type="tertiary",
            key=opened,
            help="Click a name to open the run, any other cell to preview it",
        )
    if name in ALL:
        return ALL[name].column_type
    if name == TO_FID:
        return _to_fid()
    return st.column_config.NumberColumn(format="%.4g", help=f"`{name}`, of finite values")


def _to_fid() -> Any:
    return st.column_config.NumberColumn(
        format="%.1f s", help="Seconds of training until an evaluation first reached the target FID"
    )
