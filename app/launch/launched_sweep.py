"""A sweep after its launch: how far it is, its place in the queue, and the ways on from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from ganboard.app import navigation
from ganboard.db.models import ENDED, WAITING, Run
from ganboard.db.placement import backlog
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.context import Context

EVERY = 2.0  # seconds between reads


def show(context: Context, launched: dict[str, Any]) -> None:
    """State of a launched sweep, with links; `launched` has its id as "sweep", what can be compared
    as "compare", and with "study" the study that it is."""
    made = launched["sweep"]
    st.markdown(f":green-badge[:material/check: Launched] as sweep `{made}`")
    _progress(context, made)
    with st.container(horizontal=True, vertical_alignment="center"):
        if "study" in launched:
            st.page_link(
                navigation.STUDIES_PAGE,
                label="Figures of the study",
                icon=":material/science:",
                query_params={"study": launched["study"]},
            )
        st.page_link(
            navigation.RUNS_PAGE,
            label="Show in the list of runs",
            icon=":material/list:",
            query_params={"q": f"sweep:{made}"},
        )
        compared = launched.get("compare", [])[: navigation.MAX_COMPARED]
        if len(compared) > 1:
            label = (
                f"Compare the first {len(compared)}"
                if len(launched["compare"]) > len(compared)
                else "Compare them"
            )
            st.page_link(
                navigation.COMPARE_PAGE,
                label=label,
                icon=":material/compare_arrows:",
                query_params={"runs": ",".join(compared)},
            )
        st.button(
            "Set up another sweep",
            icon=":material/grid_view:",
            type="tertiary",
            on_click=launched.clear,
        )


@st.fragment(run_every=EVERY)
def _progress(context: Context, made: str) -> None:
    runs = queries.sweep_runs(context.engine, made)
    ended = sum(run.status in ENDED for run in runs)
    st.progress(
        ended / max(1, len(runs)), text=f"{ended} of {formatting.plural(len(runs), 'run')} ended"
    )
    st.caption(formatting.escape(_stand(context, runs)))


def _stand(context: Context, runs: Sequence[Run]) -> str:
    states = {
        word: sum(run.shown_status == status for run in runs)
        for status, word in ((s, formatting.status_word(s).lower()) for s in formatting.STATUS)
    }
    text = ", ".join(f"{count} {word}" for word, count in states.items() if count)
    if not runs:
        return "Its runs were deleted."
    waiting = next((run for run in runs if run.status in WAITING), None)
    if waiting is None:
        return f"{text}."
    before = backlog.queue_position(context.engine, waiting)
    place = f"{formatting.plural(before, 'run')} ahead" if before else "next"
    return f"{text}; {place} in the queue."
