"""What a study has found: its claims with their verdicts, figures and numbers, and what others have
published."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db.models import Run, Study
from ganboard.gan.studies import predictions, reference_results
from ganboard.worker import formatting
from ganboard.worker.context import Context
from ganboard.worker.studies import results
from ganboard.worker.studies.results.study_data import NOT_HERE, REPRODUCED, StudyData, StudyResult

# rows of an expanded table and of a shown one; the CSV file has all
FEW, ROWS = 8, 200
ICONS = {REPRODUCED: ":material/check_circle:", NOT_HERE: ":material/cancel:"}
COLOURS = {REPRODUCED: "green", NOT_HERE: "orange"}


def show(context: Context, study: Study, runs: list[Run], surface: str) -> None:
    """The results of a study's `runs`; `surface` changes with its loss surface."""
    version = *_version(study, runs), surface
    current = _results(context, str(context.engine.url), version, study, runs)
    _verdicts(current)
    for one in current:
        _result(one)


def show_published() -> None:
    """The numbers of others, read-only and marked as theirs."""
    with st.expander("Published results", icon=":material/menu_book:"):
        st.caption(
            "Published claims on the authors' hardware, as printed; not measured here and not"
            " counted as runs."
        )
        for one in reference_results.DOCUMENTS.values():
            st.markdown(
                f"**{formatting.escape(one.short)}**:"
                f" {formatting.escape(f'{one.title}. {one.where}. {one.system}.')}"
            )
        table = pd.DataFrame(reference_results.table(), columns=list(reference_results.COLUMNS))
        table["Batch"] = table["Batch"].map("{:,.0f}".format, na_action="ignore").fillna("")
        st.dataframe(table, hide_index=True, key="published", height=320)


def _version(study: Study, runs: list[Run]) -> tuple[str, ...]:
    """Changes when a run is added, ends or resumes."""
    return study.id, *(
        f"{run.id} {run.status} {run.epoch * (run.status == 'finished')}" for run in runs
    )


@st.cache_resource(max_entries=4, show_spinner="Drawing the figures …")
def _results(
    _context: Context, database: str, version: object, _study: Study, _runs: list[Run]
) -> list[StudyResult]:
    return results.make(
        StudyData.of(_context.engine, _runs, _study.definition),
        list(_study.definition.get("figures", [])),
    )


def _verdicts(current: list[StudyResult]) -> None:
    st.header("Claims checked", anchor=False)
    for one in current:
        lacking = f" &ensp;:gray[{formatting.escape(one.missing)}]" if one.missing else ""
        predicted = f" &ensp;{_predicted_badge(one.predicted)}" if one.predicted else ""
        st.markdown(
            f"{_badge(one)}{lacking}{predicted} &ensp;**{formatting.escape(one.title)}**"
            f" &ensp;{formatting.escape(one.claim)}"
        )
    if any(one.predicted for one in current):
        st.caption(formatting.escape(predictions.source()))


def _badge(one: StudyResult) -> str:
    icon, colour = ICONS.get(one.verdict, ":material/help:"), COLOURS.get(one.verdict, "gray")
    return f":{colour}-badge[{icon} {one.verdict}]"


def _predicted_badge(made: predictions.Prediction) -> str:
    """A verdict of its own kind, beside those of measurements."""
    return f":violet-badge[:material/memory: predicted for {made.machine}: {made.verdict}]"


def _prediction(one: StudyResult) -> None:
    """What the claim would be on its own machine; no measurement."""
    if one.predicted is None:
        return
    st.markdown(
        f"{_predicted_badge(one.predicted)} &ensp;{formatting.escape(one.predicted.finding)}"
    )
    if one.predicted.table:
        with st.expander("Predicted numbers"):
            table = pd.DataFrame(one.predicted.table)
            st.dataframe(table, hide_index=True, key=f"study-predicted-{one.key}")


def _result(one: StudyResult) -> None:
    st.header(formatting.escape(one.title), anchor=False)
    st.markdown(f"{_badge(one)} &ensp;{formatting.escape(one.finding)}")
    if one.figure is not None:
        live_plotly(one.figure, key=f"study-{one.key}")
    if not one.table.empty:
        with st.expander("Numbers", expanded=one.figure is None or len(one.table) <= FEW):
            st.dataframe(
                one.table.head(ROWS), hide_index=True, placeholder="–", key=f"study-table-{one.key}"
            )
    _prediction(one)
    st.caption(formatting.escape(f"Published: {one.claim}"))
    st.caption(formatting.escape(one.how))
    if not one.table.empty:
        st.download_button(
            "CSV",
            one.table.to_csv(index=False).encode(),
            file_name=f"{one.key}.csv",
            mime="text/csv",
            key=f"csv-{one.key}",
            icon=":material/download:",
            on_click="ignore",
        )
